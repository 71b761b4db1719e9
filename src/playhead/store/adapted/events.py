"""The events that a family's state is reduced from, and how they tell what they tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from playhead.entry.entry import TapeEntry
from playhead.store.change import OPEN, BranchRecord, Lease
from playhead.store.protocol import Head

STARTS, FORKS, FORKED, CLOSED, COLLECTED = "family.starts", "family.forks", "family.forked", "family.closed", "family.collected"
RENAMED, LEAVES, ARRIVED, LEFT = "family.renamed", "family.leaves", "family.arrived", "family.left"
LEASED, READ, BEGUN, DONE = "family.leased", "family.read", "family.begun", "family.done"


class Start(NamedTuple):
    """The generation that a tape had when the store itself, where it counts resets, was at `counted`."""

    generation: int
    counted: int = 0


def starts(tapes: Mapping[str, Start]) -> TapeEntry:
    """Return the event that says which generations tapes have."""
    return TapeEntry.event(STARTS, {"tapes": _starts_out(tapes)})


def forks(tape: str) -> TapeEntry:
    """Return the event that a branch's tape begins to be written."""
    return TapeEntry.event(FORKS, {"tape": tape})


def forked(records: Sequence[BranchRecord], counted: Mapping[str, Start]) -> TapeEntry:
    """Return the event that a branch and its sidecars are there."""
    return TapeEntry.event(FORKED, {"records": [_record_out(record) for record in records], "starts": _starts_out(counted)})


def closed(tape: str, outcome: str, at: str) -> TapeEntry:
    """Return the event that a branch has ended."""
    return TapeEntry.event(CLOSED, {"tape": tape, "outcome": outcome, "at": at})


def collected(tapes: Sequence[str]) -> TapeEntry:
    """Return the event that branches are no more."""
    return TapeEntry.event(COLLECTED, {"tapes": list(tapes)})


def renamed(tape: str, name: str, counted: Mapping[str, Start]) -> TapeEntry:
    """Return the event that a branch is called otherwise."""
    return TapeEntry.event(RENAMED, {"tape": tape, "name": name, "starts": _starts_out(counted)})


def leaves(name: str) -> TapeEntry:
    """Return the event that the family begins to be copied to another root."""
    return TapeEntry.event(LEAVES, {"for": name})


def arrived(leaving: str, *, records: Iterable[BranchRecord], counted: Mapping[str, Start], leases: Iterable[Lease], cursors: Mapping[tuple[str, str], Head]) -> TapeEntry:
    """Return the event that a family came here from another root, by the event of that uid, with all that was known of it."""
    told = {
        "by": leaving,
        "records": [_record_out(record) for record in records],
        "starts": _starts_out(counted),
        "leases": [_lease_out(lease) for lease in leases],
        "cursors": [[tape, consumer, list(head)] for (tape, consumer), head in cursors.items()],
    }
    return TapeEntry.event(ARRIVED, told)


def left() -> TapeEntry:
    """Return the event that the family is no longer here; epochs stay as high as they were."""
    return TapeEntry.event(LEFT, {})


def leased(lease: Lease) -> TapeEntry:
    """Return the event that a lease was given, got longer, or was given back."""
    return TapeEntry.event(LEASED, _lease_out(lease))


def read_up_to(tape: str, consumer: str, head: Head) -> TapeEntry:
    """Return the event that a consumer has read a tape up to a head."""
    return TapeEntry.event(READ, {"tape": tape, "consumer": consumer, "head": list(head)})


def begun(work: str, heads: Mapping[str, Head]) -> TapeEntry:
    """Return the event that several changes begin, and where their tapes end before them."""
    return TapeEntry.event(BEGUN, {"work": work, "heads": {tape: list(head) for tape, head in heads.items()}})


def done(work: str) -> TapeEntry:
    """Return the event that changes which were begun are all made."""
    return TapeEntry.event(DONE, {"work": work})


def _record_out(record: BranchRecord) -> dict[str, Any]:
    rest = {"state": record.state, "closed_at": record.closed_at} if record.state != OPEN else {}
    return {"name": record.name, "parent": record.parent, "base": list(record.base), "owner": record.owner, "created_at": record.created_at, **rest}


def record_in(row: Mapping[str, Any]) -> BranchRecord:
    """Return the record that an event tells of."""
    return BranchRecord(**{"state": OPEN, **row, "base": Head(*row["base"])})


def _lease_out(lease: Lease) -> dict[str, Any]:
    return {"tape": lease.tape, "owner": lease.owner, "epoch": lease.epoch, "until": lease.until}


def lease_in(row: Mapping[str, Any]) -> Lease:
    """Return the lease that an event tells of."""
    return Lease(tape=row["tape"], owner=row["owner"], epoch=row["epoch"], until=row["until"])


def _starts_out(tapes: Mapping[str, Start]) -> dict[str, list[int]]:
    return {tape: list(start) for tape, start in tapes.items()}
