"""An explanation names each part of a prompt by its entries, and calls a note only what is one."""

from __future__ import annotations

import anyio

from playhead.entry.message import user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.prompt import Prompt
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.selectors import mask


def handed_off(context: TapeContext) -> Prompt:
    """Compile a tape of a handoff and one message through a context."""

    async def go() -> Prompt:
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "The key is sk-1."})
        await tape.append(user("Go on."))
        return await compile(tape.with_context(context), Budget(max_tokens=8_000))

    return anyio.run(go)


def labels(prompt: Prompt) -> list[tuple[str, str]]:
    """Return form and entries of each row of the table."""
    return [(form, where) for form, where, *_ in (line.split() for line in str(prompt.explain()).splitlines()[1:-1])]


def test_a_note_is_called_one_also_where_a_selector_changed_it():
    masked = default_tape_context()
    masked.select = mask(r"sk-\w+")
    prompt = handed_off(masked)
    assert labels(prompt)[:3] == [("omitted", "1"), ("trimmed", "note"), ("raw", "3")]
    assert prompt.explain().why(1) == "trimmed: its state is the note left at phase"


def test_what_a_selector_made_is_no_note():
    prompt = handed_off(TapeContext(select=lambda entries, context: [user("made up")]))
    made = next(line for line in str(prompt.explain()).splitlines() if line.startswith("raw"))
    assert "note" not in made
