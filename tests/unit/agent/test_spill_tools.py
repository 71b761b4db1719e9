"""A model reads what was spilled in bounded pages: chunks, lines, matches; what is wrong it is told in words."""

from __future__ import annotations

import pytest

import playhead as ph
from playhead.agent.chunks import CHUNK, cut
from playhead.agent.spill_tools import IN_CHUNK, MATCHES, UNAVAILABLE
from playhead.agent.tools import ToolContext
from playhead.model.protocol import ToolSpec
from tests.unit.agent.spill_lab import ask, called, parsed, run, shrunk, spilling

LONG = "".join(f"{number}: line with émoji 😀\n" for number in range(1, 8_001))
PARTS = [one.text for one in cut(LONG)]


async def spilled(text: str = LONG) -> tuple[ph.Tape, str]:
    spill, tape = spilling(threshold=1)
    await shrunk(spill, tape, text)
    return tape, (await spill.handles(tape))[0].handle


def test_a_model_sees_two_tools_under_names_without_dots():
    specs = [tool.spec for tool in ph.SpillSidecar(threshold=1).tools()]
    assert [spec.name for spec in specs] == ["spill_read", "spill_list"]
    assert all(isinstance(spec, ToolSpec) and spec.description for spec in specs)
    properties = specs[0].parameters["properties"]
    assert {name: properties[name]["default"] for name in ("cursor", "count", "from_end")} == {"cursor": 0, "count": 1, "from_end": False}
    assert specs[0].parameters["required"] == ["handle"]


def test_a_page_says_how_large_the_text_is_which_chunks_it_holds_and_how_to_go_on():
    async def go() -> None:
        tape, handle = await spilled()
        page = parsed(await ask(tape, handle=handle, cursor=2, count=3))
        head = f"[spilled tool result {handle}: {len(LONG.encode()):,} bytes in {len(PARTS)} chunks, 8,000 lines]"
        assert page == {"head": head, "chunks": "2-4", "next_cursor": "5", "complete": "false", "content": "".join(PARTS[2:5])}

    run(go)


def test_a_page_has_four_chunks_at_most():
    async def go() -> None:
        tape, handle = await spilled()
        page = parsed(await ask(tape, handle=handle, count=1_000))
        assert (page["chunks"], page["content"]) == ("0-3", "".join(PARTS[:4]))

    run(go)


def test_pages_may_be_counted_from_the_end():
    async def go() -> None:
        tape, handle = await spilled()
        last = parsed(await ask(tape, handle=handle, from_end=True, count=2))
        assert (last["chunks"], last["next_cursor"], last["content"]) == (f"{len(PARTS) - 2}-{len(PARTS) - 1}", "2", "".join(PARTS[-2:]))
        first = parsed(await ask(tape, handle=handle, from_end=True, cursor=len(PARTS) - 1, count=4))
        assert (first["chunks"], first["next_cursor"], first["complete"], first["content"]) == ("0-0", "none", "true", PARTS[0])

    run(go)


@pytest.mark.parametrize("from_end", [False, True])
def test_behind_the_end_there_is_nothing_more(from_end: bool):
    async def go() -> None:
        tape, handle = await spilled()
        page = parsed(await ask(tape, handle=handle, cursor=len(PARTS), from_end=from_end))
        assert (page["chunks"], page["next_cursor"], page["complete"], page["content"]) == ("none", "none", "true", "")

    run(go)


WRONG = {
    "cursor": ({"cursor": -1}, "`cursor` must be >= 0."),
    "count": ({"count": 0}, "`count` must be >= 1."),
    "both": ({"cursor": -1, "count": 0}, "`cursor` must be >= 0. `count` must be >= 1."),
    "line": ({"line": 0}, "`line` must be >= 1."),
    "lines": ({"line": 1, "lines": 0}, "`lines` must be >= 1."),
    "no pattern": ({"pattern": ""}, "`pattern` must have 1 to 1000 characters."),
    "a long pattern": ({"pattern": "x" * 1_001}, "`pattern` must have 1 to 1000 characters."),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_words(arguments: dict[str, object], told: str):
    async def go() -> None:
        tape, handle = await spilled()
        assert await ask(tape, handle=handle, **arguments) == told

    run(go)


def test_a_handle_that_nobody_gave_out_is_told():
    async def go() -> None:
        tape, _ = await spilled()
        for handle in ("nobody", "", "a/manifest", "__x"):
            assert await ask(tape, handle=handle) == f"[no spilled tool result for handle '{handle}']"
        _, empty = spilling()
        assert await ask(empty, handle="x") == "[no spilled tool result for handle 'x']"
        assert await ask(empty, "spill.list") == "0 spilled tool results"

    run(go)


def test_without_the_sidecar_nothing_can_be_read():
    async def go() -> None:
        tape, handle = await spilled()
        bare = ph.Tape(tape.store, "t")
        assert await ask(bare, handle=handle) == await ask(bare, "spill.list") == UNAVAILABLE == "spill sidecar unavailable in this context."

    run(go)


def test_a_sidecar_may_have_another_name():
    async def go() -> None:
        spill = ph.SpillSidecar(threshold=1, name="overflow")
        tape = ph.Tape(ph.InMemoryTapeStore(), "t", sidecars=[spill])
        await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        answer = await spill.tools()[0].run({"handle": found.handle}, context=called(tape))
        assert parsed(answer)["content"] == PARTS[0]

    run(go)


def test_lines_are_read_whole_from_anywhere():
    async def go() -> None:
        tape, handle = await spilled()
        lines = LONG.splitlines(keepends=True)
        for line in (1, 2, 500, 667, 4_000, 7_999, 8_000):
            page = parsed(await ask(tape, handle=handle, line=line, lines=3))
            assert page["content"] == "".join(lines[line - 1 : line + 2]), line
            last = min(line + 2, 8_000)
            assert (page["lines"], page["next_line"], page["complete"]) == (f"{line}-{last}", *(("none", "true") if last == 8_000 else (str(last + 1), "false")))
        assert parsed(await ask(tape, handle=handle, line=8_001))["lines"] == "none"

    run(go)


def test_lines_fill_a_chunk_at_most():
    async def go() -> None:
        tape, handle = await spilled()
        page = parsed(await ask(tape, handle=handle, line=1, lines=100_000))
        size = len(page["content"].encode())
        assert CHUNK - 40 < size <= CHUNK and page["content"].endswith("\n")
        assert LONG.startswith(page["content"]) and page["next_line"] == str(page["content"].count("\n") + 1)

    run(go)


def test_a_line_longer_than_a_chunk_is_cut_and_says_where_it_goes_on():
    """R-231: few lines, each of a megabyte."""
    text = "short\n" + "a" * 20_000 + "b" * 1_000_000 + "\nend"

    async def go() -> None:
        tape, handle = await spilled(text)
        page = parsed(await ask(tape, handle=handle, line=2, lines=5))
        assert page["content"] == "a" * CHUNK
        assert (page["lines"], page["next_cursor"], page["next_line"], page["complete"]) == ("2-2, cut: it goes on in chunk 1", "1", "3", "false")
        onward = parsed(await ask(tape, handle=handle, cursor=1))["content"]
        assert onward.startswith("a" * 3_000) and onward.endswith("b")
        assert parsed(await ask(tape, handle=handle, line=3))["content"] == "end"

    run(go)


def test_a_pattern_is_found_with_its_line_and_what_stands_around_it():
    text = "first\nthe quick brown fox\n" + "x" * 50_000 + "needle" + "y" * 50_000 + "\nlast needle"

    async def go() -> None:
        tape, handle = await spilled(text)
        page = parsed(await ask(tape, handle=handle, pattern="quick"))
        assert (page["matches"], page["next_cursor"], page["complete"], page["content"]) == ("1 in chunks 0-6", "none", "true", "line 2, chunk 0: the quick brown fox")
        page = parsed(await ask(tape, handle=handle, pattern="needle"))
        assert page["content"].split("\n") == [f"line 3, chunk 3: {'x' * 80}needle{'y' * 80}", "line 4, chunk 6: last needle"]
        assert parsed(await ask(tape, handle=handle, pattern="Needle"))["matches"] == "0 in chunks 0-6"
        assert parsed(await ask(tape, handle=handle, pattern="needle", cursor=4))["content"] == "line 4, chunk 6: last needle"
        assert parsed(await ask(tape, handle=handle, pattern="needle", cursor=99))["matches"] == "0 in no chunks"

    run(go)


def test_a_pattern_may_lie_across_chunks_and_lines():
    text = "a" * (CHUNK - 3) + "need\nle" + "b" * CHUNK

    async def go() -> None:
        tape, handle = await spilled(text)
        page = parsed(await ask(tape, handle=handle, pattern="need\nle"))
        assert page["content"] == f"line 1, chunk 1: {'a' * 80}need\\nle{'b' * 80}"
        assert parsed(await ask(tape, handle=handle, pattern="need\nle", cursor=1))["content"] == page["content"]

    run(go)


def test_many_matches_are_counted_shown_in_part_and_paged():
    async def go() -> None:
        tape, handle = await spilled()
        found, shown, cursor = 0, 0, "0"
        while cursor != "none":
            page = parsed(await ask(tape, handle=handle, pattern="line with", cursor=int(cursor)))
            number = int(page["matches"].split()[0])
            assert number >= MATCHES or page["complete"] == "true"
            assert len(page["content"]) < 20_000
            found += number
            shown += sum(line.startswith("line ") for line in page["content"].split("\n"))
            cursor = page["next_cursor"]
        assert found == 8_000 and shown == len(PARTS) * IN_CHUNK
        assert "more in chunk 0)" in parsed(await ask(tape, handle=handle, pattern="line with"))["content"]

    run(go)


def test_handles_are_listed_the_newest_first_and_paged():
    async def go() -> None:
        spill, tape = spilling(threshold=1)
        for number in range(60):
            await shrunk(spill, tape, f"text {number}\n", name=f"tool{number}")
        first = (await ask(tape, "spill.list")).split("\n")
        assert first[0] == "60 spilled tool results" and first[-1] == "next_cursor: 20" and len(first) == 22
        newest = (await spill.handles(tape))[0]
        assert first[1] == f"- {newest.handle}  tool59  8 bytes, 1 line  {newest.date}"
        assert len((await ask(tape, "spill.list", count=1_000)).split("\n")) == 52
        rest = (await ask(tape, "spill.list", cursor=50, count=50)).split("\n")
        assert len(rest) == 11 and "tool0 " in rest[-1]
        assert await ask(tape, "spill.list", cursor=-1) == "`cursor` must be >= 0."

    run(go)


def test_an_answer_needs_the_context_of_a_run():
    async def go() -> None:
        (read, _) = ph.SpillSidecar(threshold=1).tools()
        with pytest.raises(ph.InvalidInput, match="requires context"):
            await read.run({"handle": "x"})
        tape, handle = await spilled()
        assert parsed(await read.run({"handle": handle}, context=ToolContext(tape=tape)))["chunks"] == "0-0"

    run(go)
