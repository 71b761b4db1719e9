"""What the crash tests of file stores share: small tapes in files, and ways to read them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from playhead.entry.entry import TapeEntry
from playhead.store.file.findings import Finding
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery

TAPE = "t"
TEXTS = ("one", "Grüße, 日本語, 🙂 und mehr", 'zwei "Zeilen"\nund \\ mehr é🙂')


def note(text: str, **meta: object) -> TapeEntry:
    """Return an entry that was not appended yet."""
    return TapeEntry.message({"role": "user", "content": text}, **meta)


def tape_file(place: Path, tape: str = TAPE) -> Path:
    return place / f"{tape}.jsonl"


def written(place: Path, *appends: Sequence[str]) -> bytes:
    """Append texts to a new tape, each sequence at once, and return the file's content."""

    async def write() -> None:
        async with FileTapeStore(place, durability="process") as store:
            for texts in appends:
                await store.append_many(TAPE, [note(text) for text in texts])

    anyio.run(write)
    return tape_file(place).read_bytes()


async def texts_in(store: FileTapeStore, tape: str = TAPE) -> list[str]:
    """Return what the entries of a tape say, after a look at their ids."""
    entries = await store.fetch_all(TapeQuery(tape=tape))
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    return [entry.payload["content"] for entry in entries]


class Ear:
    """Hears of findings."""

    def __init__(self) -> None:
        self.heard: list[Finding] = []

    def __call__(self, finding: Finding) -> None:
        self.heard.append(finding)
