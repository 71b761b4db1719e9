"""Recovery: branches whose driver died are merged, kept or discarded by whoever comes next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from playhead.errors import BranchClosed, InvalidInput, PlayheadError
from playhead.store.change import BranchRecord
from playhead.store.concurrency.owner import is_gone
from playhead.store.protocol import WholeStore
from playhead.tape.merging import MergeReport, collect_now, discard, merge

Recover = Literal["merge", "keep", "discard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A branch whose driver died, and what was done about it: `report` of the merge, or the `error` that left it as it was."""

    branch: BranchRecord
    action: Recover
    report: MergeReport | None = None
    error: str | None = None


async def orphans(store: WholeStore, tape: str) -> list[BranchRecord]:
    """Return the open branches of a tape's family whose driver is surely gone, each behind those that were forked from it."""
    records = await store.branches(tape)
    return [record for record in _leaves_first(records) if record.is_open and is_gone(record.owner)]


async def recover(store: WholeStore, tape: str, *, how: Recover = "merge") -> list[Recovered]:
    """Deal with each branch of a tape's family whose driver died, the oldest first; safe to race, and to do again.

    "merge" brings back what it had written, "discard" drops it, "keep" leaves it open and only reports it. One that cannot be
    merged stays open, with the error in its report. Raises InvalidInput for another word.
    """
    if how not in get_args(Recover):
        raise InvalidInput(f"Orphaned branches are recovered by 'merge', 'keep' or 'discard', not {how!r}.")
    return [await _recovered(store, record, how) for record in await orphans(store, tape)]


async def _recovered(store: WholeStore, record: BranchRecord, how: Recover) -> Recovered:
    try:
        if how == "keep":
            return Recovered(branch=record, action=how)
        report = None
        if how == "merge":
            report = await merge(store, record.name)
        else:
            await discard(store, record.name)
        await collect_now(store, record.name)
        return Recovered(branch=record, action=how, report=report)
    except BranchClosed:  # somebody else was faster
        return Recovered(branch=record, action=how)
    except PlayheadError as exc:
        return Recovered(branch=record, action=how, error=str(exc))


def _leaves_first(records: Sequence[BranchRecord]) -> Iterator[BranchRecord]:
    """Yield branches in the order they were made, but each behind those forked from it."""
    by_parent: dict[str, list[BranchRecord]] = {}
    for record in records:
        by_parent.setdefault(record.parent, []).append(record)
    names = {record.name for record in records}
    waiting = [(record, False) for record in reversed(records) if record.parent not in names]
    while waiting:
        record, is_ready = waiting.pop()
        children = by_parent.get(record.name, [])
        if is_ready or not children:
            yield record
        else:
            waiting.append((record, True))
            waiting += [(child, False) for child in reversed(children)]
