"""Taking back: what was said last is taken out of view by entries that say so; it stands where it was."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.entry.entry import MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.payload import message_from_payload
from playhead.prompt.manager.edits import removal_entry
from playhead.tape.tape import Tape
from playhead.view.amends import Amends


async def last_said(tape: Tape) -> TapeEntry | None:
    """Return the last line of the user's that the view shows, None where it shows none."""
    boundary, amends, end = await tape.boundary(), await tape.amends(), (await tape.head()).id
    lines = tape.query().kinds(MESSAGE).newest_first()
    async for entry in lines if boundary is None else lines.after(boundary.id):
        if entry.payload.get("role") == "user" and entry.meta.get("context") is not False and not _is_gone(entry, amends, end):
            return entry
    return None


async def newest_said(tape: Tape, *, limit: int) -> list[TapeEntry]:
    """Return the newest messages, calls and results that were not taken back, the oldest first."""
    amends, end = await tape.amends(), (await tape.head()).id
    found: list[TapeEntry] = []
    async for entry in tape.query().kinds(MESSAGE, TOOL_CALL, TOOL_RESULT).newest_first():
        if not _is_gone(entry, amends, end):
            found.append(entry)
        if len(found) == limit:
            break
    return found[::-1]


async def take_back(tape: Tape, *, behind: int) -> Sequence[TapeEntry]:
    """Take what was said and done behind an entry out of view, and return what was."""
    amends, end = await tape.amends(), (await tape.head()).id
    found = [entry async for entry in tape.query().kinds(MESSAGE, TOOL_CALL, TOOL_RESULT).after(behind) if not _is_gone(entry, amends, end)]
    await tape.append_many([removal_entry(entry.uid) for entry in found])
    return found


def words_of(entry: TapeEntry) -> str:
    """Return what a message says."""
    message = message_from_payload(entry.payload)
    return "" if message is None else message.text


def _is_gone(entry: TapeEntry, amends: Amends, end: int) -> bool:
    amend = amends.of(entry, end=end)
    return amend is not None and amend.payload is None
