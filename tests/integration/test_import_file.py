import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import FileMissing, InvalidInput, PlayheadError, UnreadableFile
from playhead.importers.driver import import_file
from playhead.importers.report import Progress
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from tests.unit.importers.sessions import Session, a_session, entries, text

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
async def tape(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tape]:
    store = InMemoryTapeStore() if request.param == "memory" else SQLiteTapeStore(tmp_path / "tapes.db")
    async with store:
        yield Tape(store, "t")


async def test_an_import_starts_the_tape_and_adds_every_entry(tape: Tape, tmp_path: Path) -> None:
    report = await import_file(a_session().write(tmp_path / "s.jsonl"), into=tape)
    found = await entries(tape)
    assert [(e.kind, e.payload["name"]) for e in found[:2]] == [("anchor", "session/start"), ("event", "handoff")]
    assert found[0].payload["state"] == {"owner": "human"}
    assert (report.format, report.added, report.known, report.unreadable, report.warnings) == ("claude-code", len(found) - 2, 0, (), ())
    assert [str(m) for m in await tape.read_messages()][1:] == ["And now?", "Nothing."]


async def test_importing_the_same_file_again_adds_nothing(tape: Tape, tmp_path: Path) -> None:
    path = a_session().write(tmp_path / "s.jsonl")
    first = await import_file(str(path), into=tape)
    before = await entries(tape)
    again = await import_file(path, into=tape)
    assert (again.added, again.known) == (0, first.added)
    assert await entries(tape) == before


async def test_records_without_a_date_in_front_have_that_of_the_first_with_one(tape: Tape, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    said = [{"id": f"u{n}", "type": "user", "content": f"Note {n}.", "timestamp": f"2026-03-01T10:00:0{n}.000Z"} for n in range(2)]
    path.write_text(json.dumps({"sessionId": "s", "projectHash": "p", "messages": said}))
    await import_file(path, into=tape, format="gemini-cli")
    assert [(e.kind, e.date[:19]) for e in (await entries(tape))[2:]] == [("event", "2026-03-01T10:00:00"), ("message", "2026-03-01T10:00:00"), ("message", "2026-03-01T10:00:01")]
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps([{"role": "user", "content": f"Note {n}."} for n in range(200)]))
    await import_file(bare, into=tape)
    assert [e.payload["content"] for e in (await entries(tape))[5:]] == [f"Note {n}." for n in range(200)]


async def test_a_moved_file_adds_nothing(tape: Tape, tmp_path: Path) -> None:
    session = a_session()
    first = await import_file(session.write(tmp_path / "s.jsonl"), into=tape)
    again = await import_file(session.write(tmp_path / "copy.jsonl"), into=tape)
    assert (again.added, again.known) == (0, first.added)


async def test_a_tape_that_has_an_anchor_gets_no_second_start(tape: Tape, tmp_path: Path) -> None:
    await tape.handoff("mine")
    await import_file(a_session().write(tmp_path / "s.jsonl"), into=tape)
    assert [a.name for a in await tape.anchors()] == ["mine", "compaction"]


async def test_two_files_share_a_tape(tape: Tape, tmp_path: Path) -> None:
    one, two = Session(), Session(session="5e551011-0000-4000-8000-000000000002")
    for session in (one, two):
        session.prompt("yes")
        session.turn(text("ok"), id=f"m-{session.session[-1]}")
        session.bare(type="queue-operation", operation="enqueue", sessionId=session.session)
    first = await import_file(one.write(tmp_path / "one.jsonl"), into=tape)
    second = await import_file(two.write(tmp_path / "two.jsonl"), into=tape)
    assert first.added == second.added == 4
    assert [str(m) for m in await tape.read_messages()] == ["yes", "ok", "yes", "ok"]


async def test_a_chat_of_several_conversations_is_read_behind_each_anchor(tape: Tape, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"id": n, "messages": [{"role": "user", "content": f"hello {n}"}]} for n in range(3)]))
    report = await import_file(path, into=tape)
    assert (report.conversations, report.format) == (3, "openai-chat")
    assert [a.name for a in await tape.anchors()] == ["session/start", "conversation/1", "conversation/2", "conversation/3"]
    assert [str(m) for m in await tape.read_messages()] == ["hello 2"]
    assert (await import_file(path, into=tape)).added == 0


async def test_unreadable_lines_are_reported_and_stay_reported(tape: Tape, tmp_path: Path) -> None:
    session = a_session()
    lines = session.lines()
    lines.insert(3, b'{"torn')
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))
    first = await import_file(path, into=tape)
    again = await import_file(path, into=tape)
    assert [line for line, _ in first.unreadable] == [line for line, _ in again.unreadable] == [4]
    assert again.added == 0


async def test_strict_writes_nothing_where_a_line_cannot_be_read(tape: Tape, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([*a_session().lines(), b"{"]))
    with pytest.raises(UnreadableFile, match="line"):
        await import_file(path, into=tape, strict=True)
    assert await entries(tape) == []


def _empty(place: Path) -> Path:
    (place / "empty").write_bytes(b"")
    return place / "empty"


def _pipe(place: Path) -> Path:
    os.mkfifo(place / "pipe")
    return place / "pipe"


def _binary(place: Path) -> Path:
    (place / "binary").write_bytes(bytes(range(256)) * 100)
    return place / "binary"


def _under_a_file(place: Path) -> Path:
    return _empty(place) / "file"


BAD: list[tuple[Callable[[Path], Any], type[PlayheadError]]] = [
    (lambda place: place / "missing", FileMissing),
    (lambda place: place, UnreadableFile),
    (_empty, UnreadableFile),
    (_pipe, UnreadableFile),
    (_binary, UnreadableFile),
    (_under_a_file, FileMissing),
    (lambda place: "with\0nul", FileMissing),
    (lambda place: "x" * 10_000, FileMissing),
]


@pytest.mark.parametrize(("made", "error"), BAD)
async def test_what_cannot_be_imported_raises_a_typed_error_and_writes_nothing(made: Callable[[Path], Any], error: type[PlayheadError], tape: Tape, tmp_path: Path) -> None:
    with pytest.raises(error):
        await import_file(made(tmp_path), into=tape)
    assert await entries(tape) == []


async def test_an_unknown_format_is_refused_before_the_file_is_looked_at(tape: Tape, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="claude-code"):
        await import_file(tmp_path / "missing", into=tape, format="morse")


async def test_text_of_any_kind_comes_back_as_it_was(tape: Tape, tmp_path: Path) -> None:
    words = "caf\u00e9 \u4e2d\u6587 \U0001f600 \ud800 \u0000 \u2028"
    session = Session()
    session.prompt(words)
    path = session.write(tmp_path / os.fsdecode(b"caf\xe9.jsonl"))
    await import_file(path, into=tape)
    assert [str(m) for m in await tape.read_messages()] == [words]
    assert (await entries(tape))[-1].meta["import"]["source"] == path.name


async def test_progress_is_told_in_stages(tape: Tape, tmp_path: Path) -> None:
    path = a_session().write(tmp_path / "s.jsonl")
    seen: list[Progress] = []
    await import_file(path, into=tape, progress=seen.append)
    await import_file(path, into=tape, progress=seen.append)
    assert [p.stage for p in seen] == ["reading", "writing", "reading", "comparing"]
    assert all(0 < p.done <= p.total == path.stat().st_size for p in seen)
    assert (seen[1].done, seen[1].added) == (seen[1].total, seen[3].known)


async def test_two_imports_at_once_write_every_entry_once(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    for n in range(400):
        session.prompt(f"question {n}")
        session.turn(text(f"answer {n}"), id=f"m{n}")
    path = session.write(tmp_path / "s.jsonl")
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(lambda: import_file(path, into=tape))
    keys = [e.meta["idempotency_key"] for e in await entries(tape) if "import" in e.meta]
    assert len(keys) == len(set(keys)) == 801
    assert [str(m) for m in await tape.read_messages()] == [w for n in range(400) for w in (f"question {n}", f"answer {n}")]


def test_an_import_runs_under_trio_too(tmp_path: Path) -> None:
    path = a_session().write(tmp_path / "s.jsonl")

    async def imported() -> int:
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            return (await import_file(path, into=Tape(store, "t"))).added

    assert anyio.run(imported, backend="trio") > 10


class FourMethods:
    """A store as a user writes it: nothing but the four methods."""

    def __init__(self) -> None:
        self.tapes: dict[str, list[TapeEntry]] = {}
        self.lock = threading.Lock()

    def list_tapes(self) -> list[str]:
        return sorted(self.tapes)

    def reset(self, tape: str) -> None:
        self.tapes.pop(tape, None)

    def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        return query.apply(self.tapes.get(query.tape, []))

    def append(self, tape: str, entry: TapeEntry) -> None:
        with self.lock:
            found = self.tapes.setdefault(tape, [])
            found.append(TapeEntry(len(found) + 1, entry.kind, entry.payload, entry.meta, entry.date))


async def test_a_users_own_store_takes_an_import(tmp_path: Path) -> None:
    tape = Tape(FourMethods(), "t")
    path = a_session().write(tmp_path / "s.jsonl")
    first = await import_file(path, into=tape)
    again = await import_file(path, into=tape)
    assert (again.added, again.known) == (0, first.added)
