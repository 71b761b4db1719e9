"""Which generations of which members of a family are still shown, by whom and how far, and up to which ids they ever went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from playhead.store.change import BranchRecord
from playhead.store.family import Kin, kin_of
from playhead.store.protocol import Head

Generation = tuple[Kin, int]


@dataclass(slots=True)
class Need:
    """What is needed of one generation of a member: the entries up to `shown`, which the tape `through` shows, and ids up to `given`."""

    through: str = ""
    shown: int = 0
    given: int = 0


def needs_of(known: Mapping[Kin, tuple[Head, BranchRecord | None]]) -> dict[Generation, Need]:
    """Return what is needed of each generation of each member, given where each ends and its record.

    A generation is needed where a member is in it now, where a member that is shown goes on from it, and, if only for its ids,
    where a member was forked from it.
    """
    needs: dict[Generation, Need] = {}
    for kin, (head, record) in known.items():
        _show(needs, known, kin, head, through=kin.name)
        if record is not None:
            parent, base = kin_of(record.parent), record.base
            # A sidecar that was forked with its tape showed something then, also where nothing of it was taken along.
            least = 0 if kin.sidecar is None else 1
            need = needs.setdefault((parent, base.generation), Need())
            need.given = max(need.given, base.id, least)
    for (kin, generation), need in needs.items():
        need.through = need.through or kin.name
        need.given = max(need.given, need.shown)
        del generation
    return needs


def _show(needs: dict[Generation, Need], known: Mapping[Kin, tuple[Head, BranchRecord | None]], kin: Kin, head: Head, *, through: str) -> None:
    """Note that a tape shows a member up to a head, and so what that was forked from."""
    upto: int = head.id
    while True:
        need = needs.setdefault((kin, head.generation), Need())
        if not need.through or upto > need.shown or through == kin.name:
            need.through = through
        need.shown = max(need.shown, upto)
        record = known[kin][1] if kin in known else None
        if record is None or record.base.generation != head.generation or not record.base.id:
            return
        kin, upto = kin_of(record.parent), min(upto, record.base.id)
