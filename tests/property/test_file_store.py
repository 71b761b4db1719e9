"""Whatever was appended, torn, reset and asked, a store of files says what a small model says."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from playhead.entry.entry import TapeEntry
from playhead.errors import NotFound, StoreDamaged
from playhead.store.condition.health import Health
from playhead.store.family import Kin
from playhead.store.file import reader
from playhead.store.file.archive import ArchivedDisk
from playhead.store.file.disk import Disk
from playhead.store.file.family.opened import answered
from playhead.store.file.findings import Findings
from playhead.store.file.place import Place
from playhead.store.file.record.draft import Draft
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.lines import body_of
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import Tail
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from tests.crash.file_stage import Ear
from tests.property.test_store_machine import TAPES, KeptMachine
from tests.property.test_store_queries import outcome, queries
from tests.property.test_store_queries import tapes as histories

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))


def store_at(place: Path) -> FileTapeStore:
    return FileTapeStore(place / "tapes", durability="process", on_finding=Ear())


class FileMachine(KeptMachine):
    """Also tears the end of files and removes indexes, as crashes and users do."""

    kind = "file"

    def opened(self) -> FileTapeStore:
        return store_at(self.place)

    @rule(tape=st.sampled_from(TAPES), torn=st.sampled_from([b"{", b'{"id":', b'{"id":9,"kind":"note","payload":{"text":"x', b"\0" * 600]))
    def tear(self, tape: str, torn: bytes) -> None:
        path = self.place / "tapes" / f"{tape}.jsonl"
        if self.model.bodies[tape] and path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:
                file.write(torn)

    @rule(tape=st.sampled_from(TAPES), size=st.integers(250_000, 300_000))
    def append_much(self, tape: str, size: int) -> None:
        text = "x" * size
        assert self.ask(0, "append_many", tape, [TapeEntry(0, "note", {"text": text}, {})]) == self.model.append(tape, [(text, None)])

    @rule(tape=st.sampled_from(TAPES))
    def forget_the_index(self, tape: str) -> None:
        shutil.rmtree(self.place / "tapes" / ".playhead" / f"{tape}.index", ignore_errors=True)


TestFileMachine = FileMachine.TestCase
TestFileMachine.settings = settings(max_examples=100 if SOAK else 12, stateful_step_count=20, deadline=None)


def older_line(entry: TapeEntry, id: int) -> bytes:
    return json.dumps({"id": id, "kind": entry.kind, "payload": entry.payload, "meta": entry.meta, "date": entry.date}).encode() + b"\n"


def place_at(directory: str) -> Place:
    return Place(directory=directory, durability="process", timeout=1.0, disk=ArchivedDisk(Disk(), directory), findings=Findings(Ear()), health=Health(), codec=None)


def written(place: Place, history: list[TapeEntry], *, older: int, batch: int, generation: int) -> None:
    """Write a history as a file: the first entries as another program would, the rest in batches of our own."""
    path = Path(place.path("t"))
    path.write_bytes(b"".join(older_line(entry, id) for id, entry in enumerate(history[:older], 1)))
    for first in range(older, len(history), batch):
        some = history[first : first + batch]
        tail = answered(place, kin=Kin("t"), question=lambda recording: recording.tail)
        if not first:
            tail = Tail(generation=generation)
        draft = Draft(tail, header=None, codec=None, standing=lambda key: None)
        draft.add(some, [body_of(entry) for entry in some], expected_head=None)
        with path.open("ab") as file:
            file.write(b"".join(draft.lines()[0]))


@settings(max_examples=600 if SOAK else 120, deadline=None)
@given(histories(), st.integers(0, 60), st.integers(1, 70), st.integers(0, 2), st.lists(queries, min_size=1, max_size=12))
def test_a_file_answers_any_query_as_the_whole_tape_would(history: list[TapeEntry], older: int, batch: int, generation: int, asked: list[TapeQuery]):
    older = min(older, len(history)) if not generation else 0
    with tempfile.TemporaryDirectory() as directory:
        place = place_at(directory)
        written(place, history, older=older, batch=batch, generation=generation)
        whole = answered(place, kin=Kin("t"), question=lambda recording: reader.fetch(recording, TapeQuery(tape="t")))
        assert [(e.kind, e.payload, e.meta, e.date) for e in whole] == [(e.kind, e.payload, e.meta, e.date) for e in history]
        assert [e.id for e in whole] == list(range(1, len(history) + 1))
        for query in asked:
            wanted = outcome(lambda query=query: query.apply(whole))
            found = outcome(lambda query=query: answered(place, kin=Kin("t"), question=lambda recording: reader.fetch(recording, query)))
            assert found == wanted
            number = outcome(lambda query=query: answered(place, kin=Kin("t"), question=lambda recording: reader.count(recording, query)))
            assert number == (wanted if isinstance(wanted, str) else len(wanted))


sizes = st.lists(st.sampled_from([10, 200, 5_000, 40_000]), min_size=1, max_size=120)


@settings(max_examples=40 if SOAK else 15, deadline=None)
@given(sizes, st.integers(0, 130), st.integers(0, 130))
def test_any_range_of_a_file_with_lines_of_any_length_is_found(lengths: list[int], first: int, last: int):
    with tempfile.TemporaryDirectory() as directory:
        place = place_at(directory)
        written(place, [TapeEntry.event("x" * length) for length in lengths], older=0, batch=13, generation=0)
        wanted = [id for id in range(1, len(lengths) + 1) if first <= id <= last]

        def ranges(recording: Lineage) -> tuple[list[int], list[int]]:
            return [line.id for _, line in recording.forwards(first, min(last, len(lengths)))], [line.id for _, line in recording.backwards(first, min(last, len(lengths)))]

        assert answered(place, kin=Kin("t"), question=ranges) == (wanted, wanted[::-1])


@given(st.binary(max_size=200), st.integers(0, 200))
def test_lines_are_the_same_from_either_end(content: bytes, cut: int):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(content)
        disk = Disk()
        fd = disk.open_to_read(str(path))
        try:
            file = Snapshot(disk=disk, fd=fd, path=str(path), size=len(content))
            end = file.behind_last_newline()
            assert end == content.rfind(b"\n") + 1
            lines = list(file.forwards(0, end))
            assert [line for _, line in lines] == content[:end].split(b"\n")[:-1]
            assert list(file.backwards(end)) == lines[::-1]
            assert all(content[place : place + len(line)] == line for place, line in lines)
        finally:
            disk.close(fd)


@settings(max_examples=300 if SOAK else 80, deadline=None)
@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 4_000), st.binary(max_size=20)), max_size=4))
def test_any_bytes_in_place_of_a_tape_raise_typed_errors_or_are_passed_over(front: bytes, changes: list[tuple[int, bytes]]):
    with tempfile.TemporaryDirectory() as directory:
        place = place_at(directory)
        written(place, [TapeEntry.message({"role": "user", "content": f"text {i}"}) for i in range(6)], older=0, batch=2, generation=0)
        path = Path(place.path("t"))
        content = bytearray(path.read_bytes())
        for offset, change in changes:
            at = offset % (len(content) + 1)
            content[at : at + len(change)] = change
        path.write_bytes(front + content)
        for query in (TapeQuery(tape="t"), TapeQuery(tape="t").newest_first().limit(2), TapeQuery(tape="t").last_anchor()):
            try:
                entries = answered(place, kin=Kin("t"), question=lambda recording, query=query: reader.fetch(recording, query))
            except (StoreDamaged, NotFound):
                continue
            assert all(entry.id > 0 for entry in entries)
