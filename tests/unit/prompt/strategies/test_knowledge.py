"""KnowledgeStrategy: summaries cut by what the agent was doing, and folded by how much each of that is worth."""

from __future__ import annotations

import anyio
import pytest

from playhead.errors import InvalidOption
from playhead.fold.choosing.phases import PhaseTools
from playhead.fold.config import AutobiographicalConfig
from playhead.prompt.strategies.knowledge import KnowledgeStrategy
from tests.unit.fold.telling import check
from tests.unit.prompt.folding.managed import managed, memory, room, shown, spans, talk, told
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


async def rounds(manager, tool, count, *, start=0):
    for number in range(start, start + count):
        id = f"{tool}-{number}"
        await manager.add_message("Claude", [{"type": "text", "text": f"Step {number} with many words of it."}, {"type": "tool_use", "id": id, "name": tool, "input": {}}])
        await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": id, "content": f"What {tool} said in step {number}."}])


async def learned(manager):
    """Research, talk, a lesson, a sub-agent, talk again."""
    await rounds(manager, "mcpl:find", 6)
    await talk(manager, 8)
    await rounds(manager, "lessons:create", 2)
    await rounds(manager, "subagent:ask", 4)
    await talk(manager, 12, start=8)


async def phases(manager):
    return [node.phase for node in sorted([node async for node in memory(manager).nodes() if node.level == 1], key=lambda node: node.first)]


def test_a_chunk_is_of_one_phase():
    async def go():
        async with managed(strategy=KnowledgeStrategy) as manager:
            await learned(manager)
            await manager.drain()
            found = await phases(manager)
            assert found == sorted(found, key=["research", "synthesis", "lesson", "subagent"].index) or set(found) == {"research", "synthesis", "lesson", "subagent"}
            assert set(found) == {"research", "synthesis", "lesson", "subagent"}
            for node in [node async for node in memory(manager).nodes() if node.level == 1 and node.phase == "research"]:
                assert node.tools == ("mcpl:find",)
            await check(memory(manager))

    run(go)


def test_where_room_is_short_research_is_folded_first_and_conclusions_last():
    async def go():
        async with managed(strategy=KnowledgeStrategy, merge_threshold=20, low_water_ratio=1.0) as manager:
            await rounds(manager, "mcpl:find", 6, start=100)
            await talk(manager, 8)
            await rounds(manager, "mcpl:find", 8)
            await talk(manager, 12, start=8)
            await manager.drain()
            whole = (await manager.compile(room(100_000))).stats.total
            prompt = await manager.compile(room(whole - 150))
            told_by = {node.id: node.phase async for node in memory(manager).nodes()}
            assert shown(prompt) and {told_by[name] for name in shown(prompt)} == {"research"}
            await check_told_once(manager, prompt)

    run(go)


def test_the_trailing_run_is_a_chunk_here_and_the_newest_of_all_waits():
    async def go():
        async with managed(strategy=KnowledgeStrategy, target_chunk_tokens=10_000, recent_window_tokens=50) as manager:
            await rounds(manager, "mcpl:find", 2)
            await talk(manager, 3)
            await rounds(manager, "lessons:create", 1)
            await talk(manager, 3, start=3)
            await manager.drain()
            found = await spans(manager)
            assert found[0] == (1, 4) and len(found) == 3

    run(go)


def test_instructions_ask_for_what_a_phase_is_about_and_for_leads():
    async def go():
        model = told()
        async with managed(strategy=KnowledgeStrategy, writer=model) as manager:
            await learned(manager)
            await manager.drain()
            instructions = {request.messages[-1].text for request in model.requests}
            assert len(instructions) >= 4
            assert all("[LEAD]" in said for said in instructions)

    run(go)


def test_a_merge_is_told_which_phases_it_holds():
    async def go():
        model = told()
        async with managed(strategy=KnowledgeStrategy, writer=model, merge_threshold=2) as manager:
            await learned(manager)
            await manager.drain()
            assert await manager.max_summary_level() > 1
            merges = [request.messages[-1].text for request in model.requests if "research" in request.messages[-1].text.lower() and "synthesis" in request.messages[-1].text.lower()]
            assert merges

    run(go)


def test_tools_of_ones_own_say_the_phases():
    async def go():
        strategy = KnowledgeStrategy(phases=PhaseTools(research=("web_",)))
        assert strategy.bound("agents/a").phases == strategy.phases
        async with managed(strategy=lambda **options: KnowledgeStrategy(phases=PhaseTools(research=("web_",)), **options)) as manager:
            await rounds(manager, "web_search", 6)
            await talk(manager, 10)
            await manager.drain()
            assert (await phases(manager))[0] == "research"

    run(go)


def test_settings_change_and_previews_keep_the_phases():
    async def go():
        async with managed(strategy=lambda **options: KnowledgeStrategy(phases=PhaseTools(research=("web_",)), **options)) as manager:
            await rounds(manager, "web_search", 6)
            await talk(manager, 10)
            await manager.update_hot_settings(low_water_ratio=0.5)
            assert manager.strategy_in_force.phases.research == ("web_",)
            await manager.drain()
            assert (await phases(manager))[0] == "research"
            assert (await manager.preview(room(400), recent_window_tokens=50)).strategy == "knowledge"

    run(go)


def test_its_summaries_are_always_merged():
    assert KnowledgeStrategy(AutobiographicalConfig(hierarchical=False)).config.hierarchical
    with pytest.raises(InvalidOption, match="AutobiographicalStrategy"):
        KnowledgeStrategy(hierarchical=False)


def test_with_adaptive_resolution_the_resolver_that_is_named_folds():
    async def go():
        async with managed(strategy=KnowledgeStrategy, adaptive_resolution=True, folding_strategy="oldest-first") as manager:
            await learned(manager)
            await manager.drain()
            await check_told_once(manager, await manager.compile(room(600)))
            assert (await memory(manager).look()).cut.resolver in ("oldest-first", "by-phase")

    run(go)
