"""A damaged store as far as it can be read: an event stands for each entry that cannot, so that all others keep their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged
from playhead.store.change import ENDED, OPEN, SQUASHED, BranchRecord
from playhead.store.condition.damage import missing
from playhead.store.condition.loss import ALTERED, LOST, MISSING, PART_LOST, Loss
from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.transfer.original import PAGE_BYTES, made_uid
from playhead.store.transfer.readable import Readable

_LONG_AGO = "1970-01-01T00:00:00.000000+00:00"
"""The date of an event for a lost entry where no good one is near that would tell a better one."""


class Mended:
    """Shows the tapes of a store with an event called `salvage.lost` in the place of each entry that cannot be read, and remembers which those were.

    The same damage gives the same events. Raises StoreDamaged where more is damaged than entries, with the tape in its details: what
    that is a branch or sidecar can be left out.
    """

    def __init__(self, store: Readable) -> None:
        self._store = store
        self._lost: dict[tuple[str, int], str] = {}
        self._records: dict[str, str] = {}
        self._left_out: dict[str, str] = {}
        self._dates: dict[str, tuple[int, str]] = {}

    @property
    def lost(self) -> int:
        """How many entries could not be read."""
        return len(self._lost)

    def losses(self) -> list[Loss]:
        """Return what could not be read, neighbours of one reason together."""
        lost = sorted(item for item in self._lost.items() if item[0][0] not in self._left_out)
        runs = groupby(enumerate(lost), key=lambda item: (item[1][0][0], item[1][1], item[1][0][1] - item[0]))
        found = [(tape, why, [id for _, ((_, id), _) in run]) for (tape, why, _), run in runs]
        return [Loss(tape=tape, ids=(ids[0], ids[-1]), why=why) for tape, why, ids in found] + [Loss(tape=tape, why=why) for tape, why in sorted({**self._records, **self._left_out}.items())]

    def leave_out(self, error: StoreDamaged, *, root: str) -> bool:
        """Leave out the branch or sidecar of a tape that an error is about, and what was forked from it; return whether there is anything else."""
        tape = error.details.get("tape")
        if not isinstance(tape, str) or tape == root or tape in self._left_out:
            return False
        self._left_out[tape] = f"nothing of it was exported: {error.message}"
        return True

    async def fetch_all(self, query: TapeQuery) -> Sequence[TapeEntry]:
        """Return the entries a query asks for; of one that says which ids, fewer where they are long, but never none."""
        if query.ceiling is None or query.count is None:
            return await self._store.fetch_all(query)
        first = query.cursor + 1
        return self._told(query.tape, first, await self._read(query.tape, first, min(query.ceiling, query.cursor + query.count)))

    async def head(self, tape: str) -> Head:
        """Return where the tape ends."""
        if await self._is_left_out(tape):
            return EMPTY
        try:
            return await self._store.head(tape)
        except StoreDamaged as exc:
            raise StoreDamaged(exc.message, **{**exc.details, "tape": tape}) from exc

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch."""
        record = await self._store.branch(name)
        return None if record is None or await self._is_left_out(name) else self._recorded(record)

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, each in a state that there is."""
        return [self._recorded(record) for record in await self._store.branches(tape) if not await self._is_left_out(record.name)]

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names of sidecars."""
        return await self._store.sidecars(tape)

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return the marks of a sidecar's entries; one that is gone counts as that of the next entry, as marks never fall."""
        try:
            return await self._store.marks(tape, after=after, limit=limit)
        except StoreDamaged as exc:
            if limit is None:
                raise
            found = await self._marks(tape, after + 1, after + limit)
            known = [mark for mark in found if mark is not None]
            if not known:
                raise StoreDamaged(exc.message, **{**exc.details, "tape": tape}) from exc
        following = known[-1]
        for place, mark in reversed([*enumerate(found)]):
            found[place] = following = mark or following
        return [mark or following for mark in found]

    async def _is_left_out(self, tape: str) -> bool:
        """Return whether a tape, the branch that it stands beside, or what it was forked from, is left out."""
        if tape in self._left_out:
            return True
        kin = kin_of(tape)
        if not self._left_out or kin.branch is None:
            return False
        record = await self._store.branch(tape)
        of = {record.parent} if record is not None else set()
        of |= {kin.main} - {tape}
        for other in of:
            if await self._is_left_out(other):
                self._left_out[tape] = f"nothing of it was exported, as nothing was of '{other}'"
                return True
        return False

    async def _read(self, tape: str, first: int, last: int) -> list[TapeEntry | str]:
        """Return entries, and in the place of each that cannot be read why; the first of them where they are long."""
        try:
            return [*await self._good(tape, first, last)]
        except StoreDamaged as exc:
            if first == last:
                return [_why(exc)]
        middle = (first + last) // 2
        found = await self._read(tape, first, middle)
        return found if len(found) <= middle - first else found + await self._read(tape, middle + 1, last)

    async def _good(self, tape: str, first: int, last: int) -> list[TapeEntry]:
        """Return entries that can be read. Raises StoreDamaged where one of them cannot."""
        good: list[TapeEntry] = []
        size = 0
        for entry in await self._store.fetch_all(TapeQuery(tape=tape).after(first - 1).up_to(last)):
            if entry.id != first + len(good):
                raise missing(tape, first + len(good), entry.id - 1)
            size += sum(len(codec.encode(part)) for part in (entry.payload, entry.meta)) + len(entry.date)
            good.append(entry)
            if size >= PAGE_BYTES:
                return good
        if first + len(good) <= last:
            raise missing(tape, first + len(good), last)
        return good

    def _told(self, tape: str, first: int, found: Sequence[TapeEntry | str]) -> list[TapeEntry]:
        """Return entries with events in place of those that are lost, each dated like the last good one before it."""
        behind, date = self._dates.get(tape, (0, ""))
        date = date if behind == first - 1 else ""
        date = date or next((entry.date for entry in found if isinstance(entry, TapeEntry)), _LONG_AGO)
        told = []
        for id, entry in enumerate(found, first):
            if isinstance(entry, str):
                self._lost[tape, id] = entry
                uid = made_uid(id, sha256(tape.encode("utf-8", "surrogatepass")).digest())
                entry = replace(TapeEntry.event(LOST, {"why": entry.partition(" (")[0]}, context=False, uid=uid), id=id, date=date)
            date = entry.date
            told.append(entry)
        self._dates[tape] = first + len(told) - 1, date
        return told

    def _recorded(self, record: BranchRecord) -> BranchRecord:
        """Return a record; one whose state is none is closed where it says when, in the state in which nobody removes it."""
        if record.state in ((OPEN,) if record.closed_at is None else ENDED):
            return record
        state = OPEN if record.closed_at is None else SQUASHED
        self._records[record.name] = f"what became of it: its record says {record.state!r}, so it counts as {state}"
        return replace(record, state=state)

    async def _marks(self, tape: str, first: int, last: int) -> list[Head | None]:
        try:
            found = await self._store.marks(tape, after=first - 1, limit=last - first + 1)
        except StoreDamaged:
            found = []
        if len(found) == last - first + 1:
            return [*found]
        if first == last:
            return [None]
        middle = (first + last) // 2
        return await self._marks(tape, first, middle) + await self._marks(tape, middle + 1, last)


def _why(error: StoreDamaged) -> str:
    """Return why an entry is lost, in words that are the same in every store."""
    if "first" in error.details:
        return MISSING
    digest = error.details.get("digest")
    return f"{PART_LOST} ({digest})" if digest else ALTERED
