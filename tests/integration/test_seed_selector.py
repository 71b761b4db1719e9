"""The filter that users of tapes know from the first text about them: as printed there, and put right."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Sequence

import anyio

from playhead.entry.entry import TapeEntry
from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import LAST_ANCHOR, TapeContext
from playhead.view.pipe import pipe
from playhead.view.selectors import drop_tool_results, latest_read_only, mask
from tests.data import shared


def printed_filter():
    """Return the function as it is printed, by running the text's own lines."""
    lines = shared("..", "seeds", "000_d16998f196ba9e64.txt").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def smart_filter"))
    end = next(i for i, line in enumerate(lines) if i > start and "return list(reversed(messages))" in line)
    names = {"Sequence": Sequence, "TapeEntry": TapeEntry, "TapeContext": TapeContext, "LAST_ANCHOR": LAST_ANCHOR}
    exec(textwrap.dedent("\n".join(lines[start : end + 1])), names)
    return names["smart_filter"]


def faults(prompt):
    spec = importlib.util.spec_from_file_location("protocols", shared("protocols.py"))
    judge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judge)
    return judge.openai_faults(prompt.to("openai")["messages"]) + judge.anthropic_faults(prompt.to("anthropic")["messages"])


async def session():
    tape = Tape(InMemoryTapeStore(), "t")
    await tape.handoff("start", state={"owner": "ada"})
    await tape.append(user("Summarise x.py; the key is sk-1."))
    for version in ("first", "second"):
        await tape.append(assistant(calls=[ToolCall(id=version, name="read_file", arguments={"path": "x.py"})]))
        await tape.append(tool_result_message(version, f"{version} version " * 200))
        await tape.append_event("read_file", {"path": "x.py", "text": version})
    await tape.append(assistant("Done."))
    return tape


def test_the_printed_filter_gives_a_valid_request_and_leaves_the_tape_alone():
    async def go():
        tape = await session()
        before = [(e.id, e.payload, e.meta) for e in await tape.query().all()]
        prompt = await compile(tape.with_context(TapeContext(anchor=LAST_ANCHOR, select=printed_filter())), Budget())
        assert faults(prompt) == []
        assert [m.role for m in prompt.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert all(m.text.startswith("result not shown: ") for m in prompt.messages if m.role == "tool")
        reasons = {r.reason for r in prompt.explain() if r.form == "not shown"}
        assert "event: the selector returned a mapping that is no message" in reasons
        assert [(e.id, e.payload, e.meta) for e in await tape.query().all()] == before

    anyio.run(go)


def test_put_right_it_keeps_the_newest_of_all_reads_and_masks():
    async def go():
        tape = await session()
        before = [(e.id, e.payload, e.meta) for e in await tape.query().all()]
        lean = TapeContext(select=pipe(latest_read_only(), drop_tool_results(over_tokens=100), mask(r"sk-\w+")))
        prompt = await compile(tape.with_context(lean), Budget())
        told = [m.text for m in prompt.messages]
        assert faults(prompt) == []
        assert "sk-1" not in str(told) and "the key is [masked]." in told[1]
        assert told[3].startswith("read again later; ") and told[5].startswith("read again later; ")
        assert [t for t in told if t.startswith("[Event read_file]")] == ['[Event read_file]: {"path":"x.py","text":"second"}']
        assert [(e.id, e.payload, e.meta) for e in await tape.query().all()] == before

    anyio.run(go)
