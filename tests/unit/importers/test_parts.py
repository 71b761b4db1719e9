"""A store's own file is imported with the parts of its payloads, which stand beside it; a line that lacks one is told."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.family import branch_name
from playhead.testing.stage import note

LONG = "Grüße an alle. " * 400


async def written(place: Path) -> None:
    async with ph.FileTapeStore(place, durability="process", inline_limit=2_000) as store:
        await store.append_many("t", [note("short"), note(LONG), note("last")])
        await ph.Tape(store, "t").fork(name="trial")
        await store.append_many(branch_name("t", "trial"), [note(LONG + "2")])


async def imported(path: Path, *, strict: bool = False) -> tuple[ph.ImportReport, list[str]]:
    tape = ph.Tape(ph.InMemoryTapeStore(), "t")
    report = await ph.import_file(path, into=tape, strict=strict)
    return report, [entry.payload["text"] for entry in await tape.query().kinds("note").all()]


def test_parts_come_from_beside_the_file(tmp_path: Path):
    anyio.run(written, tmp_path / "tapes")
    report, texts = anyio.run(imported, tmp_path / "tapes" / "t.jsonl")
    assert (texts, report.unreadable) == (["short", LONG, "last"], ())
    (branch,) = (tmp_path / "tapes").glob("t*/*.jsonl")
    assert anyio.run(imported, branch)[1] == [LONG + "2"]


@pytest.mark.parametrize("spoilt", [None, b"other"])
def test_a_line_that_lacks_a_part_is_unreadable_and_the_others_are_not(tmp_path: Path, spoilt: bytes | None):
    anyio.run(written, tmp_path / "tapes")
    file = tmp_path / "tapes" / "t.jsonl"
    if spoilt is None:
        file = file.rename(tmp_path / "alone.jsonl")
    else:
        for path in (tmp_path / "tapes" / ".playhead" / "blobs").rglob("*"):
            if path.is_file() and len(path.name) == 64:
                path.write_bytes(spoilt)
    report, texts = anyio.run(imported, file)
    assert texts == ["short", "last"]
    assert [line for line, _ in report.unreadable] == [2]
    with pytest.raises(ph.UnreadableFile, match="line 2: a part of its payload is a blob that is not beside the file, or not as it was written: sha256:"):
        anyio.run(lambda: imported(file, strict=True))
