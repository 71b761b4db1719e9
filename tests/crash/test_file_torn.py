"""A torn end costs what was never acknowledged, and nothing else; damage is mended or refused, never passed over."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest

from playhead.errors import StoreDamaged
from playhead.store.file.store import FileTapeStore
from playhead.store.file.upkeep.salvage import LOST, salvage
from playhead.store.query import TapeQuery
from tests.crash.file_stage import TAPE, TEXTS, Ear, note, tape_file, texts_in, written
from tests.crash.naive import NaiveFile


def ends_of_lines(content: bytes) -> list[int]:
    """Return where each line's last byte before its newline ends."""
    return [place for place, byte in enumerate(content) if byte == 0x0A]


def whole_after_cut(content: bytes, cut: int) -> int:
    """Return how many lines a file still holds whole, a last newline not counted as part of a line."""
    return sum(end <= cut for end in ends_of_lines(content))


def cuts_of_the_last_two_lines(content: bytes) -> range:
    return range(ends_of_lines(content)[-3] + 1, len(content) + 1)


def test_every_cut_of_the_last_two_lines_keeps_the_whole_lines_and_two_more_appends(tmp_path: Path):
    content = written(tmp_path / "made", *([text] for text in TEXTS))
    ear = Ear()

    async def sweep() -> None:
        async with FileTapeStore(tmp_path, durability="process", on_finding=ear) as store:
            for cut in cuts_of_the_last_two_lines(content):
                tape = f"cut-{cut}"
                tape_file(tmp_path, tape).write_bytes(content[:cut])
                ear.heard.clear()
                for text in ("new 1", "new 2 ü"):
                    await store.append(tape, note(text))
                kept = whole_after_cut(content, cut)
                assert await texts_in(store, tape) == [*TEXTS[:kept], "new 1", "new 2 ü"], cut
                assert len(ear.heard) == (content[:cut] != b"" and not content[:cut].endswith(b"\n")), cut

    anyio.run(sweep)


def test_every_cut_of_a_batch_keeps_all_of_it_or_nothing(tmp_path: Path):
    content = written(tmp_path / "made", ["before"], TEXTS)
    ends = ends_of_lines(content)

    async def sweep() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            for cut in range(ends[0], len(content) + 1):
                tape = f"cut-{cut}"
                tape_file(tmp_path, tape).write_bytes(content[:cut])
                whole = cut >= ends[-1]
                assert await texts_in(store, tape) == ["before", *(TEXTS if whole else ())], cut
                await store.append(tape, note("new"))
                assert await texts_in(store, tape) == ["before", *(TEXTS if whole else ()), "new"], cut

    anyio.run(sweep)


def test_a_store_that_does_not_look_at_the_end_fails_the_sweep(tmp_path: Path):
    first = NaiveFile(tmp_path / "made")
    for text in TEXTS:
        first.append(text)
    content = (tmp_path / "made").read_bytes()
    lost = 0
    for cut in cuts_of_the_last_two_lines(content):
        path = tmp_path / f"cut-{cut}"
        path.write_bytes(content[:cut])
        store = NaiveFile(path)
        for text in ("new 1", "new 2 ü"):
            store.append(text)
        kept = whole_after_cut(content, cut)
        lost += [text for _, text in NaiveFile(path).read()] != [*TEXTS[:kept], "new 1", "new 2 ü"]
    assert lost > len(cuts_of_the_last_two_lines(content)) * 0.9


def flips(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the content with each single bit flipped, behind the place of that bit's byte."""
    for place, byte in enumerate(content):
        for bit in range(8):
            yield place, content[:place] + bytes([byte ^ 1 << bit]) + content[place + 1 :]


def line_starts(content: bytes) -> list[int]:
    return [0, *(end + 1 for end in ends_of_lines(content))]


async def outcome(store: FileTapeStore, tape: str) -> Sequence[str] | int:
    """Return what a tape says, or where it is said to be damaged."""
    try:
        return await texts_in(store, tape)
    except StoreDamaged as damage:
        return int(str(damage.details["offset"]))


def test_every_flipped_bit_is_mended_or_refused_with_its_place(tmp_path: Path):
    texts = ["a b", "ü@*J", "c\n"]
    content = written(tmp_path / "made", *([text] for text in texts))
    ear = Ear()
    refused = 0

    async def sweep() -> None:
        nonlocal refused
        async with FileTapeStore(tmp_path, durability="process", on_finding=ear) as store:
            for number, (place, flipped) in enumerate(flips(content)):
                tape, path = f"flip-{number}", tape_file(tmp_path, f"flip-{number}")
                path.write_bytes(flipped)
                ear.heard.clear()
                found = await outcome(store, tape)
                if isinstance(found, int):
                    refused += 1
                    starts = line_starts(content)
                    line = max(start for start in starts if start <= place)
                    assert line <= found <= place + 1, (number, place)
                    assert path.read_bytes() == flipped, (number, place)
                else:
                    assert found == texts and ear.heard, (number, place)

    anyio.run(sweep)
    assert refused > len(content) * 8 * 0.95


def test_an_append_behind_damage_neither_hides_nor_spreads_it(tmp_path: Path):
    texts = ["a", "b", "c"]
    content = written(tmp_path / "made", *([text] for text in texts))

    async def sweep() -> None:
        async with FileTapeStore(tmp_path, durability="process", on_finding=Ear()) as store:
            for number, (place, flipped) in enumerate(flips(content)):
                if number % 7:
                    continue
                tape, path = f"flip-{number}", tape_file(tmp_path, f"flip-{number}")
                path.write_bytes(flipped)
                try:
                    await store.append(tape, note("new"))
                except StoreDamaged:
                    assert path.read_bytes() == flipped, (number, place)
                    continue
                found = await outcome(store, tape)
                assert isinstance(found, int) or found == [*texts, "new"], (number, place)

    anyio.run(sweep)


def test_salvage_keeps_every_other_line_of_a_file_with_a_flipped_bit(tmp_path: Path):
    texts = [f"text {i} ü" for i in range(4)]
    content = written(tmp_path / "made", *([text] for text in texts))

    async def read(tape: str) -> list[str]:
        async with FileTapeStore(tmp_path) as store:
            entries = await store.fetch_all(TapeQuery(tape=tape))
            assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
            return [LOST if entry.payload.get("name") == LOST else entry.payload["content"] for entry in entries]

    for number, (place, flipped) in enumerate(flips(content)):
        if number % 61 and place < len(content) - 1:
            continue
        path = tape_file(tmp_path, f"flip-{number}")
        path.write_bytes(flipped)
        report = salvage(path)
        damaged = {sum(end < place for end in ends_of_lines(content)) + n for n in (0, 1 if content[place] == 0x0A else 0)}
        wanted = [LOST if i in damaged else text for i, text in enumerate(texts)]
        while wanted[-1] == LOST:
            wanted.pop()
        found = anyio.run(read, path.stem)
        if place == len(content) - 1:
            wanted = texts
        assert found == wanted, (number, place)
        assert report.kept == sum(text != LOST for text in wanted)
        assert report.original is not None and report.original.read_bytes() == flipped
        assert report.lost and all(loss.offset <= place for loss in report.lost)


def test_salvage_leaves_a_sound_file_alone(tmp_path: Path):
    content = written(tmp_path, ["a"], ["b", "c"])
    report = salvage(tape_file(tmp_path))
    assert (report.kept, report.lost, report.original) == (3, (), None)
    assert tape_file(tmp_path).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["t.jsonl"]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_line_that_was_taken_out_is_missed(tmp_path: Path, missing: int):
    content = written(tmp_path, ["a"], ["b"], ["c"], ["d"])
    lines = content.splitlines(keepends=True)
    tape_file(tmp_path).write_bytes(b"".join(line for i, line in enumerate(lines) if i != missing))

    async def read() -> None:
        async with FileTapeStore(tmp_path) as store:
            await texts_in(store)

    with pytest.raises(StoreDamaged, match=f"entry {missing + 1} should stand there, not {missing + 2}"):
        anyio.run(read)


def test_a_line_of_another_tape_is_noticed(tmp_path: Path):
    written(tmp_path / "other", ["x"], ["y"], ["z"])
    shutil.copy(tape_file(tmp_path / "other"), tmp_path / "other.jsonl")
    content = written(tmp_path, ["a"], ["b"], ["c"])
    foreign = tape_file(tmp_path / "other").read_bytes().splitlines(keepends=True)
    tape_file(tmp_path).write_bytes(b"".join([*content.splitlines(keepends=True)[:2], foreign[0]]))

    async def read() -> None:
        async with FileTapeStore(tmp_path) as store:
            assert (await store.head(TAPE)).id == 1
            await texts_in(store)

    with pytest.raises(StoreDamaged):
        anyio.run(read)
