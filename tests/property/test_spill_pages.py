"""Whatever a text holds: its pages joined, its lines joined, are the text again, and every match is told once."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.agent.chunks import CHUNK, cut, line_count
from playhead.entry.frozen import freeze
from playhead.store.protocol import WholeStore
from tests.unit.agent.spill_lab import ask, over, parsed, shrunk, spilling
from tests.unit.tape.opened import KINDS

SEEDS = st.text(st.characters() | st.sampled_from("😀👩‍👩‍👧\u0301漢字é\ud83d\ude00\ud800\n\n \x00"), min_size=1, max_size=30)
MANY = 30_000_000 if os.environ.get("PLAYHEAD_SOAK") else 1_000_000
TEXTS = st.tuples(SEEDS, st.integers(1, 4_000), SEEDS, st.integers(0, 4_000)).map(lambda made: freeze((made[0] * made[1] + made[2] * made[3])[:120_000]))


def run(text: str, scenario: object) -> None:
    async def go() -> None:
        spill, tape = spilling(threshold=1)
        await shrunk(spill, tape, text + "." * 4)
        await scenario(tape, (await spill.handles(tape))[0], text + "." * 4)  # type: ignore[operator]

    anyio.run(go)


@given(TEXTS)
def test_chunks_joined_are_the_text_and_none_is_too_large(text: str):
    parts = list(cut(text))
    assert "".join(part.text for part in parts) == text
    assert all(len(part.text.encode("utf-8", "surrogatepass")) <= CHUNK for part in parts)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert [part.line for part in parts] == [1 + text[: sum(len(before.text) for before in parts[:n])].count("\n") for n in range(len(parts))]
    assert line_count(text) == len(text.split("\n")) - text.endswith("\n")


@settings(max_examples=30)
@given(TEXTS, st.integers(1, 5), st.booleans())
def test_pages_joined_are_the_text(text: str, count: int, from_end: bool):
    async def scenario(tape: object, found: object, whole: str) -> None:
        pages, cursor = [], "0"
        while cursor != "none":
            page = parsed(await ask(tape, handle=found.handle, cursor=int(cursor), count=count, from_end=from_end))  # type: ignore[arg-type, attr-defined]
            assert (page["complete"] == "true") is (page["next_cursor"] == "none")
            pages.append(page["content"])
            cursor = page["next_cursor"]
        assert "".join(reversed(pages) if from_end else pages) == whole

    run(text, scenario)


@settings(max_examples=30)
@given(TEXTS, st.integers(1, 3_000))
def test_lines_joined_are_the_text_where_none_is_longer_than_a_page(text: str, lines: int):
    text = "\n".join(line[:3_000] for line in text.split("\n"))

    async def scenario(tape: object, found: object, whole: str) -> None:
        pages, line = [], "1"
        while line != "none" and len(pages) < 200:
            page = parsed(await ask(tape, handle=found.handle, line=int(line), lines=lines))  # type: ignore[arg-type, attr-defined]
            assert len(page["content"].encode("utf-8", "surrogatepass")) <= CHUNK
            pages.append(page["content"])
            line = page["next_line"]
        assert "".join(pages) == (whole if line == "none" else whole[: sum(map(len, pages))])

    run(text, scenario)


@settings(max_examples=40)
@given(TEXTS, st.text(st.sampled_from("ab.\n😀"), min_size=1, max_size=6))
def test_every_match_is_told_once(text: str, pattern: str):
    text = "".join("ab\n😀"[ord(letter) % 4] for letter in text)

    async def scenario(tape: object, found: object, whole: str) -> None:
        number, cursor = 0, "0"
        while cursor != "none":
            page = parsed(await ask(tape, handle=found.handle, pattern=pattern, cursor=int(cursor)))  # type: ignore[arg-type, attr-defined]
            number += int(page["matches"].split()[0])
            cursor = page["next_cursor"]
        overlapping = sum(whole.startswith(pattern, at) for at in range(len(whole)))
        assert whole.count(pattern) <= number <= overlapping

    run(text, scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_a_very_long_text_joined_are_the_text(kind: str, tmp_path: Path):
    text = "".join(f"{number}: émoji 😀 漢字 \ud800\n" for number in range(MANY // 34))

    async def scenario(store: WholeStore) -> None:
        spill, tape = spilling(store)
        await shrunk(spill, tape, text)
        (found,) = await spill.handles(tape)
        pages, cursor = [], "0"
        while cursor != "none":
            page = parsed(await ask(tape, handle=found.handle, cursor=int(cursor), count=4))
            pages.append(page["content"])
            cursor = page["next_cursor"]
        assert "".join(pages) == text == await spill.text(tape, found.handle)
        middle = found.lines // 2
        assert parsed(await ask(tape, handle=found.handle, line=middle, lines=1))["content"].startswith(f"{middle - 1}: ")

    over(kind, tmp_path, scenario)
