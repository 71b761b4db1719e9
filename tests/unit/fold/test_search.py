"""Searching what a memory tells: by words, by pattern, and by time."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from playhead.errors import InvalidDate, InvalidInput
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.search import get_summaries_in_range, search_summaries
from tests.unit.fold.telling import at, leaf, merge, over, talked, tall, tell, write
from tests.unit.tape.opened import run, use


@pytest.fixture(autouse=True)
def in_memory(tmp_path: Path) -> None:
    use("memory", tmp_path)


TEXTS = ("We ate fish. Fish again.", "The FISH was stale.", "No animals here.", "Straße und Fisch: fish!")


async def told() -> FoldMemory:
    """Return a memory of four summaries of level 1, the first two of which are merged."""
    memory = FoldMemory(await talked(8))
    entries = await memory.tape.query().all()
    leaves = [await write(memory, leaf(entries[2 * n : 2 * n + 2], text, index=("src/fish.py",) if n == 2 else ())) for n, text in enumerate(TEXTS)]
    await write(memory, over(leaves[:2], "We ate fish, twice."))
    return memory


def found(hits):
    return [(hit.node.id, hit.matches) for hit in hits]


def test_the_most_matches_come_first_then_the_newest():
    async def go() -> None:
        memory = await told()
        assert found(await search_summaries(memory, text="fish")) == [("L1-4", 1), ("L1-3", 1), ("L2-5", 1)]
        assert found(await search_summaries(memory, text="FISH", include_merged=True)) == [("L1-1", 2), ("L1-4", 1), ("L1-3", 1), ("L2-5", 1), ("L1-2", 1)]

    run(go)


def test_only_summaries_that_are_part_of_no_other_unless_those_are_asked_for():
    async def go() -> None:
        memory = await told()
        assert found(await search_summaries(memory)) == [("L1-4", 1), ("L1-3", 1), ("L2-5", 1)]
        assert len(await search_summaries(memory, include_merged=True)) == 5

    run(go)


def test_names_that_are_listed_below_a_summary_are_searched_too():
    async def go() -> None:
        memory = await told()
        assert found(await search_summaries(memory, text="src/")) == [("L1-3", 1)]
        assert found(await search_summaries(memory, regex=r"\.py$")) == [("L1-3", 1)]

    run(go)


def test_matches_do_not_overlap_and_case_folds_as_in_its_language():
    async def go() -> None:
        memory = FoldMemory(await talked(2))
        await write(memory, leaf(await memory.tape.query().all(), "aaaa STRASSE"))
        assert found(await search_summaries(memory, text="aa")) == [("L1-1", 2)]
        assert found(await search_summaries(memory, text="straße")) == [("L1-1", 1)]

    run(go)


def test_a_regex_wins_over_a_text():
    async def go() -> None:
        memory = await told()
        assert found(await search_summaries(memory, text="fish", regex="stale|animals", include_merged=True)) == [("L1-3", 1), ("L1-2", 1)]
        assert found(await search_summaries(memory, regex=re.compile("FISH"), include_merged=True)) == [("L1-2", 1)]

    run(go)


@pytest.mark.parametrize("regex", ["(", "[", 7, b"fish", re.compile(b"fish"), "(?P<a>.)(?P<a>.)", "a{99999999999999999999}"])
def test_a_regex_that_is_none_is_refused(regex):
    async def go() -> None:
        with pytest.raises(InvalidInput, match="no regular expression"):
            await search_summaries(await told(), regex=regex)

    run(go)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None])
def test_a_limit_that_is_none_is_refused(limit):
    async def go() -> None:
        with pytest.raises(InvalidInput, match="limit"):
            await search_summaries(await told(), limit=limit)

    run(go)


def test_a_search_keeps_the_best_and_the_levels_that_are_asked_for():
    async def go() -> None:
        memory = await told()
        assert found(await search_summaries(memory, text="fish", include_merged=True, limit=2)) == [("L1-1", 2), ("L1-4", 1)]
        assert found(await search_summaries(memory, levels=[2], include_merged=True)) == [("L2-5", 1)]
        assert await search_summaries(memory, levels=[]) == []
        assert await search_summaries(memory, text="whale") == []

    run(go)


def test_summaries_of_a_time_come_with_what_they_are_part_of():
    async def go() -> None:
        memory = await told()
        assert [(p.node.id, p.parent) for p in await get_summaries_in_range(memory)] == [("L2-5", None), ("L1-1", "L2-5"), ("L1-2", "L2-5"), ("L1-3", None), ("L1-4", None)]
        assert [p.node.id for p in await get_summaries_in_range(memory, since=at(2), until=at(3))] == ["L2-5", "L1-1", "L1-2"]
        assert [p.node.id for p in await get_summaries_in_range(memory, since=at(5), level=1)] == ["L1-3", "L1-4"]
        assert [p.node.id for p in await get_summaries_in_range(memory, until=at(1))] == ["L2-5", "L1-1"]
        assert await get_summaries_in_range(memory, since=at(9)) == []

    run(go)


def test_a_summary_inside_another_is_found_whatever_time_that_one_says():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        entries = await memory.tape.query().all()
        old = await write(memory, replace(leaf(entries[:2]), since=at(-90), until=at(-80)))
        await merge(memory, [old, *await tell(memory, (3, 4))])
        assert [p.node.id for p in await get_summaries_in_range(memory, until=at(-85), level=1)] == ["L1-1"]

    run(go)


def test_instants_may_be_written_as_text():
    async def go() -> None:
        memory, _ = await tall(2)
        everything = await get_summaries_in_range(memory)
        assert await get_summaries_in_range(memory, since="2026-01-01", until="2026-01-01") == everything
        assert await get_summaries_in_range(memory, since="2026-01-01T00:01:00", until="2026-01-01T00:04:00+00:00") == everything
        assert await get_summaries_in_range(memory, since=at(1).replace(tzinfo=None), until=at(4).astimezone(timezone(timedelta(hours=5)))) == everything
        assert await get_summaries_in_range(memory, since="2026-01-02") == [] == await get_summaries_in_range(memory, until="2025-12-31")

    run(go)


def test_a_range_that_ends_before_it_begins_is_refused():
    async def go() -> None:
        memory = await told()
        with pytest.raises(InvalidInput, match="begins before it ends"):
            await get_summaries_in_range(memory, since=at(2), until=at(1))
        with pytest.raises(InvalidDate):
            await get_summaries_in_range(memory, since="tomorrow")
        with pytest.raises(InvalidDate):
            await get_summaries_in_range(memory, until=1234)

    run(go)
