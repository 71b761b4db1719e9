"""A line that was begun when the chat was left: kept beside the tape, and there again the next time."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.entry.entry import EVENT, event_name
from playhead.tape.tape import Tape

SIDECAR, DRAFT = "chat", "chat.draft"


async def kept_draft(tape: Tape) -> str:
    """Return the line that was begun, "" where none was."""
    newest = await tape.sidecar(SIDECAR).query().kinds(EVENT).newest_first().limit(1).all()
    facts = newest[0].payload.get("data") if newest and event_name(newest[0]) == DRAFT else None
    text = facts.get("text") if isinstance(facts, Mapping) else None
    return text if isinstance(text, str) else ""


async def keep_draft(tape: Tape, text: str) -> None:
    """Keep the line that was begun in the place of the one before; nothing is written where it is the same."""
    if text != await kept_draft(tape):
        await tape.sidecar(SIDECAR).append_event(DRAFT, {"text": text})
