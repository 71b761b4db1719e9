"""What was exported goes back as it was: kinds, payloads, meta, dates; and no entry twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playhead.entry.entry import EVENT, TapeEntry, event_name
from playhead.entry.lines import dump_line, entry_to_json
from playhead.entry.message import user
from playhead.importers.driver import import_file
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from tests.stores import KEPT, opened
from tests.unit.importers.sessions import a_session

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def entries(tape: Tape) -> list[TapeEntry]:
    return [e async for e in tape.query()]


def facts(found: list[TapeEntry]) -> list[tuple[object, ...]]:
    return [(e.kind, e.payload, e.meta, e.date) for e in found]


async def a_tape(folder: Path) -> Tape:
    """Return a tape with an import, words of its own, a handoff and a key on it."""
    tape = Tape(InMemoryTapeStore(), "old")
    await import_file(a_session().write(folder / "session.jsonl"), into=tape)
    await tape.append(user("Mine."), key="k1", mood="good")
    await tape.handoff("next", {"summary": "So far."})
    return tape


async def exported(tape: Tape, path: Path) -> Path:
    path.write_bytes(b"".join([dump_line(e) async for e in tape.query()]))
    return path


@pytest.mark.parametrize("kind", ["memory", *KEPT])
async def test_an_export_is_restored_as_it_was_and_once(kind: str, store_place: Path, tmp_path: Path) -> None:
    old = await a_tape(tmp_path)
    path = await exported(old, tmp_path / "old.jsonl")
    async with opened(kind, store_place) as store:
        tape = Tape(store, "new")
        report = await import_file(path, into=tape)
        assert (report.format, report.added, report.known, report.warnings) == ("playhead", len(await entries(old)), 0, ())
        assert facts(await entries(tape)) == facts(await entries(old))
        again = await import_file(path, into=tape)
        assert (again.added, again.known, again.warnings) == (0, report.added, ())
        assert [str(m) for m in await tape.read_messages()] == [str(m) for m in await old.read_messages()]


async def test_a_grown_export_adds_what_is_new(tmp_path: Path) -> None:
    old = await a_tape(tmp_path)
    tape = Tape(InMemoryTapeStore(), "new")
    first = await import_file(await exported(old, tmp_path / "old.jsonl"), into=tape)
    await old.append(user("More."))
    again = await import_file(await exported(old, tmp_path / "old.jsonl"), into=tape)
    assert (again.added, again.known) == (1, first.added)
    assert facts(await entries(tape)) == facts(await entries(old))


async def test_an_export_into_its_own_tape_adds_nothing(tmp_path: Path) -> None:
    old = await a_tape(tmp_path)
    report = await import_file(await exported(old, tmp_path / "old.jsonl"), into=old)
    assert report.added == 0


async def test_what_both_tapes_imported_is_known_by_its_key(tmp_path: Path) -> None:
    old = await a_tape(tmp_path)
    tape = Tape(InMemoryTapeStore(), "new")
    await import_file(tmp_path / "session.jsonl", into=tape)
    before = await entries(tape)
    report = await import_file(await exported(old, tmp_path / "old.jsonl"), into=tape)
    found = await entries(tape)
    assert facts(found[: len(before)]) == facts(before)
    # Its own session/start, the event beside it, and what was said behind the import.
    assert (report.added, report.known) == (5, len(before) - 2)


async def test_an_export_without_an_anchor_begins_behind_one(tmp_path: Path) -> None:
    entry = TapeEntry.message({"role": "user", "content": "hi"}, uid="u1")
    (tmp_path / "part.jsonl").write_bytes(dump_line(entry))
    tape = Tape(InMemoryTapeStore(), "new")
    report = await import_file(tmp_path / "part.jsonl", into=tape)
    assert (report.added, [a.name for a in await tape.anchors()], [str(m) for m in await tape.read_messages()]) == (1, ["session/start"], ["hi"])


async def test_entries_without_a_uid_are_restored_once(tmp_path: Path) -> None:
    lines = [{"id": n, "kind": "message", "payload": {"role": "user", "content": "yes"}, "meta": {}, "date": "2026-03-01T10:00:00+00:00"} for n in (1, 2)]
    path = tmp_path / "bare.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    tape = Tape(InMemoryTapeStore(), "new")
    assert (await import_file(path, into=tape)).added == 2
    assert (await import_file(path, into=tape)).added == 0
    assert [str(m) for m in await tape.read_messages()] == ["yes", "yes"]


async def test_an_entry_that_says_something_else_now_is_kept_as_an_event(tmp_path: Path) -> None:
    one = TapeEntry.message({"role": "user", "content": "hi"}, uid="u1")
    (tmp_path / "a.jsonl").write_bytes(dump_line(one))
    tape = Tape(InMemoryTapeStore(), "new")
    await import_file(tmp_path / "a.jsonl", into=tape)
    (tmp_path / "a.jsonl").write_bytes(dump_line(TapeEntry.message({"role": "user", "content": "ho"}, uid="u1")))
    report = await import_file(tmp_path / "a.jsonl", into=tape)
    (changed,) = [e for e in await entries(tape) if e.kind == EVENT and event_name(e) == "import.changed"]
    assert changed.payload["data"]["entries"][0]["payload"]["content"] == "ho"
    assert changed.uid != "u1"
    assert len(report.warnings) == 1
    assert (await import_file(tmp_path / "a.jsonl", into=tape)).added == 0


@pytest.mark.parametrize("indent", [None, 1])
async def test_the_json_form_of_an_export_is_read_too(indent: int | None, tmp_path: Path) -> None:
    old = await a_tape(tmp_path)
    (tmp_path / "old.json").write_text(json.dumps({"tape": "old", "form": "jsonl", "entries": [entry_to_json(e) for e in await entries(old)]}, indent=indent))
    tape = Tape(InMemoryTapeStore(), "new")
    await import_file(tmp_path / "old.json", into=tape)
    assert facts([e for e in await entries(tape) if not event_name(e).startswith("playhead.")]) == facts(await entries(old))
    assert (await import_file(tmp_path / "old.json", into=tape)).added == 0


async def test_a_line_that_is_no_entry_is_kept_and_those_around_it_are_restored(tmp_path: Path) -> None:
    lines = [dump_line(TapeEntry.message({"role": "user", "content": c}, uid=c)) for c in "ab"]
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines[0] + b'{"kind": 5}\n{"torn\n{"kind": "message", "payload": {}, "date": "never"}\n' + lines[1])
    tape = Tape(InMemoryTapeStore(), "new")
    report = await import_file(path, into=tape)
    assert [str(m) for m in await tape.read_messages()] == ["a", "b"]
    assert [line for line, _ in report.unreadable] == [3]
    assert [event_name(e) for e in await entries(tape) if e.kind == EVENT] == ["handoff", "playhead.unknown", "import.unreadable", "playhead.unknown"]


async def test_the_file_of_a_store_is_read_and_its_header_is_no_entry(tmp_path: Path) -> None:
    name = "support/" + "x" * 200
    async with FileTapeStore(tmp_path / "tapes") as store:
        await Tape(store, name).append(user("hi"))
    (path,) = (tmp_path / "tapes").glob("*.jsonl")
    assert '"kind":"tape"' in path.read_text()
    tape = Tape(InMemoryTapeStore(), "new")
    await import_file(path, into=tape)
    assert [str(m) for m in await tape.read_messages()] == ["hi"]
    assert [event_name(e) for e in await entries(tape) if e.kind == EVENT] == ["handoff", "playhead.header"]


async def test_a_timestamp_in_seconds_is_a_date(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"id": 1, "kind": "message", "payload": {"role": "user", "content": "hi"}, "timestamp": 1700000000}')
    tape = Tape(InMemoryTapeStore(), "new")
    await import_file(tmp_path / "old.jsonl", into=tape)
    assert (await entries(tape))[-1].date == "2023-11-14T22:13:20.000000+00:00"


def line(n: int, meta: object = None, **more: object) -> str:
    return json.dumps({"id": n, "kind": "message", "payload": {"role": "user", "content": f"{n}"}, "meta": meta or {}, "date": "2026-03-01", **more})


async def restored(tmp_path: Path, *lines: str) -> tuple[list[tuple[str, object]], tuple[str, ...]]:
    """Import the lines twice; return what is on the tape then, but for its first two entries, and the warnings."""
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    tape = Tape(InMemoryTapeStore(), "new")
    first = await import_file(tmp_path / "x.jsonl", into=tape)
    again = await import_file(tmp_path / "x.jsonl", into=tape)
    assert (again.added, again.known, again.warnings) == (0, first.added, first.warnings)
    return [(e.kind, e.payload.get("content") or event_name(e)) for e in (await entries(tape))[2:]], first.warnings


@pytest.mark.parametrize("names", [({"uid": "u"}, {"uid": "u"}), ({"uid": "u", "idempotency_key": "k"}, {"uid": "v", "idempotency_key": "k"}), ({"uid": "u"}, {"uid": "v", "idempotency_key": "u"})])
async def test_a_name_that_is_used_twice_for_different_entries_loses_none(names: tuple[object, object], tmp_path: Path) -> None:
    found, warnings = await restored(tmp_path, line(1, names[0]), line(2, names[1]), line(3, {"uid": "w"}))
    assert found == [("message", "1"), ("event", "playhead.conflict"), ("message", "3")]
    assert warnings == ("line 2 has the uid or the idempotency key of an earlier line and says something else; it is kept as an event",)


async def test_an_entry_that_stands_in_a_file_twice_is_restored_once(tmp_path: Path) -> None:
    found, warnings = await restored(tmp_path, line(1, {"uid": "u"}), line(1, {"uid": "u"}), line(2))
    assert found == [("message", "1"), ("message", "2")]
    assert warnings == ("1 lines repeat an earlier line word for word and were read once",)


@pytest.mark.parametrize("meta", [{"uid": ""}, {"uid": 7}, {"uid": ["u"]}, {"idempotency_key": 5}, {"uid": "u", "idempotency_key": ""}])
async def test_a_name_that_no_store_takes_stops_no_import(meta: object, tmp_path: Path) -> None:
    found, _ = await restored(tmp_path, line(1, meta), line(2, {"uid": "v"}))
    assert found == [("event", "playhead.unknown"), ("message", "2")]


@pytest.mark.parametrize("odd", [{"more": 1}, {"id": 1.5}, {"meta": ["a"]}, {"timestamp": 1_700_000_000}, {"~c": "00", "more": None}])
async def test_what_no_entry_has_is_kept_beside_it(odd: dict[str, object], tmp_path: Path) -> None:
    found, _ = await restored(tmp_path, json.dumps({**json.loads(line(1, {"uid": "u"})), **odd}))
    assert found == [("event", "playhead.fields"), ("message", "1")]


async def test_the_marks_of_a_store_are_no_part_of_an_entry(tmp_path: Path) -> None:
    found, _ = await restored(tmp_path, line(1, {"uid": "u"}, **{"~b": [1, 2], "~c": "00000000"}))
    assert found == [("message", "1")]
