"""Real transcripts, from the file to a provider's body, judged from outside."""

import importlib.util
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from playhead.entry.message import Message
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.wire import anthropic, openai_chat
from tests.data import shared

pytestmark = pytest.mark.anyio

SESSIONS = [
    "ccl_edge_cases.jsonl",
    "ccl_representative_messages.jsonl",
    "ccl_session_b.jsonl",
    "ccl_todowrite_examples.jsonl",
    "simonw_sample_session.json",
    "spotter_258c7280.jsonl",
    "spotter_4d5611e5_subagent.jsonl",
    "spotter_ae4a77f8.jsonl",
    "spotter_fa812bfe_acompact.jsonl",
    "spotter_tool_heavy.jsonl",
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge", shared("protocols.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def imported(path: Path) -> Tape:
    tape = Tape(InMemoryTapeStore(), "t")
    report = await import_file(path, into=tape)
    again = await import_file(path, into=tape)
    assert (again.added, again.known) == (0, report.added)
    return tape


async def views(tape: Tape, *, count: int) -> AsyncIterator[list[Message]]:
    """Yield what is shown at a sample of prefixes, behind the newest anchor and from the start."""
    end = (await tape.head()).id
    whole = TapeContext(anchor=None, select=default_tape_context().select)
    for n in range(1, count + 1):
        prefix = tape.at(max(1, end * n // count))
        yield await prefix.read_messages()
        yield await prefix.with_context(whole).read_messages()


def faults(messages: list[Message], judge: ModuleType) -> list[str]:
    found: list[str] = []
    for dump, check in ((anthropic.dump, judge.anthropic_faults), (openai_chat.dump, judge.openai_faults)):
        body: dict[str, Any] = dump(messages)
        found += check(body["messages"])
    return found


@pytest.mark.parametrize("name", SESSIONS)
async def test_a_session_reads_without_a_fault_at_every_prefix_sampled(name: str, judge: ModuleType) -> None:
    tape = await imported(shared("trajectories", "claude_code", name))
    async for messages in views(tape, count=12):
        assert faults(messages, judge) == []


async def test_every_conversation_of_a_file_reads_without_a_fault(judge: ModuleType) -> None:
    path = shared("trajectories", "tau_bench", "gpt-4o-airline-even.json")
    tape = await imported(path)
    anchors = [a for a in await tape.anchors(200) if a.name.startswith("conversation/")]
    source = json.loads(path.read_bytes())
    assert len(anchors) == len(source)
    ends = [a.id - 1 for a in anchors[1:]] + [(await tape.head()).id]
    for end, conversation in zip(ends, source, strict=True):
        messages = await tape.at(end).read_messages()
        assert faults(messages, judge) == []
        roles = [m["role"] for m in openai_chat.dump(messages)["messages"]]
        assert roles == [m["role"] for m in conversation["traj"]]


@pytest.mark.parametrize("name", ["spotter_258c7280.jsonl", "spotter_ae4a77f8.jsonl"])
async def test_a_compaction_is_where_reading_starts_and_its_summary_comes_first(name: str) -> None:
    path = shared("trajectories", "claude_code", name)
    tape = await imported(path)
    (anchor,) = [a for a in await tape.anchors() if a.name == "compaction"]
    record = next(r for r in map(json.loads, path.read_bytes().splitlines()) if r.get("isCompactSummary"))
    assert anchor.state["summary"] == record["message"]["content"]
    assert anchor.state["trigger"] in ("auto", "manual")
    assert record["message"]["content"] in (await tape.read_messages())[0].text
