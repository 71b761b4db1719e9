"""What a model reads of its own memory: the summaries it finds, and what each was made of, down to the words that were said."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from playhead.agent import memory_tools as tools
from playhead.agent.agent import Agent
from playhead.agent.memory_tools import memory_tools
from playhead.agent.toolbox import Toolbox
from playhead.errors import InvalidInput
from playhead.model.scripted import ScriptedModel, call
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.view.tokens import default_counter
from tests.unit.agent.runs_lab import turn
from tests.unit.agent.tools_lab import answer, context_on, run
from tests.unit.prompt.folding.managed import SMALL, managed, memory, talk, told
from tests.unit.prompt.folding.managed import call as call_in


async def ask(manager, tool, /, **arguments):
    done = await answer(memory_tools(manager), tool, arguments, context=context_on(manager.tape))
    assert not done.result.is_error, done.result.content
    return done.result.content


def test_a_model_sees_them_under_names_without_dots_and_each_argument_is_described():
    found = memory_tools(AutobiographicalStrategy())
    assert list(Toolbox(found)) == ["memory.search", "memory.expand"] and [tool.model_name for tool in found] == ["memory_search", "memory_expand"]
    assert all(p.get("description") for tool in found for p in tool.parameters["properties"].values())


def test_they_are_made_of_a_strategy_or_a_manager_that_folds():
    async def go():
        async with managed(strategy=AutobiographicalStrategy) as manager:
            assert len(memory_tools(manager)) == 2
            await manager.set_strategy(PassthroughStrategy())
            with pytest.raises(InvalidInput, match="memory_tools"):
                memory_tools(manager)
        with pytest.raises(InvalidInput):
            memory_tools(PassthroughStrategy())

    run(go)


def test_a_search_tells_where_each_memory_stands_the_best_first():
    async def go():
        async with managed(writer=told("The gateway was down. " * 20), merge_threshold=3) as manager:
            assert await ask(manager, "memory_search") == "[nothing has been summarised yet]"
            await talk(manager, 60)
            await manager.drain()
            lines = (await ask(manager, "memory_search", query="GATEWAY", limit=3)).split("\n")
            assert len(lines) == 3 and all(re.match(r"L\d-\d+ \(\d{4}-\d\d-\d\d \d\d:\d\d to .*, \d+ units\): The gateway was down\.", line) for line in lines)
            assert all(len(line) < tools.EXCERPT + 100 and line.endswith(" ...") for line in lines)
            assert (await ask(manager, "memory_search", query="nobody said this")).startswith("[no memory holds these words")
            assert len((await ask(manager, "memory_search")).split("\n")) == 8

    run(go)


def test_a_memory_made_of_others_shows_them_and_each_of_these_the_words():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 8)
            await call_in(manager, 7, result="the pong of seven")
            await talk(manager, 50, start=8)
            await manager.drain()
            high = min([node async for node in memory(manager).nodes() if node.level == 2], key=lambda node: node.first)
            shown = await ask(manager, "memory_expand", id=high.id)
            children = re.findall(r"^(L1-\d+) \(", shown, re.MULTILINE)
            assert len(children) == len(high.children) and shown.startswith(f"[{high.id}, entries {high.first}-{high.last}, page 1 of 1]")
            words = "".join([await ask(manager, "memory_expand", id=child) for child in children])
            assert all(f"Message {number}:" in words for number in range(8))
            if high.last >= 10:
                assert "the pong of seven" in words and 'calls ping({"host":"gw-7"})' in words
            raw = await ask(manager, "memory_expand", id=high.id, raw=True)
            assert "Message 0:" in raw and "L1-" not in raw.split("\n", 1)[1]

    run(go)


def test_long_ones_come_page_by_page_and_no_page_is_longer_than_it_may_be():
    async def go():
        async with managed(target_chunk_tokens=9_000, recent_window_tokens=0, l1_holdback_chunks=0) as manager:
            for number in range(30):
                await manager.add_message("User", f"Part {number}: " + " ".join(f"word{n}" for n in range(250)))
            await manager.drain()
            node = (await memory(manager).look()).roots[0]
            pages, page = [], 1
            while True:
                shown = await ask(manager, "memory_expand", id=node.id, page=page)
                pages.append(shown)
                assert default_counter().count(shown) <= tools.PAGE + 200
                if f"page={page + 1} goes on" not in shown:
                    break
                page += 1
            assert len(pages) > 2
            said = "".join(pages)
            assert all(f"Part {number}:" in said for number in range(node.units))
            assert "there are" in await ask(manager, "memory_expand", id=node.id, page=page + 1)

    run(go)


def test_a_message_longer_than_a_page_is_shown_in_pieces():
    async def go():
        async with managed(recent_window_tokens=0, target_chunk_tokens=10) as manager:
            await manager.add_message("User", "x" * (tools.LONGEST * 3))
            await talk(manager, 20)
            await manager.drain()
            node = (await memory(manager).look()).roots[0]
            while node.children:
                node = (await memory(manager).children(node))[0]
            said = ""
            for page in range(1, 9):
                shown = await ask(manager, "memory_expand", id=node.id, page=page)
                said += shown
                if "goes on" not in shown:
                    break
            assert said.count("x") >= tools.LONGEST * 3

    run(go)


def test_too_much_is_not_shown_word_for_word(monkeypatch):
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            high = (await memory(manager).look()).roots[0]
            assert high.level > 1
            monkeypatch.setattr(tools, "RAW", high.raw_tokens - 1)
            assert "too many to show" in await ask(manager, "memory_expand", id=high.id, raw=True)
            assert "too many" not in await ask(manager, "memory_expand", id=high.id)

    run(go)


def test_a_memory_that_there_is_none_of_is_said_so():
    async def go():
        async with managed() as manager:
            assert await ask(manager, "memory_expand", id="L1-9") == "[there is no memory 'L1-9'; memory_search lists them]"

    run(go)


def test_an_agent_that_remembers_has_them_and_pages_back_to_what_was_said():
    async def go():
        strategy = AutobiographicalStrategy(compression_model="extractive", **{**SMALL, "recent_window_tokens": 300})
        agent = Agent(store=InMemoryTapeStore(), strategy=strategy, budget=Budget(4_000, reserve_for_response=0))
        for number in range(20):
            await turn(agent, f"Question {number}: the code of gateway {number} is {number * 7919}.", ScriptedModel([f"Noted {number}."]))
        await agent.settled()
        heard = []

        def result(request):
            heard.append(next(m.text for m in reversed(request.messages) if m.role == "tool"))
            return heard[-1]

        def expand(request):
            return call("memory_expand", id=re.search(r"L1-\d+", result(request))[0])

        def say(request):
            result(request)
            return "Found."

        await turn(agent, "What was the code of gateway 2?", ScriptedModel([call("memory_search", query="gateway 2"), expand, say]))
        assert heard[0].startswith("L1-") and "Question 2: the code of gateway 2 is 15838." in heard[1]
        assert {"memory.search", "memory.expand"} <= set(agent.tools)
        await agent.aclose()

    run(go)


@pytest.mark.parametrize("words", ["wort " * 40_000, "👩‍👩‍👧" * 20_000, "é" * 100_000, "\n" * 50_000], ids=["words", "families", "one word", "lines"])
def test_a_text_that_fills_pages_is_cut_into_them_and_nothing_of_it_is_lost(words):
    pages, counter = [], default_counter()
    while not pages or f"page={len(pages) + 1} goes on" in pages[-1]:
        pages.append(tools._paged(["L1-1:\n" + words, "the end"], len(pages) + 1, title="L2-3, entries 1-999999", counter=counter))
    assert len(pages) > 1 and all(counter.count(page) <= tools.PAGE for page in pages)
    assert "".join(pages).count(words[0]) >= words.count(words[0]) and "the end" in pages[-1]


def test_a_memory_made_of_long_ones_comes_page_by_page():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            high = (await memory(manager).look()).roots[0]
            assert high.level > 1
            counter = default_counter()
            whole = await ask(manager, "memory_expand", id=high.id)
            parts = await memory(manager).children(high)
            long = [tools._whole(replace(part, text=part.text + " and so on" * 5_000)) for part in parts]
            assert all(tools._whole(part) in whole for part in parts)
            assert counter.count(tools._paged(long, 1, title=high.id, counter=counter)) <= tools.PAGE

    run(go)


@pytest.mark.parametrize("id", ["\ud800", "L1-\udfff", "a\nb", "\x00", "x" * 100_000, ""], ids=["surrogate", "half an id", "line", "null", "long", "empty"])
def test_an_odd_id_is_answered_in_words_that_can_be_printed(id):
    async def go():
        async with managed() as manager:
            shown = await ask(manager, "memory_expand", id=id)
            assert shown.startswith("[there is no memory ") and shown.isprintable() and len(shown) < 200

    run(go)
