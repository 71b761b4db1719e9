"""What a run could not keep: entries that wait until the store answers again."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreUnavailable
from playhead.tape.tape import Tape


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwritten:
    """The entries that a run could not write at its end, or of which nobody knows whether they were written; `answer` is the uid of an answer of which that holds."""

    entries: tuple[TapeEntry, ...]
    answer: str = ""

    async def write(self, tape: Tape) -> tuple[TapeEntry, ...]:
        """Write to the tape of the run what is not there, behind what its branch still holds, and return it; to be done again where it fails, nothing stands twice.

        Raises what the store raises, StoreUnavailable where the branch cannot be brought back yet.
        """
        for found in await tape.recover():
            if found.error is not None:
                raise StoreUnavailable(f"What a run had written before cannot be brought back to tape '{tape.name}' yet: {found.error}")
        uids = [*(entry.uid for entry in self.entries), *filter(None, [self.answer])]
        there = await tape.store.find(tape.name, uids=uids)
        missing = [entry for entry in self.entries if entry.uid not in there and not (self.answer in there and entry.meta.get("partial") is True)]
        return await tape.append_many(missing) if missing else ()
