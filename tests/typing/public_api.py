"""What type checkers see of the public names; checked by `make types`, never run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import playhead as ph


async def of_the_async_half(tape: ph.Tape, budget: ph.Budget) -> None:
    assert_type(await tape.append(ph.user("hi"), key="k", origin="mail"), ph.TapeEntry)
    assert_type(await tape.append_many([ph.user("hi"), ph.TapeEntry.event("noted")]), tuple[ph.TapeEntry, ...])
    assert_type(await tape.handoff("next", {"summary": "all well"}), tuple[ph.TapeEntry, ph.TapeEntry])
    assert_type(await tape.read_messages(), list[ph.Message])
    assert_type(await tape.anchors(), list[ph.AnchorSummary])
    assert_type(await tape.head(), ph.Head)
    assert_type(tape.query().kinds("message").after_anchor("next").limit(20), ph.TapeQuery)
    async for entry in tape.query():
        assert_type(entry, ph.TapeEntry)
    prompt = await ph.compile(tape, budget, strategy=ph.WindowedPassthroughStrategy())
    assert_type(prompt, ph.Prompt)
    assert_type(prompt.to("anthropic", model="m"), dict[str, Any])
    assert_type(await ph.import_file(Path("session.jsonl"), into=tape), ph.ImportReport)


def of_the_blocking_half(budget: ph.Budget) -> None:
    with ph.sync.open_tape("memory:", "t") as tape:
        assert_type(tape.append(ph.user("hi"), key="k", origin="mail"), ph.TapeEntry)
        assert_type(tape.append_many([ph.user("hi")]), tuple[ph.TapeEntry, ...])
        assert_type(tape.handoff("next"), tuple[ph.TapeEntry, ph.TapeEntry])
        assert_type(tape.read_messages(), list[ph.Message])
        assert_type(tape.anchors(5), list[ph.AnchorSummary])
        assert_type(tape.head(), ph.Head)
        assert_type(tape.search("mtu", kinds=["message"]), list[ph.TapeEntry])
        assert_type(tape.query().kinds("message").after_anchor("next").limit(20), ph.sync.TapeQuery)
        assert_type(tape.query().all(), list[ph.TapeEntry])
        for entry in tape.query():
            assert_type(entry, ph.TapeEntry)
        assert_type(tape.at(3).with_context(ph.TapeContext()), ph.sync.Tape)
        assert_type(ph.sync.compile(tape, budget), ph.Prompt)
        assert_type(ph.sync.import_file("session.jsonl", into=tape), ph.ImportReport)
        tape.search(3)  # type: ignore[arg-type]
        tape.anchors(limit="5")  # type: ignore[arg-type]


async def of_models() -> None:
    async with ph.get_model("openai:gpt-5-mini", api_key="k", context_limit=8_000) as model:
        request = ph.ModelRequest(messages=(ph.user("hi"),), tools=(ph.ToolSpec(name="t", description="", parameters={}),))
        assert_type(await model.complete(request), ph.Reply)
        async with model.stream(request) as events:
            async for event in events:
                assert_type(event, ph.TextDelta | ph.ReasoningDelta | ph.CallReady | ph.Reply)
    scripted: ph.Model = ph.testing.ScriptedModel(["Yes.", ph.testing.call("look", at=3), ["a", ph.ModelUnavailable("Busy.")], lambda asked: asked.messages[0].text])
    assert_type(scripted.context_limit, int | None)
    ph.testing.ScriptedModel([3])  # type: ignore[list-item]


class LastTen:
    def plan(self, units: ph.Units, *, budget: ph.Budget, state: object) -> ph.Plan:
        assert_type(units[-10:], tuple[ph.Unit, ...])
        return units.keep(units[-10:], reason="older than the last ten")


class ListStore:
    def list_tapes(self) -> list[str]:
        return []

    def reset(self, tape: str) -> None: ...

    def fetch_all(self, query: ph.TapeQuery) -> list[ph.TapeEntry]:
        return query.apply([])

    def append(self, tape: str, entry: ph.TapeEntry) -> ph.TapeEntry | None:
        return entry


def select(entries: Sequence[ph.TapeEntry], context: ph.TapeContext) -> list[ph.Message]:
    return [ph.system(f"{len(entries)} entries, {context.state.get('mood', 'calm')}")]


strategy: ph.Strategy = LastTen()
store: ph.TapeStore = ListStore()
tape = ph.Tape(ListStore(), "t", context=ph.TapeContext(anchor=None, select=select))
ph.Tapes  # type: ignore[attr-defined]  # noqa: B018 - a misspelt name is found


def of_tools() -> None:
    @ph.tool
    def bare(n: int) -> int:
        return n

    @ph.tool(context=True, timeout=5)
    async def with_arguments(n: int, *, context: ph.ToolContext) -> int:
        return n

    assert_type(bare, ph.Tool)
    assert_type(with_arguments, ph.Tool)
    assert_type(ph.tool(len, name="size"), ph.Tool)
    assert_type(ph.tape_tools(), tuple[ph.Tool, ...])
    assert_type(ph.result_content(ph.content_result("seen", ph.Media(kind="image", url="https://example.org"))), tuple[ph.Text | ph.Media, ...])
