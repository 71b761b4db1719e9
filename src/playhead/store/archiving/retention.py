"""Retention: what a store that archives older entries is asked, and what it says it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from playhead.errors import StoreError


class Moved(NamedTuple):
    """What a step of archiving did: up to which id a tape is archived now, how many entries were moved, and the bytes before and after."""

    upto: int = 0
    entries: int = 0
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """What an archiving moved of one tape: entries, up to the id `upto`, and how many bytes what they say took before and takes now.

    `upto` is 0 where nothing of it is archived. `sidecars` are the reports of those beside it.
    """

    tape: str
    upto: int = 0
    entries: int = 0
    before: int = 0
    after: int = 0
    sidecars: tuple[ArchiveReport, ...] = ()


@runtime_checkable
class ArchivingStore(Protocol):
    """Keeps older entries compressed; every store of ours does, a store of yours may. Reads reach them as before."""

    async def archive(self, tape: str, *, upto: int) -> ArchiveReport:
        """Compress those entries up to an id that the tape itself keeps in this generation, and return what was moved; what was moved before stays.

        Entries that it shares with another tape are left to that. Nothing is removed before what was compressed was read back.
        """
        ...

    async def compact(self) -> None:
        """Give the room that was freed back to the disk; others who write wait meanwhile."""
        ...


def archiving(store: object) -> ArchivingStore:
    """Return a store as one that archives. Raises StoreError where it does not."""
    if isinstance(store, ArchivingStore):
        return store
    raise StoreError(f"{type(store).__name__} does not archive; give it the methods archive and compact, or copy its tapes to a store that has them with copy_store().")


async def archived_in_steps(tape: str, step: Callable[[], Awaitable[Moved]]) -> ArchiveReport:
    """Archive a tape a step at a time, until one moves nothing, and return what all of them moved."""
    report = ArchiveReport(tape=tape)
    while True:
        moved = await step()
        report = replace(report, upto=moved.upto, entries=report.entries + moved.entries, before=report.before + moved.before, after=report.after + moved.after)
        if not moved.entries:
            return report
