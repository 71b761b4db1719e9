"""Results that are too large for a prompt go to the sidecar whole; what stands in their place leads to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import playhead as ph
from playhead import clock
from playhead.agent.chunks import CHUNK, cut
from playhead.entry.message import Media, ProviderItem, Text, ToolResult
from playhead.testing import FakeClock
from playhead.testing.stores import AsyncListStore
from tests.unit.agent.spill_lab import ask, called, over, parsed, run, shrunk, spilling
from tests.unit.agent.tools_lab import answer
from tests.unit.tape.opened import KINDS

LONG = "".join(f"{number}: line with émoji 😀\n" for number in range(3_000))


async def event(tape: ph.Tape, name: str) -> dict[str, Any]:
    (found,) = [entry for entry in await tape.query().kinds("event").all() if entry.payload["name"] == name]
    assert found.meta["context"] is False
    return found.payload["data"] | {"run_id": found.meta.get("run_id")}


@pytest.mark.parametrize(("threshold", "text", "spills"), [(1, "abc", False), (1, "abcd", True), (1, "äöü", False), (1, "漢字漢字", True), (10, "x" * 39, False), (10, "x" * 40, True)])
def test_a_text_of_four_characters_a_token_is_spilled_and_no_shorter_one(threshold: int, text: str, spills: bool):
    async def go() -> None:
        spill, tape = spilling(threshold=threshold)
        result = await shrunk(spill, tape, text)
        assert (result.content != text) is spills
        assert len(await spill.handles(tape)) == spills

    run(go)


def test_what_stands_in_its_place_says_where_the_text_is_how_to_read_it_and_how_it_begins_and_ends():
    async def go() -> None:
        spill, tape = spilling()
        result = await shrunk(spill, tape, LONG, is_error=True)
        (found,) = await spill.handles(tape)
        told, how, *preview = str(result.content).split("\n", 2)
        assert told == f"[spilled tool result {found.handle}: {len(LONG.encode()):,} bytes in {found.chunks} chunks, 3,000 lines]"
        assert f'spill_read(handle="{found.handle}", cursor=0, count=1, from_end=False)' in how
        assert preview == [f"{LONG[:300]}\n[... {len(LONG) - 600:,} characters left out ...]\n{LONG[-300:]}"]
        assert (result.call_id, result.is_error, result.name) == ("c", True, "shell")
        assert await spill.text(tape, found.handle) == LONG
        assert (found.tool, found.chars, found.lines) == ("shell", len(LONG), 3_000)

    run(go)


def test_the_tape_notes_what_was_spilled():
    async def go() -> None:
        spill, tape = spilling()
        await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        assert await event(tape, "spill.write") == {"status": "ok", "handle": found.handle, "bytes": found.bytes, "chunks": found.chunks, "tool": "shell", "run_id": "run-1"}
        assert await tape.read_messages() == []

    run(go)


def test_the_sidecar_holds_chunks_between_anchors_and_a_manifest_that_closes_them():
    async def go() -> None:
        spill, tape = spilling()
        await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        entries = await tape.sidecar("spill").query().all()
        *chunks, anchor, manifest = entries
        assert [entry.kind for entry in chunks] == ["anchor", "tool_result"] * found.chunks
        assert [entry.payload["name"] for entry in chunks[::2]] == [f"spill/{found.handle}/chunk/{i}" for i in range(found.chunks)]
        assert [(entry.meta["spill_handle"], entry.meta["spill_chunk"]) for entry in chunks[1::2]] == [(found.handle, i) for i in range(found.chunks)]
        assert "".join(entry.payload["results"][0] for entry in chunks[1::2]) == LONG
        assert max(len(entry.payload["results"][0].encode()) for entry in chunks[1::2]) <= CHUNK
        assert anchor.payload["name"] == f"spill/{found.handle}/manifest" and manifest.payload["name"] == "spill.manifest"
        assert manifest.payload["data"] == {"handle": found.handle, "chunks": found.chunks, "bytes": found.bytes, "chars": found.chars, "lines": 3_000, "tool": "shell"}

    run(go)


def test_chunks_are_full_and_cut_no_character():
    text = "😀" * 10_000 + "a" + "漢" * 10_000 + "\ud800" * 10
    parts = [one.text for one in cut(text)]
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    assert "".join(parts) == text
    assert max(sizes) <= CHUNK and min(sizes[:-1]) > CHUNK - 4
    assert list(cut("")) == []


def test_zero_spills_nothing_more_and_old_handles_stay_readable():
    async def go() -> None:
        spill, tape = spilling()
        await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        off = ph.SpillSidecar(threshold=0)
        quiet = ph.Tape(tape.store, "t", sidecars=[off])
        assert (await shrunk(off, quiet, LONG)).content == LONG
        assert len(await off.handles(quiet)) == 1
        assert parsed(await ask(quiet, handle=found.handle))["content"] == next(cut(LONG)).text

    run(go)


@pytest.mark.parametrize(("said", "threshold"), [("", 4_096), ("7", 7), (" 0 ", 0)])
def test_the_environment_says_the_threshold(said: str, threshold: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_SPILL_THRESHOLD", said)
    assert ph.SpillSidecar().threshold == threshold
    assert ph.SpillSidecar(threshold=5).threshold == 5


@pytest.mark.parametrize("said", ["-1", "many", "1.5"])
def test_a_threshold_that_is_none_is_refused(said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_SPILL_THRESHOLD", said)
    with pytest.raises(ph.InvalidInput, match="PLAYHEAD_SPILL_THRESHOLD"):
        ph.SpillSidecar()
    for given in (-1, True, "4"):
        with pytest.raises(ph.InvalidInput, match="a whole number of tokens from 0"):
            ph.SpillSidecar(threshold=given)  # type: ignore[arg-type]


def test_json_and_errors_are_spilled_by_their_text_and_small_ones_stay_as_they_are():
    @ph.tool
    def rows(count: int) -> dict[str, list[int]]:
        """Return rows."""
        return {"rows": list(range(count))}

    @ph.tool
    def fails() -> str:
        """Fail at length."""
        raise RuntimeError("x" * 20_000)

    async def go() -> None:
        spill, tape = spilling()
        small = await answer(rows, "rows", {"count": 3}, context=called(tape), shrink=spill.shrink)
        assert json.loads(str(small.result.content)) == small.value == {"rows": [0, 1, 2]}
        large = await answer(rows, "rows", {"count": 10_000}, context=called(tape), shrink=spill.shrink)
        failed = await answer(fails, "fails", context=called(tape), shrink=spill.shrink)
        assert large.value == {"rows": list(range(10_000))}
        newest, first = await spill.handles(tape)
        assert json.loads(await spill.text(tape, first.handle)) == large.value
        assert failed.result.is_error and newest.handle in str(failed.result.content)
        assert json.loads(await spill.text(tape, newest.handle))["details"]["tool"] == "fails"

    run(go)


def test_media_does_not_count_and_stays_beside_the_preview():
    picture = Media(kind="image", mime="image/png", data="A" * 100_000)

    async def go() -> None:
        spill, tape = spilling()
        small = (Text(text="look"), picture)
        assert (await shrunk(spill, tape, small)).content == small
        result = await shrunk(spill, tape, (Text(text=LONG), picture, Text(text="end")))
        preview, kept = result.content
        (found,) = await spill.handles(tape)
        assert kept == picture and isinstance(preview, Text) and "AAAA" not in preview.text
        assert await spill.text(tape, found.handle) == f"{LONG}\nend"

    run(go)


def test_a_text_document_and_a_providers_block_are_words():
    async def go() -> None:
        spill, tape = spilling(threshold=100)
        words = Media(kind="document", mime="text/plain", data="dMOkc3Q=" * 1, name="a.txt")
        await shrunk(spill, tape, (words, ProviderItem(provider="x", value={"rows": ["y" * 500]})))
        (found,) = await spill.handles(tape)
        assert await spill.text(tape, found.handle) == '<document title="a.txt">\ntäst\n</document>\n{"rows":["' + "y" * 500 + '"]}'

    run(go)


@pytest.mark.parametrize("name", ["spill.read", "spill_read", "spill.list"])
def test_what_the_tools_of_spilling_answer_is_never_spilled(name: str):
    async def go() -> None:
        spill, tape = spilling(threshold=1)
        assert (await shrunk(spill, tape, LONG, name=name)).content == LONG

    run(go)


class Failing(AsyncListStore):
    """Keeps nothing beside tapes."""

    async def append(self, tape: str, entry: ph.TapeEntry) -> ph.TapeEntry | None:
        if "sidecar" in tape:
            raise OSError(28, "No space left on device")
        return await super().append(tape, entry)


def test_where_nothing_can_be_kept_the_model_gets_the_preview_alone(caplog: pytest.LogCaptureFixture):
    async def go() -> None:
        spill, tape = spilling(Failing())
        result = await shrunk(spill, tape, LONG)
        size = len(LONG.encode())
        assert result.content == f"[tool output truncated: {size:,} bytes; spill storage failed]\n{LONG[:300]}\n[... {len(LONG) - 600:,} characters left out ...]\n{LONG[-300:]}"
        noted = await event(tape, "spill.write")
        assert (noted["status"], noted["bytes"], noted["tool"]) == ("error", size, "shell") and "No space left" in noted["error"]

    run(go)
    assert "could not be spilled" in caplog.text


def test_that_a_spill_cannot_be_noted_loses_nothing(caplog: pytest.LogCaptureFixture):
    class Unnoted(AsyncListStore):
        async def append(self, tape: str, entry: ph.TapeEntry) -> ph.TapeEntry | None:
            if "sidecar" not in tape and "family" not in tape:
                raise OSError("gone")
            return await super().append(tape, entry)

    async def go() -> None:
        spill, tape = spilling(Unnoted())
        assert (await spill.handles(tape))[:0] == []
        result = await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        assert found.handle in str(result.content)

    run(go)
    assert "could not be noted" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_branch_spilled_goes_with_it_where_it_is_not_merged_and_comes_back_where_it_is(kind: str, tmp_path: Path):
    """R-228."""

    async def scenario(store: ph.WholeStore) -> None:
        spill, tape = spilling(store)
        await tape.append(ph.user("hello"))
        async with tape.fork_tape(merge_back=False) as branch:
            await shrunk(spill, branch, LONG)
            (lost,) = await spill.handles(branch)
            assert await spill.text(branch, lost.handle) == LONG
        assert await spill.handles(tape) == []
        assert await ask(tape, handle=lost.handle) == f"[no spilled tool result for handle '{lost.handle}']"
        async with tape.fork_tape() as branch:
            await shrunk(spill, branch, LONG)
            await shrunk(spill, tape, LONG[::-1])
        second, first = await spill.handles(tape)
        assert [await spill.text(tape, one.handle) for one in (second, first)] == [LONG, LONG[::-1]]
        assert parsed(await ask(tape, handle=second.handle, cursor=1))["content"] == list(cut(LONG))[1].text

    over(kind, tmp_path, scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_with_an_archive_forgets_the_handle_and_both_archives_hold_the_text(kind: str, tmp_path: Path):
    """R-228: the archive of the tape has the preview, that of the sidecar all of it."""

    async def scenario(store: ph.WholeStore) -> None:
        spill, tape = spilling(store, archives=tmp_path / "archives")
        result = await shrunk(spill, tape, LONG)
        await tape.append(ph.Message(role="tool", content=(result,)))
        (found,) = await spill.handles(tape)
        await tape.reset(archive=True)
        assert await spill.handles(tape) == []
        assert await ask(tape, handle=found.handle) == f"[no spilled tool result for handle '{found.handle}']"
        with pytest.raises(ph.NotFound, match=found.handle):
            await spill.text(tape, found.handle)
        main, side = sorted((path.read_text("utf-8") for path in (tmp_path / "archives").iterdir()), key=len)
        assert found.handle in main and found.handle in side
        assert "1500: line with émoji" in side and "1500: line with émoji" not in main

    over(kind, tmp_path, scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_many_tools_may_spill_at_once(kind: str, tmp_path: Path):
    import anyio

    texts = [f"{number}\n" + "x" * 40_000 + f"{number}" for number in range(6)] + ["y" * 5_000_000, "z" * 5_000_000]

    async def scenario(store: ph.WholeStore) -> None:
        spill, tape = spilling(store)
        async with anyio.create_task_group() as tasks:
            for text in texts:
                tasks.start_soon(shrunk, spill, tape, text)
        assert sorted([await spill.text(tape, one.handle) for one in await spill.handles(tape)]) == sorted(texts)

    over(kind, tmp_path, scenario)


async def spilled_over_days(spill: ph.SpillSidecar, tape: ph.Tape, times: FakeClock, texts: list[str]) -> list[str]:
    """Spill a text a day, and return the handles."""
    for text in texts:
        times.advance(timedelta(days=1))
        await shrunk(spill, tape, text)
    return [one.handle for one in reversed(await spill.handles(tape))]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_old_or_too_much_is_collected_and_the_rest_stays(kind: str, tmp_path: Path):
    texts = [letter * 40_000 for letter in "abcde"]

    async def scenario(store: ph.WholeStore) -> None:
        with clock.using(FakeClock(datetime(2026, 1, 1, tzinfo=UTC))) as times:
            spill, tape = spilling(store)
            handles = await spilled_over_days(spill, tape, times, texts)
            await tape.sidecar("spill").append_event("of another", {"x": 1})
            branch = await tape.fork(name="before")
            assert await spill.gc(tape) == []
            assert await spill.gc(tape, older_than=timedelta(days=9), most_bytes=200_000) == []
            assert await spill.gc(tape, older_than=timedelta(days=3)) == handles[:2]
            assert await spill.gc(tape, most_bytes=80_000) == handles[2:3]
            assert [await spill.text(tape, handle) for handle in handles[3:]] == texts[3:]
            assert [one.handle for one in await spill.handles(tape)] == handles[:2:-1]
            assert (await ask(tape, handle=handles[0])).startswith("[no spilled tool result")
            assert [entry.payload["data"] for entry in await tape.sidecar("spill").query().kinds("event").query("1").all() if entry.payload["name"] == "of another"] == [{"x": 1}]
            assert len(await spill.handles(branch)) == 5
            noted = [entry.payload["data"] for entry in await tape.query().kinds("event").all() if entry.payload["name"] == "spill.gc"]
            assert noted == [{"sidecar": "spill", "removed": 2, "bytes": 80_000, "kept": 3}, {"sidecar": "spill", "removed": 1, "bytes": 40_000, "kept": 2}]
            await shrunk(spill, tape, LONG)
            assert await spill.text(tape, (await spill.handles(tape))[0].handle) == LONG

    over(kind, tmp_path, scenario)


def test_what_was_left_half_written_is_collected_once_it_is_old():
    async def go() -> None:
        with clock.using(FakeClock(datetime(2026, 1, 1, tzinfo=UTC))) as times:
            spill, tape = spilling()
            await shrunk(spill, tape, LONG)
            entries = await tape.sidecar("spill").query().all()
            await tape.store.reset(tape.sidecar("spill").name, entries=entries[:-2])
            assert await spill.handles(tape) == []
            assert await spill.gc(tape, most_bytes=0, older_than=timedelta(hours=1)) == []
            times.advance(timedelta(hours=2))
            assert len(await spill.gc(tape, older_than=timedelta(hours=1))) == 1
            assert (await tape.sidecar("spill").head()).id == 0

    run(go)


def test_a_text_that_is_not_whole_is_damage():
    async def go() -> None:
        spill, tape = spilling()
        await shrunk(spill, tape, LONG)
        (found,) = await spill.handles(tape)
        entries = await tape.sidecar("spill").query().all()
        await tape.store.reset(tape.sidecar("spill").name, entries=[*entries[:2], *entries[4:]])
        with pytest.raises(ph.StoreDamaged, match="chunk 1 of"):
            await spill.text(tape, found.handle)
        assert await ask(tape, handle=found.handle, cursor=1) == f"[incomplete spilled tool result: chunk 1 of {found.handle} is missing]"
        assert parsed(await ask(tape, handle=found.handle, cursor=2))["content"] == list(cut(LONG))[2].text

    run(go)


def test_a_result_with_halves_of_surrogate_pairs_is_spilled_like_any_other():
    """W-33: the pair that was written as two halves is one character, a lone half stays."""

    async def go() -> None:
        spill, tape = spilling(threshold=4)
        result = await shrunk(spill, tape, "ab\ud83d\ude00\ud800" + "c" * 20)
        (found,) = await spill.handles(tape)
        assert await spill.text(tape, found.handle) == "ab😀\ud800" + "c" * 20
        assert isinstance(result, ToolResult) and found.handle in str(result.content)

    run(go)
