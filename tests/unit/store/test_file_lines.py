"""A line is JSON that anybody reads, and proves that it is what was written."""

from __future__ import annotations

import json
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.family import Kin
from playhead.store.file.record.header import Header
from playhead.store.file.record.lines import BadLine, body_of, dump, is_checked, load, marks, names_of

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
entries = st.builds(
    TapeEntry,
    st.just(0),
    st.text(st.characters(), min_size=1),
    st.dictionaries(st.text(), values, max_size=4),
    st.dictionaries(st.text().filter(lambda name: name not in ("uid", "idempotency_key")), values, max_size=3),
    st.just("2026-03-01T12:00:00.123456+00:00"),
)


def line_of(entry: TapeEntry, **own: object) -> bytes:
    return dump(body_of(entry), id=7, marks=marks(**{"anchor": None, "generation": 0, "older": 0, **own}))  # type: ignore[arg-type]


@given(entries)
def test_an_entry_reads_back_as_it_was(entry: TapeEntry):
    line = line_of(entry)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    stored = load(line[:-1]).entry()
    assert (stored.id, stored.kind, stored.payload, stored.date) == (7, entry.kind, entry.payload, entry.date)
    assert {name: value for name, value in stored.meta.items() if name != "uid"} == entry.meta


@given(entries)
def test_a_bare_json_loop_reads_every_line(entry: TapeEntry):
    found = json.loads(line_of(entry, batch=(1, 2), anchor=3, generation=4, older=5))
    assert list(found) == ["id", "kind", "payload", "meta", "date", "~b", "~a", "~g", "~o", "~c"]
    assert (found["id"], found["kind"], found["payload"], found["date"]) == (7, entry.kind, entry.payload, entry.date)


@given(entries, st.integers(0), st.integers(1, 255))
def test_no_other_byte_is_taken_for_what_was_written(entry: TapeEntry, place: int, change: int):
    raw = bytearray(line_of(entry)[:-1])
    raw[place % len(raw)] ^= change
    with pytest.raises(BadLine):
        load(bytes(raw))


def test_marks_come_back_and_are_left_out_where_they_say_nothing():
    entry = TapeEntry.message({"role": "user", "content": "x"})
    line = load(line_of(entry, batch=(2, 3), anchor=0, generation=4, older=5)[:-1])
    assert (line.batch, line.anchor, line.generation, line.older) == ((2, 3), 0, 4, 5)
    assert b"~b" not in line_of(entry) and b"~a" not in line_of(entry)


def test_text_stays_readable_by_eye():
    line = line_of(TapeEntry.message({"role": "user", "content": "Grüße, 日本語 🙂"}))
    assert "Grüße, 日本語 🙂" in line.decode()


def test_the_header_is_shaped_like_an_entry():
    header = json.loads(Header(kin=Kin("a/b"), generation=2, date="2026-03-01T12:00:00.123456+00:00").dump())
    assert (header["id"], header["kind"], header["payload"]) == (0, "tape", {"name": "a/b", "generation": 2})
    assert load(Header(kin=Kin("a/b"), generation=2, date="").dump()[:-1]).generation == 2


def test_names_are_what_an_entry_can_be_found_by():
    line = load(line_of(TapeEntry.event("e", uid="u", idempotency_key="k"))[:-1])
    assert names_of(line) == ("u", "k")
    assert names_of(load(line_of(TapeEntry.event("e", uid="u"))[:-1])) == ("u", None)


@pytest.mark.parametrize("meta", [{"uid": 7}, {"uid": ""}, {"idempotency_key": 7}, {"idempotency_key": ""}])
def test_a_name_that_is_no_text_is_refused(meta: dict[str, object]):
    with pytest.raises(InvalidInput):
        body_of(TapeEntry.event("e", **meta))


def test_a_checksum_with_one_damaged_byte_is_still_seen_to_be_one():
    raw = line_of(TapeEntry.event("e"))[:-1]
    for place in range(len(raw) - 17, len(raw)):
        for byte in (0x00, 0x20, 0x7F):
            assert is_checked(raw[:place] + bytes([byte]) + raw[place + 1 :])
    for other in (b"", b"{}", b'{"id":1,"kind":"x","payload":{},"date":"2026-03-01T12:00:00.123456+00:00"}', b'{"id":1,"ab":"deadbeef"}'):
        assert not is_checked(other)


def test_bytes_that_are_no_entry_are_refused_even_with_a_checksum():
    for said in (b'{"id":"one"', b'{"id":1,"kind":"x"', b'{"id":1,"kind":"x","payload":{},"meta":{},"date":7'):
        with pytest.raises(BadLine, match="no entry"):
            load(b'%b,"~c":"%08x"}' % (said, crc32(said)))
