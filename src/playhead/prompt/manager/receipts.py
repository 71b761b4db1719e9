"""Fold receipts: when what is shown of the past changed, and how (specs: context-manager 25, 28.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from playhead.entry.entry import TapeEntry, parse_date
from playhead.errors import InvalidInput
from playhead.fold.ledger.entries import CUT
from playhead.fold.ledger.memory import FoldMemory

MOST = 100
"""How many receipts one call returns at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReceipt:
    """One change of what is shown as summaries: a live compile told more of the past shortly, or, with a larger budget or a new pin, less.

    `id` is its entry's uid, `at` when it was, `room` the tokens it was chosen for and `resolver` by whom. `shown` are the ids of the summaries
    that came, `gone` of those that are no longer shown by themselves; `standing` is how many stayed.
    """

    id: str
    at: datetime
    room: int
    resolver: str
    shown: tuple[str, ...]
    gone: tuple[str, ...]
    standing: int


async def receipts(memory: FoldMemory, *, limit: int = 10, after: str | None = None) -> tuple[FoldReceipt, ...]:
    """Return the newest changes, the newest first; with `after`, the id of one, those behind it, the oldest first.

    Raises InvalidInput for a limit that is no number from 1 to 100, and for an id that is none.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST:
        raise InvalidInput(f"A limit of receipts is a whole number from 1 to {MOST}, not {limit!r:.80}.")
    cuts = memory.sidecar.query().kinds(CUT)
    if after is None:
        found: Sequence[TapeEntry] = (await cuts.newest_first().limit(limit + 1).all())[::-1]
        told = [await _receipt(memory, entry, before) for before, entry in zip([None, *found], found, strict=False)]
        return tuple(told[-limit:][::-1])
    known = (await memory.sidecar.store.find(memory.sidecar.name, uids=[after])).get(after)
    if known is None or known.kind != CUT:
        raise InvalidInput(f"No receipt has the id {after!r:.80}; list_fold_receipts() gives the newest.")
    found = [known, *await cuts.after(known.id).limit(limit).all()]
    return tuple([await _receipt(memory, entry, before) for before, entry in pairwise(found)])


async def _receipt(memory: FoldMemory, entry: TapeEntry, before: TapeEntry | None) -> FoldReceipt:
    now, then = _nodes(entry), _nodes(before)
    shown, gone = [uid for uid in now if uid not in then], [uid for uid in then if uid not in now]
    return FoldReceipt(
        id=entry.uid,
        at=parse_date(entry.date),
        room=entry.payload.get("room", 0),
        resolver=entry.payload.get("resolver", ""),
        shown=await _names(memory, shown),
        gone=await _names(memory, gone),
        standing=len(now) - len(shown),
    )


def _nodes(entry: TapeEntry | None) -> tuple[str, ...]:
    return () if entry is None else tuple(uid for uid in entry.payload.get("nodes", ()) if isinstance(uid, str))


async def _names(memory: FoldMemory, uids: Sequence[str]) -> tuple[str, ...]:
    found = [await memory.node(uid) for uid in uids]
    return tuple(uid if node is None else node.id for uid, node in zip(uids, found, strict=True))
