import copy
import dataclasses
import pickle
from datetime import UTC, datetime

import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry, digest, placed, stamped
from playhead.errors import InvalidDate, InvalidInput, PlayheadError, UnstorableValue
from playhead.testing.clock import FakeClock


def test_an_entry_has_exactly_five_fields():
    assert [f.name for f in dataclasses.fields(TapeEntry)] == ["id", "kind", "payload", "meta", "date"]


@pytest.mark.parametrize(
    ("entry", "kind", "payload"),
    [
        (TapeEntry.message({"role": "user", "content": "hi"}), "message", {"role": "user", "content": "hi"}),
        (TapeEntry.system("be brief"), "system", {"content": "be brief"}),
        (TapeEntry.anchor("a"), "anchor", {"name": "a"}),
        (TapeEntry.anchor("a", {}), "anchor", {"name": "a", "state": {}}),
        (TapeEntry.tool_call([{"id": "1", "name": "f", "arguments": {}}]), "tool_call", {"calls": [{"id": "1", "name": "f", "arguments": {}}]}),
        (TapeEntry.tool_result(["ok", {"n": 1}]), "tool_result", {"results": ["ok", {"n": 1}]}),
        (TapeEntry.error(PlayheadError("k", "m")), "error", {"kind": "k", "message": "m"}),
        (TapeEntry.error(PlayheadError("k", "m", {"a": 1})), "error", {"kind": "k", "message": "m", "details": {"a": 1}}),
        (TapeEntry.error(ValueError("bad")), "error", {"kind": "ValueError", "message": "bad"}),
        (TapeEntry.event("e"), "event", {"name": "e"}),
        (TapeEntry.event("e", 0), "event", {"name": "e", "data": 0}),
    ],
)
def test_each_built_in_kind_has_its_payload(entry, kind, payload):
    assert (entry.id, entry.kind, entry.payload) == (0, kind, payload)


def test_meta_given_to_a_factory_is_kept():
    entry = TapeEntry.event("e", context=False, run_id="r")
    assert entry.meta == {"context": False, "run_id": "r"}


def test_later_edits_of_what_was_given_do_not_reach_the_entry():
    message = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    entry = TapeEntry.message(message)
    message["content"][0]["text"] = "b"
    message["role"] = "tool"
    assert entry.payload == {"role": "user", "content": [{"type": "text", "text": "a"}]}


def test_no_field_can_be_assigned():
    entry = TapeEntry.event("e")
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.kind = "x"  # type: ignore[misc]
    stored = TapeEntry.stored(id=1, kind="event", payload=b'{"name":"e"}', meta=b"{}", date=entry.date)
    with pytest.raises(dataclasses.FrozenInstanceError):
        stored.id = 2  # type: ignore[misc]


def test_a_copy_is_equal_and_its_own():
    entry = TapeEntry.message({"role": "user", "content": ["a"]}, x=[1])
    twin = entry.copy()
    assert twin == entry and twin is not entry
    assert twin.payload is not entry.payload and twin.meta is not entry.meta


def test_a_stored_entry_equals_the_one_that_was_written():
    entry = TapeEntry(3, "message", {"role": "user", "content": "ü\udc97"}, {"uid": "u"}, "2026-03-01T00:00:00Z")
    from playhead.entry import codec

    stored = TapeEntry.stored(id=3, kind="message", payload=codec.encode(entry.payload), meta=codec.encode(entry.meta), date=entry.date)
    assert stored == entry and entry == stored and hash(stored) == hash(entry)
    assert repr(stored) == repr(entry)
    assert pickle.loads(pickle.dumps(stored)) == entry
    assert copy.deepcopy(stored) == entry
    assert dataclasses.replace(stored, id=4) == dataclasses.replace(entry, id=4)
    assert stored.uid == "u"
    with pytest.raises(AttributeError):
        stored.nothing  # noqa: B018
    with pytest.raises(TypeError):
        stored.payload["role"] = "x"


def test_dates_are_written_in_one_form_whatever_zone_they_came_in():
    assert TapeEntry(0, "e", {}, {}, "2026-03-01T01:00:00+01:00").date == "2026-03-01T00:00:00.000000+00:00"
    assert TapeEntry(0, "e", {}, {}, "2026-03-01").date == "2026-03-01T00:00:00.000000+00:00"
    assert TapeEntry(0, "e", {}, {}, "2026-02-11T20:36:45.618Z").date == "2026-02-11T20:36:45.618000+00:00"


@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", "2026-03-01T00:00:00.000000+0000x+00:00", "xxxx-xx-xxTxx:xx:xx.xxxxxx+00:00"])
def test_a_text_that_is_no_date_is_refused(date):
    with pytest.raises(InvalidDate, match="Invalid ISO date or datetime"):
        TapeEntry(0, "e", {}, {}, date)


def test_a_new_entry_is_dated_by_the_clock():
    with clock.using(FakeClock(datetime(2026, 1, 2, tzinfo=UTC))):
        assert TapeEntry.event("e").date == "2026-01-02T00:00:00.000000+00:00"


@pytest.mark.parametrize("kind", ["", None, 3])
def test_a_kind_is_a_non_empty_text(kind):
    with pytest.raises(InvalidInput):
        TapeEntry(0, kind, {})


@pytest.mark.parametrize("id", [None, "1", True, 1.0])
def test_an_id_is_a_whole_number(id):
    with pytest.raises(InvalidInput):
        TapeEntry(id, "event", {})


def test_a_bad_meta_is_refused_with_its_path():
    with pytest.raises(UnstorableValue) as caught:
        TapeEntry.event("e", run={1})
    assert caught.value.path == "meta.run"


def test_a_uid_is_stamped_once_and_kept():
    entry = stamped(TapeEntry.event("e", x=1))
    assert len(entry.uid) == 36 and entry.uid[14] == "7"
    assert stamped(entry) is entry
    assert placed(entry, id=9).uid == entry.uid and placed(entry, id=9).id == 9


def test_uids_of_one_process_sort_in_the_order_they_were_made():
    uids = [clock.new_uid() for _ in range(10_000)]
    assert uids == sorted(set(uids))


def test_the_digest_depends_on_what_is_said_not_on_where_when_or_under_which_uid():
    one = TapeEntry(1, "event", {"name": "e"}, {"uid": "a"}, "2026-01-01")
    two = TapeEntry(7, "event", {"name": "e"}, {"uid": "b"}, "2026-01-02")
    assert digest(one) == digest(two)
    assert digest(one) != digest(TapeEntry(1, "event", {"name": "f"}, {"uid": "a"}, "2026-01-01"))


@pytest.mark.parametrize("date", ["2026-W06-3T20:36:45.618000+00:00", "20260204T203645.618000Z", "2026-02-04 20:36:45.618000+00:00"])
def test_other_iso_forms_are_written_in_ours(date):
    assert TapeEntry(0, "e", {}, {}, date).date == "2026-02-04T20:36:45.618000+00:00"
