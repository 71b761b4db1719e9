from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry, stamped
from playhead.store.rows.row import cell, date_text, entry_of, microseconds, row_of, text, uid_cell
from playhead.store.scan import holding, stands_as_written
from playhead.store.search import matches

characters = st.characters(exclude_categories=()) | st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF)
texts = st.text(characters, max_size=12)


@given(texts)
def test_any_text_comes_back_from_its_cell(value):
    assert text(cell(value)) == value


@given(st.datetimes(timezones=st.just(UTC)))
def test_any_date_comes_back_to_the_microsecond(at):
    assert datetime.fromisoformat(date_text(microseconds(at))) == at
    assert len(date_text(microseconds(at))) == 32


@pytest.mark.parametrize(
    ("uid", "size"),
    [
        ("0190a0b0-0000-7000-8000-00000000000f", 16),
        ("0190A0B0-0000-7000-8000-00000000000F", 36),
        ("0190a0b0000070008000000000000000000f", 36),
        ("0190a0b0-0000-7000-8000-00000000000g", 36),
        ("x", 1),
    ],
)
def test_only_a_uuid_in_its_usual_form_is_kept_as_sixteen_bytes(uid, size):
    assert len(uid_cell(uid)) == size


@given(st.dictionaries(texts, texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=3), texts.filter(bool))
def test_an_entry_comes_back_from_its_row(payload, kind):
    entry = stamped(TapeEntry(0, kind, payload, {"k": payload}, "2026-03-01T12:00:00.000001+00:00"))
    row = row_of(entry, entry.meta)
    assert entry_of((5 << 32 | 7, row.kind, row.ts, row.digest, row.meta, row.body), tape="t") == TapeEntry(7, kind, payload, entry.meta, entry.date)


scalars = texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(values, texts, st.data())
def test_passing_over_rows_undecoded_changes_no_answer(value, wanted, data):
    entry = stamped(TapeEntry.event("e", value))
    whole = repr(value)
    start = data.draw(st.integers(0, len(whole)))
    row = row_of(entry, entry.meta)
    for sought in (wanted, whole[start : start + 3], "é", "1e"):
        found = list(holding([(1, row.kind, row.ts, row.digest, row.meta, row.body)], sought, tape="t"))
        assert bool(found) == matches(entry, sought)


@pytest.mark.parametrize(("wanted", "plain"), [("vpn", True), ("ß", True), ("1e5", False), ("12", False), ("", False), ('"', False), ("a\nb", False), ("\ud800x", False), ("a\\", False)])
def test_only_a_text_that_json_writes_as_it_is_can_be_sought_undecoded(wanted, plain):
    assert stands_as_written(wanted) is plain
