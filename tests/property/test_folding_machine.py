"""Whatever is said, changed, pinned, held, folded, forked and merged, by several managers: each compile tells every unit once, or refuses."""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import timedelta
from hashlib import sha256

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playhead import clock
from playhead.entry.message import assistant
from playhead.errors import BodyNotWhole, ModelUnavailable, OverBudgetError
from playhead.fold.choosing.windows import head_end, recent_start
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.recall import RecallPrices, RecallStyle
from playhead.model.protocol import Reply, ToolSpec
from playhead.model.scripted import ScriptedModel, call
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import MAIN, ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.knowledge import KnowledgeStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.testing.clock import FakeClock
from playhead.view.context import default_tape_context
from tests.unit.fold.telling import check
from tests.unit.prompt.folding.shown import check_told_once, starts_with, texts, view_of

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
MARK = re.compile(r"mk\d+mk")
PING = ToolSpec(name="ping", description="Ask a host.", parameters={"type": "object", "properties": {}})
SIZES = (2, 8, 8, 12, 12, 25, 25, 25, 40, 60, 150)
ROOMS = (200, 500, 700, 900, 900, 1_200, 1_200, 1_600, 2_000, 2_500)
NAMESPACES = ("agents/a", "agents/b", "agents/a")
CALLS_FOR_ONE = 60
"""How many requests one tick may make at most: a full ladder, split into parts."""

SMALL = {"recent_window_tokens": 100, "target_chunk_tokens": 60, "summary_target_tokens": 25, "identifier_index_tokens": 10, "min_chunk_chars_for_llm": 30}
kinds = st.fixed_dictionaries(
    {
        "adaptive_resolution": st.booleans(),
        "folding_strategy": st.sampled_from(["flat-profile", "oldest-first"]),
        "merge_threshold": st.integers(2, 4),
        "l1_holdback_chunks": st.integers(0, 2),
        "head_window_tokens": st.sampled_from([0, 0, 50]),
        "low_water_ratio": st.sampled_from([0.0, 0.3, 0.8]),
        "recall_envelope": st.sampled_from(["none", "xml"]),
        "ladder": st.sampled_from([(), ("no_tools_line", "without_tools", "plain_prose", "expand_recall", "source_only", "split")]),
    }
)
FREQUENT = ("talk", "talk", "talk", "call_tools", "call_tools", "fold", "fold", "fold", "fold", "compile", "compile", "compile")
OFTEN = ("say", "tick", "tick", "answer_late", "edit", "remove", "pin", "unpin", "lock", "hold", "release", "wait", "forget", "report", "preview", "branch", "switch", "merge")
SELDOM = ("hand_off", "change_settings")
CALM = (*FREQUENT * 2, "say", "edit", "remove", "branch", "switch", "merge", "report", "preview")


def listed(names):
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 2), st.integers(0, 255), st.integers(0, 255)), min_size=20, max_size=60)


deeds = listed((*FREQUENT * 3, *OFTEN * 2, *SELDOM)) | listed(CALM)


class Moody:
    """Answers as a model may: with a summary that names all it was shown, or with none, as a number drawn from each request says."""

    def __init__(self, refuses: int) -> None:
        self.refuses = refuses
        self.asked: Counter[str] = Counter()

    def __call__(self, request: object) -> object:
        said = texts(request.messages)
        digest = sha256(said.encode()).hexdigest()
        self.asked[digest] += 1
        lot = int(digest[:4], 16) % 100
        if lot >= self.refuses:
            return f"I remember {' '.join(dict.fromkeys(MARK.findall(said)))}."
        if lot % 6 == 5 and self.asked[digest] < 3:
            return ModelUnavailable("no answer", model="moody", status=503)
        wrong = (Reply(message=assistant("I would rather not."), stop="refusal"), Reply(message=assistant("It began"), stop="length"), call("ping"), "", "<thinking>so</thinking>")
        return wrong[lot % 5]


class Folding:
    """Three managers on one store: two share a namespace, one has its own. What each compiled last is kept beside it."""

    def __init__(self, *, refuses: int | None, strategy: type[AutobiographicalStrategy], anchored: bool) -> None:
        self.clock = FakeClock()
        self.moody = Moody(refuses or 0)
        self.writer = "extractive" if refuses is None else ScriptedModel([self.moody] * 10_000, name="scripted:moody")
        self.strategy = strategy
        self.context = default_tape_context() if anchored else default_tape_context(anchor=None)
        self.managers: list[ContextManager] = []
        self.last: list[object] = [None] * len(NAMESPACES)
        self.pins: list[tuple[int, str]] = []
        self.open_calls: list[str] = []
        self.said = self.touched = self.made = 0
        self.tally: Counter[str] = Counter()

    async def opened(self, kind, other):
        store = InMemoryTapeStore()
        for namespace, options in zip(NAMESPACES, (kind, other, kind), strict=True):
            strategy = self.strategy(compression_model=self.writer, **SMALL, **options)
            manager = await ContextManager.open(store=store, strategy=strategy, namespace=namespace, context=self.context, clock=self.clock)
            manager.set_tool_definitions([PING])
            self.managers.append(manager)

    async def do(self, deed, index, one, other):
        self.tally[deed] += 1
        await getattr(self, deed)(index, self.managers[index], one, other)

    async def close(self):
        for index, manager in enumerate(self.managers):
            await self.compile(index, manager, 9, 1)
            await check(FoldMemory(manager.tape, namespace=manager.namespace))

    def words(self, size):
        self.said += 1
        return f"mk{self.said}mk " + " ".join(f"w{self.said % 7}{n % 13}" for n in range(SIZES[size % len(SIZES)])) + "."

    async def row(self, manager, number):
        rows = [m async for m in manager.messages()]
        return rows[number % len(rows)] if rows else None

    # -- what happens on a tape

    async def say(self, index, manager, one, other):
        await manager.add_message("Claude" if one % 2 else "Ada", self.words(one), hold=(False, False, True, 50.0)[other % 4])

    async def talk(self, index, manager, one, other):
        for number in range(3 + one % 10):
            await manager.add_message("Claude" if number % 2 else "Ada", self.words(other))

    async def call_tools(self, index, manager, one, other):
        ids = [f"c{self.said}-{n}" for n in range(2)]
        name = ("ping", "lessons:create", "subagent:ask", "mcpl:find")[one % 4]
        calls = [{"type": "tool_use", "id": id, "name": name, "input": {"host": self.words(1)}} for id in ids]
        await manager.add_message("Claude", [{"type": "text", "text": self.words(one)}, *calls])
        answered = (2, 2, 2, 1, 0)[other % 5]
        for id in ids[:answered]:
            await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": id, "content": self.words(other)}])
        self.open_calls += ids[answered:]

    async def answer_late(self, index, manager, one, other):
        if self.open_calls:
            id = self.open_calls.pop(one % len(self.open_calls))
            self.touched += 1
            await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": id, "content": self.words(other)}])

    async def edit(self, index, manager, one, other):
        row = await self.row(manager, one)
        if row is None or row.message.calls or row.message.results:
            return
        self.touched += 1
        try:
            await manager.edit_message(row.id, self.words(other))
        except BodyNotWhole:
            assert row.body is not None

    async def remove(self, index, manager, one, other):
        row, end = await self.row(manager, one), await self.row(manager, one + other % 4)
        if row is None:
            return
        self.touched += 1
        try:
            await (manager.remove_messages(row.id, end.id) if other % 2 else manager.remove_message(row.id))
        except BodyNotWhole:
            await manager.remove_body((row if row.body else end).id)

    async def hand_off(self, index, manager, one, other):
        await manager.tape.handoff(f"phase {self.said}", {"summary": self.words(one)})
        self.touched += 1

    # -- what is asked of memory

    async def pin(self, index, manager, one, other):
        row, end = await self.row(manager, one), await self.row(manager, one + other % 4)
        if row is None:
            return
        self.pins.append((index, await (manager.mark_document(row.id) if other % 2 else manager.pin_range(end.id, row.id, level=other % 3))))
        self.touched += 1

    async def unpin(self, index, manager, one, other):
        if self.pins:
            owner, pin = self.pins.pop(one % len(self.pins))
            await self.managers[owner].unpin(pin)
            self.touched += 1

    async def lock(self, index, manager, one, other):
        row = await self.row(manager, one)
        if row is not None:
            await (manager.unlock_chunk if other % 2 else manager.lock_chunk)(row.id)

    async def hold(self, index, manager, one, other):
        row = await self.row(manager, one)
        if row is not None:
            await manager.hold_compression(row.id, timeout=30.0 if other % 4 else None)

    async def release(self, index, manager, one, other):
        await manager.release_compression([hold.uid for hold in manager.compression_holds()])

    async def wait(self, index, manager, one, other):
        self.clock.advance(timedelta(seconds=(1, 40, 1_000)[one % 3]))

    async def forget(self, index, manager, one, other):
        standing = sorted((await view_of(manager)).standing.values(), key=lambda node: node.uid)
        if standing:
            await manager.forget_summary(standing[one % len(standing)].id)
            self.touched += 1

    async def report(self, index, manager, one, other):
        await manager.report_usage(one * 10 + other)

    async def change_settings(self, index, manager, one, other):
        await manager.update_hot_settings(recent_window_tokens=(0, 60, 200)[one % 3])
        self.last[index] = None

    # -- folding

    async def tick(self, index, manager, one, other):
        """A tick makes few requests, and tells nothing that is held."""
        before = sum(self.moody.asked.values())
        ticked = await manager.tick()
        self.tally[f"tick: {ticked.did}"] += 1
        assert sum(self.moody.asked.values()) - before <= CALLS_FOR_ONE
        held = [hold.uid for hold in manager.compression_holds()]
        places = [entry.id for entry in (await manager.tape.store.find(manager.tape.name, uids=held)).values()]
        assert ticked.node is None or not places or ticked.node.last < min(places)

    async def drain(self, index, manager, one, other):
        """A drain comes to an end, and then nothing more is asked of the model as long as nothing changes."""
        await manager.drain()
        before = sum(self.moody.asked.values())
        assert not await manager.tick()
        assert sum(self.moody.asked.values()) - before <= 1
        await check(FoldMemory(manager.tape, namespace=manager.namespace))

    async def fold(self, index, manager, one, other):
        """Tell what is due, then see that it fits."""
        await self.drain(index, manager, one, other)
        await self.compile(index, manager, one, other)

    async def compile(self, index, manager, one, other):
        """A prompt tells each unit once, within the budget, or there is a reason to refuse it; dry runs say the same before and change nothing."""
        budget = Budget(ROOMS[one % len(ROOMS)], reserve_for_response=0)
        before = await self.heads(manager)
        dry = [await manager.compile(budget, dry_run=True) for _ in range(other % 3)]
        assert await self.heads(manager) == before
        try:
            prompt = await manager.compile(budget)
        except OverBudgetError as refused:
            self.tally["refused"] += 1
            assert all(run.over_budget is not None for run in dry) and refused.needed > refused.room
            await self.check_refused(manager, refused)
            return
        assert all(run.messages == prompt.messages and run.over_budget is None for run in dry)
        self.tally[f"level {max(prompt.stats.by_level, default=0)}"] += 1
        view = await check_told_once(manager, prompt)
        await self.check_marks(manager, prompt, view)
        await self.check_prefix(index, manager, prompt)

    async def preview(self, index, manager, one, other):
        """A preview leaves everything as it was."""
        before = await self.heads(manager), manager.get_render_stats()
        await manager.preview(Budget(ROOMS[one % len(ROOMS)], reserve_for_response=0), folding_strategy=None, recent_window_tokens=0)
        assert (await self.heads(manager), manager.get_render_stats()) == before

    # -- branches

    async def branch(self, index, manager, one, other):
        row = await self.row(manager, one)
        if row is not None and len(await manager.list_branches()) < 4:
            self.made += 1
            await (manager.branch_at(row.id, f"b{self.made}") if other % 2 else manager.fork(f"b{self.made}"))

    async def switch(self, index, manager, one, other):
        names = await manager.list_branches()
        await manager.switch_branch(names[one % len(names)])
        assert manager.get_render_stats() is None

    async def merge(self, index, manager, one, other):
        name = manager.tape.name
        if manager.current_branch() == MAIN or any(b.is_open and b.parent == name for b in await manager.tape.branches()):
            return
        await manager.tape.merge(seal=bool(one % 3))
        self.touched += 1
        for each in self.managers:
            if each.tape.name == name:
                await each.switch_branch(MAIN)

    # -- what holds

    async def heads(self, manager):
        return await manager.tape.head(), await FoldMemory(manager.tape, namespace=manager.namespace).sidecar.head()

    async def check_marks(self, manager, prompt, view):
        """Nothing is told that was not said on this branch, and no summary tells what came after it."""
        entries = await manager.tape.query().all()
        places = {entry.uid: entry.id for entry in entries}
        said = {mark: places.get(entry.payload.get("target"), entry.id) for entry in reversed(entries) for mark in MARK.findall(str(entry.payload))}
        assert set(MARK.findall(texts(prompt.messages))) <= set(said)
        assert all(said[mark] <= node.last for node in view.standing.values() for mark in MARK.findall(f"{node.text} {node.index}"))

    async def check_prefix(self, index, manager, prompt):
        """Where nothing was folded or changed in between, a prompt only grows at its end."""
        forest = await FoldMemory(manager.tape, namespace=manager.namespace).look()
        now = self.touched, () if forest.cut is None else forest.cut.nodes, manager.tape.name
        before, self.last[index] = self.last[index], (now, prompt.messages)
        if before is not None and before[0] == now:
            self.tally["prefix"] += 1
            assert starts_with(prompt.messages, before[1]), "the prefix changed, and nothing was folded"

    async def check_refused(self, manager, refused):
        """Where a prompt of the highest summaries, and all else raw, would have fitted, there was no reason to refuse."""
        view, forest = await view_of(manager), await FoldMemory(manager.tape, namespace=manager.namespace).look()
        config = manager.strategy_in_force.config
        seen = [unit for unit in view.units if unit.ids]
        roots = [root for root in forest.roots if seen and seen[0].first <= root.first]
        if forest.pins or forest.locks or manager.compression_holds() or any(root.covers(unit.first) for root in roots for unit in _protected(view.units, config) if unit.ids):
            return
        price = RecallPrices(manager.tape.counter, RecallStyle.of(config, agent=manager.agent))
        least = sum(price.of(root) for root in roots) + sum(u.tokens for u in view.units if not any(root.covers(u.first) for root in roots if u.ids))
        self.tally["refused for a reason"] += 1
        assert least > refused.room, f"refused at {refused.room}, though the roots and the rest come to {least}"


def _protected(units, config):
    """Return the units that always stay raw: those the view opens with, the head window, the recent window, the newest."""
    lead = next((index for index, unit in enumerate(units) if unit.role != "system" and unit.kind != "note"), len(units))
    head = max(lead, head_end(units, tokens=config.head_window_tokens))
    tail = recent_start(units, tokens=config.recent_window_tokens, start=head)
    return (*units[:head], *units[min(tail, len(units) - 1) :])


@settings(max_examples=600 if SOAK else 40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(kinds, kinds, st.sampled_from([None, None, 0, 30, 100]), st.sampled_from([AutobiographicalStrategy, AutobiographicalStrategy, KnowledgeStrategy]), st.sampled_from([False, False, True]), deeds)
def test_every_compile_tells_each_unit_once_or_refuses(kind, other, refuses, strategy, anchored, done):
    async def go():
        folding = Folding(refuses=refuses, strategy=strategy, anchored=anchored)
        with clock.using(folding.clock):
            await folding.opened(kind, other)
            for deed in done:
                await folding.do(*deed)
            await folding.close()

    anyio.run(go)
