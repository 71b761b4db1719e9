"""A file is imported again: grown, rewound, edited."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from playhead.entry.entry import TapeEntry
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from tests.unit.importers.sessions import Session, a_session, call, entries, shown, text, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
async def tape(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tape]:
    store = InMemoryTapeStore() if request.param == "memory" else SQLiteTapeStore(tmp_path / "tapes.db")
    async with store:
        yield Tape(store, "t")


@pytest.mark.parametrize("step", [1, 2, 3, 5])
async def test_a_growing_file_adds_only_what_is_new_and_tells_the_same_story(step: int, tape: Tape, tmp_path: Path) -> None:
    lines = a_session().lines()
    path = tmp_path / "s.jsonl"
    added = 0
    for end in [*range(1, len(lines), step), len(lines)]:
        path.write_bytes(b"\n".join(lines[:end]) + b"\n")
        report = await import_file(path, into=tape)
        added += report.added
        assert report.warnings == ()
    found = await entries(tape)
    assert len(found) == added + 2
    assert (await import_file(path, into=tape)).added == 0
    whole = Tape(InMemoryTapeStore(), "t")
    await import_file(path, into=whole)
    assert _said(found) == _said(await entries(whole))
    positions = {c["id"]: i for i, e in enumerate(found) if e.kind == "tool_call" for c in e.payload["calls"]}
    assert all(positions[c] < i for i, e in enumerate(found) if e.kind == "tool_result" for c in e.payload["call_ids"])


def _said(found: Sequence[TapeEntry]) -> list[str]:
    """Return all that entries say, whatever entries it is spread over."""
    said: list[str] = []
    for entry in found:
        payload = entry.payload
        parts = payload["content"] if isinstance(payload.get("content"), list) else [payload.get("content")]
        said += [json.dumps(p, sort_keys=True) for p in parts if p is not None]
        said += [json.dumps(r, sort_keys=True) for r in payload.get("results", ())]
        if entry.kind == "anchor":
            said += [json.dumps([payload["name"], k, v]) for k, v in payload["state"].items()]
        if entry.kind == "event":
            said.append(json.dumps(payload, sort_keys=True))
    return sorted(said)


async def test_a_turn_that_was_cut_off_is_completed_by_an_entry_with_its_new_parts(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.turn(call("c1"), id="m1")
    session.result("c1")
    path = session.write(tmp_path / "s.jsonl")
    await import_file(path, into=tape)
    session.turn(call("c2"), id="m1")
    session.result("c2")
    report = await import_file(session.write(path), into=tape)
    assert (report.added, report.warnings) == (2, ())
    assert told(shown(await entries(tape)))[1:] == ["message go", "tool_call c1", "tool_result c1", "tool_call c2", "tool_result c2"]


async def test_a_late_result_finds_its_call_before_the_rest_of_the_turn(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    first = session.turn(call("c1"), id="m1")
    path = session.write(tmp_path / "s.jsonl")
    await import_file(path, into=tape)
    session.result("c1")
    session.turn(call("c2"), id="m1", parent=first)
    session.result("c2")
    await import_file(session.write(path), into=tape)
    assert told(shown(await entries(tape)))[1:] == ["tool_call c1", "tool_result c1", "tool_call c2", "tool_result c2"]


async def test_a_line_that_was_torn_is_completed_by_the_next_import(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two")
    first, second = session.lines()
    path = tmp_path / "s.jsonl"
    path.write_bytes(first + b"\n" + second[:40])
    assert (await import_file(path, into=tape)).unreadable[0][0] == 2
    path.write_bytes(first + b"\n" + second)
    report = await import_file(path, into=tape)
    assert (report.added, report.unreadable, report.warnings) == (1, (), ())
    assert [str(m) for m in await tape.read_messages()] == ["one", "two"]


async def test_a_rewind_that_comes_later_is_told_by_an_event_and_a_warning(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    fork = session.turn(text("Which way?"), id="m1")
    session.prompt("left")
    session.turn(text("Left."), id="m2")
    path = session.write(tmp_path / "s.jsonl")
    await import_file(path, into=tape)
    session.prompt("right", parent=fork)
    report = await import_file(session.write(path), into=tape)
    assert report.added == 2
    assert "rewound" in report.warnings[0]
    found = await entries(tape)
    assert found[-1].payload["name"] == "import.rewind"
    gone = [e for e in found if e.uid in found[-1].payload["data"]["abandoned"]]
    assert told(gone) == ["message left", "message Left."]
    again = await import_file(path, into=tape)
    assert again.added == 0
    assert await entries(tape) == found


async def test_a_branch_that_was_taken_up_again_is_told_too(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    fork = session.prompt("go")
    left = session.prompt("left")
    session.prompt("right", parent=fork)
    path = session.write(tmp_path / "s.jsonl")
    await import_file(path, into=tape)
    session.prompt("left after all", parent=left)
    report = await import_file(session.write(path), into=tape)
    data = {k: v for e in await entries(tape) if e.payload.get("name") == "import.rewind" for k, v in e.payload["data"].items()}
    assert set(data) == {"abandoned", "restored"}
    assert "rewound" in report.warnings[0]


async def test_a_record_that_was_changed_is_kept_beside_the_one_that_stands(tape: Tape, tmp_path: Path) -> None:
    session = a_session()
    path = session.write(tmp_path / "s.jsonl")
    first = await import_file(path, into=tape)
    session.records[0]["message"]["content"] = "Look somewhere else."
    report = await import_file(session.write(path), into=tape)
    assert (report.added, report.known) == (1, first.added)
    assert report.warnings[0].startswith("lines changed since they were imported, kept as events and not shown: 1;")
    last = (await entries(tape))[-1]
    assert last.payload["name"] == "import.changed"
    assert last.payload["data"]["entries"][0]["payload"]["content"] == "Look somewhere else."
    assert (await import_file(path, into=tape)).added == 0


async def test_a_record_of_another_session_with_the_same_uuid_moves_nothing_else(tape: Tape, tmp_path: Path) -> None:
    one, two = Session(), Session(session="5e551011-0000-4000-8000-000000000002")
    one.prompt("one", uuid="u")
    two.prompt("first")
    two.prompt("second", uuid="u")
    await import_file(one.write(tmp_path / "one.jsonl"), into=tape)
    report = await import_file(two.write(tmp_path / "two.jsonl"), into=tape)
    assert [str(m) for m in await tape.read_messages()] == ["one", "first"]
    assert report.warnings[0].startswith("lines changed since they were imported, kept as events and not shown: 2;")


async def test_the_same_record_spelled_otherwise_is_known(tape: Tape, tmp_path: Path) -> None:
    session = a_session()
    path = session.write(tmp_path / "s.jsonl")
    first = await import_file(path, into=tape)
    path.write_bytes(b"\n".join(json.dumps(r, indent=None, separators=(" , ", " : ")).encode() for r in session.records if "uuid" in r))
    again = await import_file(path, into=tape)
    assert again.added == 0
    assert again.known == first.added - 1


async def test_a_message_put_in_before_imported_ones_is_kept_and_not_shown(tape: Tape, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, chat)))
    await import_file(path, into=tape)
    chat[1] = {"role": "assistant", "content": "better"}
    path.write_text("\n".join(map(json.dumps, chat)))
    report = await import_file(path, into=tape)
    assert (report.added, report.known) == (1, 2)
    assert "new but before imported ones" in report.warnings[0]
    found = await entries(tape)
    assert [str(m) for m in await tape.read_messages()] == ["a", "b", "c"]
    assert found[-1].payload == {"name": "import.late", "data": {"kind": "message", "payload": {"role": "assistant", "content": "better"}}}
    assert (await import_file(path, into=tape)).added == 0


async def test_two_imports_at_once_add_each_entry_once_and_count_their_own(tape: Tape, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps({"role": ("user", "assistant")[n % 2], "content": f"{n}"}) + "\n" for n in range(1_500)))
    reports = await asyncio.gather(*(import_file(path, into=tape) for _ in range(3)))
    assert sum(r.added for r in reports) == 1_500
    assert [r.added + r.known for r in reports] == [1_500] * 3
    assert [m.text for m in await tape.read_messages()] == [f"{n}" for n in range(1_500)]
