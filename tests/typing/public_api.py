"""What type checkers see of the public names; checked by `make types`, never run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
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
    assert_type(await ph.import_items([{"role": "user", "content": "Up?"}], into=tape, source="session"), ph.ImportReport)
    assert_type(await tape.archive(below="next"), ph.ArchiveReport)
    assert_type(await ph.export_store(tape.store, Path("exported"), tapes=["support/*"]), ph.TransferReport)
    assert_type(await ph.import_store("exported.tar", "sqlite:///copy.db"), ph.TransferReport)


async def of_blobs(tape: ph.Tape, store: ph.SQLiteTapeStore) -> None:
    collector: ph.BlobCollector = store
    assert_type(await ph.gc_blobs(collector, grace=timedelta(hours=1), archives=[Path("archives")]), ph.BlobReport)
    assert_type((await ph.unused_blobs(store, keep=["sha256:"])).unused, tuple[ph.Blob, ...])
    assert_type(ph.sync.gc_blobs(ph.InMemoryTapeStore()), ph.BlobReport)
    kept: tuple[ph.BlobCollector, ...] = (ph.FileTapeStore("tapes", inline_limit=None), ph.PostgresTapeStore("postgresql://localhost/tapes", inline_limit=10_000), ph.InMemoryTapeStore())
    async for part in kept[0].named_blobs():
        assert_type(part, ph.BlobNames)
    async for digest in tape.blob_refs():
        assert_type(digest, str)


def of_the_blocking_half(budget: ph.Budget) -> None:
    with ph.sync.open_tape("memory:", "t") as tape:
        assert_type(tape.append(ph.user("hi"), key="k", origin="mail"), ph.TapeEntry)
        assert_type(tape.append_many([ph.user("hi")]), tuple[ph.TapeEntry, ...])
        assert_type(tape.handoff("next"), tuple[ph.TapeEntry, ph.TapeEntry])
        assert_type(tape.read_messages(), list[ph.Message])
        assert_type(tape.anchors(5), list[ph.AnchorSummary])
        assert_type(tape.head(), ph.Head)
        for hit in tape.search("mtu", kinds=["message"], after_anchor=ph.LAST_ANCHOR, since="2026-03-01", smoothed=True):
            assert_type(hit.entry, ph.TapeEntry)
            assert_type(hit.score, float)
        assert_type(tape.query().kinds("message").after_anchor("next").limit(20), ph.sync.TapeQuery)
        assert_type(tape.query().all(), list[ph.TapeEntry])
        for entry in tape.query():
            assert_type(entry, ph.TapeEntry)
        assert_type(tape.at(3).with_context(ph.TapeContext()), ph.sync.Tape)
        assert_type(ph.sync.compile(tape, budget), ph.Prompt)
        assert_type(ph.sync.import_file("session.jsonl", into=tape), ph.ImportReport)
        assert_type(ph.sync.import_items([{"role": "user", "content": "Up?"}], into=tape), ph.ImportReport)
        assert_type(ph.sync.copy_store("file:tapes", tape.store), ph.TransferReport)
        tape.search(3)  # type: ignore[arg-type]
        tape.anchors(limit="5")  # type: ignore[arg-type]


def of_blocking_agents() -> None:
    with ph.sync.open_store("memory:") as store, ph.sync.get_model("echo:") as model, ph.sync.Agent(store=store, model=model, inbox=ph.TapeInbox) as agent:
        assert_type(store.list_tapes(), list[str])
        assert_type(model.complete(ph.ModelRequest(messages=(ph.user("hi"),))), ph.Reply)
        with agent.run("hi", tape="t", model=ph.testing.ScriptedModel(["Yes."]), max_steps=2) as stream:
            assert_type(stream, ph.sync.RunStream)
            for event in stream:
                assert_type(event.kind, str)
            assert_type(stream.text(), str)
            assert_type(stream.report, ph.MergeReport | None)
        with agent.session("t") as branch:
            assert_type(branch, ph.sync.Branch)
            assert_type(branch.merge(), ph.MergeReport)
        assert_type(agent.tape("t"), ph.sync.Tape)
        assert_type(agent.inbox("t").store(ph.user("Stop.")), str)
        with agent.tape("t").fork_tape() as trial, agent.tape("t").lock():
            assert_type(trial, ph.sync.Branch)
            assert_type(ph.sync.diff(agent.tape("t"), trial), ph.TapeDiff)
        assert_type(ph.sync.wait(ph.compile, agent.tape("t").asynchronous), ph.Prompt)
        agent.run("hi")  # type: ignore[call-arg]
        agent.run("hi", tape=3)  # type: ignore[arg-type]


async def of_one_call() -> None:
    async with ph.LLM("openai:gpt-5-mini", tape_store=ListStore(), context=ph.TapeContext(anchor=None), api_key="k") as llm:
        assert_type(llm.chat("hi", max_tokens=5, temperature=0.5), str)
        assert_type(await llm.chat_async(messages=[{"role": "user", "content": "hi"}, ph.assistant("ho")]), str)
        tape = llm.tape("t")
        assert_type(tape, ph.LLMTape)
        assert_type(tape.chat("hi", context=ph.TapeContext()), str)
        assert_type(tape.tool_calls("hi", tools=[len, ph.ToolSpec(name="t", description="", parameters={}), {"name": "s"}]), list[dict[str, Any]])
        assert_type(tape.run_tools("hi", tools=[len]), ph.ToolAutoResult)
        for words in tape.stream("hi"):
            assert_type(words, str)
        async for words in await tape.stream_async("hi"):
            assert_type(words, str)
        assert_type(await tape.stream_events_async("hi"), ph.AsyncStreamEvents)
        assert_type(tape.read_messages(), list[ph.Message])
        assert_type(tape.query.kinds("message").all(), list[ph.TapeEntry])
        assert_type(tape.query().all(), list[ph.TapeEntry])
        tape.context = None
        tape.chat(3)  # type: ignore[arg-type]
    try:
        llm.chat("hi")
    except ph.LLMError as error:
        assert_type(error.kind, ph.ErrorKind)
        assert_type(error.as_dict(), dict[str, object])


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


async def of_memory(store: ph.InMemoryTapeStore) -> None:
    strategy = ph.AutobiographicalStrategy(compression_model="extractive", recent_window_tokens=20_000)
    async with ph.ContextManager.open(path="./agent-store", strategy=strategy) as manager:
        assert_type(manager, ph.ContextManager)
        assert_type(await manager.add_message("User", [{"type": "text", "text": "Hello!"}], {"channelId": "c7"}, hold=60), str)
        assert_type(await manager.tick(), ph.Ticked)
        assert_type(await manager.compile(ph.Budget(200_000), dry_run=True), ph.Prompt)
        assert_type(await manager.search_summaries("order"), list[ph.SummaryHit])
        assert_type(await manager.get_summaries_in_range("2026-03-01"), list[ph.Placed])
        assert_type(await manager.list_pins(), tuple[ph.Pin, ...])
        assert_type(await manager.compression_debt(), ph.Debt | None)
        assert_type(manager.compression_holds(), tuple[ph.Hold, ...])
        assert_type(manager.get_render_stats(), ph.RenderStats | None)
        async for message in manager.messages():
            assert_type(message, ph.StoredMessage)
        assert_type(ph.memory_tools(manager), tuple[ph.Tool, ...])
        await manager.tick(2)  # type: ignore[call-arg]
    assert_type(await ph.ContextManager.open(store=store, namespace="agents/bot", isolate=True), ph.ContextManager)
    agent = ph.Agent(strategy=strategy, name="bot", tick="manual")
    assert_type(await agent.tick("customer-42"), ph.Ticked)


def of_blocking_memory() -> None:
    with ph.sync.ContextManager.open(path="./agent-store", strategy=ph.KnowledgeStrategy(phases=ph.PhaseTools(research=("web.",)))) as manager:
        assert_type(manager, ph.sync.ContextManager)
        assert_type(manager.add_message("User", "Hello!"), str)
        assert_type(manager.tick(), ph.Ticked)
        assert_type(manager.compile(ph.Budget(200_000)), ph.Prompt)
        assert_type(manager.preview(ph.Budget(200_000), recent_window_tokens=10_000), ph.Prompt)
        assert_type(manager.get_summary("L1-1"), ph.Node)
        assert_type(manager.tape, ph.sync.Tape)
        for message in manager.messages():
            assert_type(message, ph.StoredMessage)
        manager.pin_range(1, 2)  # type: ignore[arg-type]


class Patient:
    """A summarizer of one's own."""

    name = "patient"
    regime = "patient-1"

    async def write(self, job: ph.Job, surroundings: ph.Surroundings, *, note: Any) -> ph.Written | ph.Failed | ph.Paused | ph.Deferred:
        return ph.Written(text=f"{len(job.units)} units", tools=job.tools)


class Nothing:
    """A resolver of one's own."""

    name = "nothing"

    def solve(self, items: Sequence[ph.Item], *, target: int) -> ph.Solution:
        return ph.Solution(nodes=tuple(item.node for item in items if item.node is not None), tokens=sum(item.tokens for item in items))


summarizer: ph.Summarizer = Patient()
extractive: ph.Summarizer = ph.ExtractiveSummarizer(ph.AutobiographicalConfig())
resolvers: tuple[ph.Resolver, ...] = (Nothing(), ph.FlatProfile(), ph.OldestFirst(), ph.Highest(), ph.ByPhase())
folding: tuple[ph.Strategy, ...] = (ph.AutobiographicalStrategy(), ph.KnowledgeStrategy())
remembering: ph.Remembers = ph.AutobiographicalStrategy()
