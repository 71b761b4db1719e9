"""The text on agents that remember: every sample of it runs, with its import lines changed and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import playhead as ph
from tests.docs.seed_samples.running import follow, program
from tests.docs.seed_samples.texts import MEMORY, ours, sample, samples
from tests.integration.model.server import ProviderServer
from tests.integration.model.wires import CHAT, Turn

HOLDING = {
    "first program": "asyncio.run(main())",
    "file store": "FileTapeStore(Path(",
    "inspection": "def inspect_history",
    "default context": "context=default_tape_context(),",
    "another start": "context=replace(",
    "selector": "def with_order_notes",
    "another view": "full_messages",
    "handoff": "await tape.handoff(",
    "history": "history = list(",
    "tool": "def add_order_note",
    "preview": "merge_back=False",
}
"""Words by which each sample of the text is found."""


def printed(name: str) -> str:
    return sample(MEMORY, holding=HOLDING[name])


async def said(agent: ph.Agent, prompt: str, *, tape: str, script: list[object], **options: object) -> ph.testing.ScriptedModel:
    """Run a turn and return the model, with the requests that it got."""
    model = ph.testing.ScriptedModel(script)
    async with agent.run(prompt, model=model, tape=tape, **options) as stream:
        await stream.text()
    return model


def test_every_sample_of_the_text_has_a_test_of_its_own():
    assert [printed(name) for name in HOLDING] == list(samples(MEMORY))


def test_only_import_lines_are_changed():
    for code in samples(MEMORY):
        changed = [(old, new) for old, new in zip(code.splitlines(), ours(code).splitlines(), strict=True) if old != new]
        assert all(re.match(r"(from|import) ", line) for pair in changed for line in pair)
        assert "bub" not in ours(code)


def test_the_first_program_remembers_over_the_real_wire(tmp_path: Path):
    answers = [Turn(words=("1. ", "记住了。")), Turn(words=("编号清单。",))]
    with ProviderServer(map(CHAT.answer, answers)) as server:
        shown = program(printed("first program"), place=tmp_path, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="k")
    assert shown == "1. 记住了。DONE\n编号清单。DONE\n"
    first, second = (request.body for request in server.requests)
    assert (first["model"], [m["role"] for m in first["messages"]]) == ("gpt-5-mini", ["system", "user"])
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][2]["content"] == "1. 记住了。"
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer k"}


def test_a_conversation_in_files_goes_on_with_the_next_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    async def go(prompt: str, answer: str) -> ph.testing.ScriptedModel:
        agent = (await follow(printed("file store")))["agent"]
        model = await said(agent, prompt, tape="demo-user", script=[answer])
        await agent.store.aclose()
        return model

    anyio.run(go, "以后请用简短的编号清单回答。", "1. 好。")
    model = anyio.run(go, "我偏好什么回答格式？", "1. 编号清单。")
    assert [m.role for m in model.requests[0].messages] == ["system", "user", "assistant", "user"]
    lines = (tmp_path / "sessions" / "demo-user.jsonl").read_text(encoding="utf-8").splitlines()
    assert "session/start" in lines[0] and all(json.loads(line) for line in lines)


def test_a_record_has_two_views(capsys: pytest.CaptureFixture[str]):
    async def go() -> None:
        agent = ph.Agent()
        await said(agent, "Where is A123?", tape="customer-42", script=["On its way."])
        inspect_history = (await follow(printed("inspection"), names={"Agent": ph.Agent}))["inspect_history"]
        await inspect_history(agent)

    anyio.run(go)
    messages, entries = map(int, re.findall(r"\d+", capsys.readouterr().out))
    assert messages == 2 and entries > messages


def test_the_default_context_is_the_one_an_agent_has_anyway():
    async def go() -> None:
        agent = (await follow(printed("default context")))["agent"]
        assert agent.context == ph.Agent().context

    anyio.run(go)


def test_an_agent_may_start_at_an_anchor_of_ones_own():
    async def go() -> None:
        agent = (await follow(printed("another start")))["agent"]
        await said(ph.Agent(store=agent.store), "old", tape="t", script=["old answer"])
        await agent.tape("t").handoff("order-reviewed")
        await agent.tape("t").append(ph.user("between"))
        await agent.tape("t").handoff("later")
        model = await said(agent, "new", tape="t", script=["ok"])
        assert [m.text for m in model.requests[0].messages if m.role == "user"][-2:] == ["between", "new"]
        assert not any("old" in m.text for m in model.requests[0].messages)

    anyio.run(go)


def test_a_selector_brings_business_facts_before_the_model():
    async def go() -> None:
        agent = (await follow(printed("selector")))["agent"]
        await agent.tape("t").append_event("order.note", {"text": "fragile"})
        await agent.tape("t").append_event("order.note", {"text": "hidden"}, context=False)
        model = await said(agent, "Pack it", tape="t", script=["Packed."])
        assert [(m.role, m.text) for m in model.requests[0].messages] == [("user", "Pack it"), ("system", "已知订单备注：[{'text': 'fragile'}]")]
        assert [m.text for m in await agent.tape("t").read_messages()][:2] == ["Pack it", "Packed."]

    anyio.run(go)


def test_one_reading_may_see_all_and_leaves_the_tape_as_it_is():
    async def go() -> None:
        agent = ph.Agent()
        await said(agent, "old", tape="demo-user", script=["old answer"])
        await agent.tape("demo-user").handoff("phase")
        await said(agent, "new", tape="demo-user", script=["new answer"])
        names = await follow(printed("another view"), names={"agent": agent})
        assert [m.text for m in names["full_messages"] if m.role != "system"][:2] == ["old", "old answer"]
        assert [m.text for m in await names["tape"].read_messages()] == ["new", "new answer"]

    anyio.run(go)


def test_behind_a_handoff_the_context_is_short_and_the_history_whole():
    async def go() -> None:
        agent = ph.Agent()
        await said(agent, "old", tape="demo-user", script=["old answer"])
        names = await follow(printed("handoff"), printed("history"), names={"agent": agent})
        assert [a.name for a in names["anchors"]] == ["session/start", "order-reviewed"]
        assert names["anchors"][-1].state == {"summary": "订单 A123 已完成审核并通过。"}
        assert [e.payload["content"] for e in names["history"] if e.kind == "message"] == ["old", "old answer"]
        (note,) = await names["tape"].read_messages()
        assert "订单 A123" in note.text

    anyio.run(go)


def test_a_tool_notes_a_fact_on_the_tape_of_the_run():
    async def go() -> None:
        add_order_note = (await follow(printed("tool")))["add_order_note"]
        agent, state = ph.Agent(tools=[add_order_note]), {"request_id": "r-7"}
        script = [ph.testing.call("add_order_note", note="fragile"), "Noted."]
        model = await said(agent, "Note it", tape="t", script=script, state=state)
        (tool,) = model.requests[0].tools
        assert (tool.description, list(tool.parameters["properties"])) == ("向当前会话追加一条订单备注。", ["note"])
        assert [m.text for m in model.requests[1].messages if m.role == "tool"] == ["备注已记录。"]
        facts = [e.payload["data"] for e in await agent.tape("t").query().kinds("event").all() if e.payload["name"] == "order.note"]
        assert facts == [{"text": "fragile", "request_id": "r-7"}]
        seen = await said(agent, "And now?", tape="t", script=["ok"])
        assert not any(m.role == "system" for m in seen.requests[0].messages)

    anyio.run(go)


def test_nothing_of_a_preview_remains():
    async def go() -> None:
        agent, model = ph.Agent(), ph.testing.ScriptedModel(["Never kept."])
        await follow(printed("preview"), names={"agent": agent, "model": model, "prompt": "Try"})
        assert len(model.requests) == 1
        assert not await agent.tape("preview-demo").query().kinds("message").all()

    anyio.run(go)


def test_a_tape_without_an_anchor_says_so_and_may_be_read_whole():
    async def go() -> None:
        agent = ph.Agent()
        tape = agent.tape("blank")
        with pytest.raises(ph.NoAnchors, match=r"\[not_found\] No anchors found in tape"):
            await tape.read_messages()
        assert await tape.with_context(replace(ph.default_tape_context(), anchor=None)).read_messages() == []
        assert await tape.query().all() == []

    anyio.run(go)
