import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.lines import entry_from_json, entry_to_json, misfits
from playhead.errors import InvalidInput

WHOLE = {"id": 3, "kind": "invoice", "payload": {"n": 1}, "meta": {"uid": "u"}, "date": "2026-03-01T00:00:00.000000+00:00"}


def test_an_entry_reads_back_as_it_was_written():
    entry = TapeEntry(3, "invoice", {"n": 1}, {"uid": "u"}, "2026-03-01")
    assert entry_to_json(entry) == WHOLE
    assert entry_from_json(WHOLE) == entry


def test_what_is_absent_or_null_gets_its_usual_value():
    for value in ({"kind": "k", "payload": {}}, {"kind": "k", "payload": {}, "id": None, "meta": None, "date": None}):
        entry = entry_from_json(value)
        assert (entry.id, entry.meta, bool(entry.date)) == (0, {}, True)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"id": "3"}, "id is a whole number, not '3'"),
        ({"id": 3.0}, "id is a whole number"),
        ({"id": True}, "id is a whole number"),
        ({"meta": ["a"]}, r"meta is an object, not \['a'\]"),
        ({"date": 1_700_000_000}, "date is an ISO text"),
        ({"payloads": {}}, "no field 'payloads', only id, kind, payload, meta and date"),
        ({"kind": 3}, "text kind"),
        ({"payload": []}, "object payload"),
    ],
)
def test_an_odd_field_is_refused_not_dropped(odd, message):
    with pytest.raises(InvalidInput, match=message):
        entry_from_json({**WHOLE, **odd})


def test_what_no_entry_has_is_told():
    assert misfits({**WHOLE, "id": 2.5, "more": None}) == {"id": 2.5, "more": None}
    assert misfits(WHOLE) == {}
