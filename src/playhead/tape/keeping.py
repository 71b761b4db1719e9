"""Keeping a tape small: its older entries, and those beside it, are archived within its store, where every read reaches them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.archiving.age import ago
from playhead.store.archiving.retention import ArchiveReport, archiving
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.record import is_bootstrap

_MARKS = 4096
_BEGINNING = 2
"""How many entries `session/start` is."""

_FAR = datetime(9999, 12, 31, tzinfo=UTC)


async def archive(store: WholeStore, tape: str, *, below: str | int | TapeEntry | None, older_than: timedelta | None) -> ArchiveReport:
    """Archive the entries of a tape before an anchor or entry, or those older than a time, and those of its sidecars that were written by then.

    Raises InvalidInput unless exactly one of both is given, AnchorNotFound, StoreError where the store does not archive.
    """
    keeper = archiving(store)
    if (below is None) == (older_than is None):
        raise InvalidInput("Say up to where to archive, with below=ANCHOR or ENTRY, or with older_than=timedelta(days=30).")
    since = None if older_than is None else ago(older_than, what="An age")
    head = await store.head(tape)
    upto = await _before(store, tape, since) if since is not None else await _below(store, tape, below, end=head.id)
    report = await keeper.archive(tape, upto=upto)
    if kin_of(tape).sidecar is not None:
        return report
    beside = []
    for name in await store.sidecars(tape):
        sidecar = sidecar_name(tape, name)
        last = await _before(store, sidecar, since) if since is not None else await _written_by(store, sidecar, Head(head.generation, upto))
        beside.append(await keeper.archive(sidecar, upto=last))
    return replace(report, sidecars=tuple(beside))


async def _below(store: WholeStore, tape: str, below: str | int | TapeEntry | None, *, end: int) -> int:
    """Return the id of the last entry before an anchor or entry."""
    if isinstance(below, str):
        behind = TapeQuery(tape=tape).after_anchor(below)
        first = await store.fetch_all(behind.limit(1))
        return (first[0].id - 1 if first else end) - 1
    id = below.id if isinstance(below, TapeEntry) else below
    if isinstance(id, bool) or not isinstance(id, int) or not 1 <= id <= end + 1:
        raise InvalidInput(f"A tape is archived below an anchor's name or one of its entries, 1 to {end}, or {end + 1} for all of it, not {below!r}.")
    return id - 1


async def first_younger(store: WholeStore, tape: str, since: datetime) -> TapeEntry | None:
    """Return the first entry that is not older than an instant, None where all are.

    The `session/start` that a tape begins with is as old as what stands behind it: an import writes it today before what was said long ago.
    """
    younger = replace(TapeQuery(tape=tape), since=since, until=_FAR).limit(1)
    found = await store.fetch_all(younger)
    if not found or found[0].id > _BEGINNING:
        return found[0] if found else None
    *front, third = await store.fetch_all(TapeQuery(tape=tape).limit(_BEGINNING + 1))
    if not is_bootstrap(front):
        return found[0]
    behind = await store.fetch_all(younger.after(_BEGINNING))
    if behind and behind[0].id == third.id:
        return found[0]
    return behind[0] if behind else None


async def _before(store: WholeStore, tape: str, since: datetime) -> int:
    """Return the id of the last entry before the first one that is not older than an instant."""
    younger = await first_younger(store, tape, since)
    return younger.id - 1 if younger is not None else (await store.head(tape)).id


async def _written_by(store: WholeStore, sidecar: str, head: Head) -> int:
    """Return the id of the last entry of a sidecar that was written when its main tape ended at a head or before."""
    last = 0
    while marks := await store.marks(sidecar, after=last, limit=_MARKS):
        count = sum(1 for mark in marks if mark <= head)
        last += count
        if count < len(marks):
            break
    return last
