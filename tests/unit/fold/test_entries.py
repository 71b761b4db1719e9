"""The entries of a fold sidecar: what is written is read back, and what cannot be read is left out with a reason."""

import pytest

from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.frozen import thaw
from playhead.fold.forest import Cut, Outcome, Pin
from playhead.fold.ledger import entries, records
from playhead.fold.ledger.records import Calibration, Cleared, Forgotten, Lock, Noted, Unpin
from playhead.fold.node import NodeDraft
from playhead.tape.reduction import Ignored
from tests.unit.fold.telling import at

DRAFT = NodeDraft(
    level=2,
    first_uid="a",
    last_uid="b",
    entries=7,
    units=3,
    raw_tokens=900,
    text="Wir haben ein Café gefunden. 🙂",
    index=("src/app.py", "#12"),
    tools=("read", "write"),
    voice="reading",
    phase="order-reviewed",
    children=("x", "y"),
    since=at(0),
    until=at(5),
    model="anthropic:claude",
    how={"stop": "end_turn", "usage": {"input": 12}},
)
OUTCOME = {"first_uid": "a", "last_uid": "b", "level": 2, "regime": "r1", "rung": "plain_prose", "shape": "f00", "outcome": "refused", "model": "m"}


def test_a_summary_is_read_back_as_it_was_written():
    entry = entries.node_entry(DRAFT, id="L2-12")
    assert records.read(entry) == DRAFT
    assert records.number_in(entry.payload["id"]) == 12
    assert entry.kind == "fold.node"


def test_what_is_asked_of_summaries_is_read_back_as_it_was_written():
    cut = Cut(nodes=("x", "y"), room=9_000, resolver="flat-profile")
    assert records.read(entries.cut_entry(cut)) == cut
    pin = stamped(entries.pin_entry("pin-4", first_uid="a", last_uid="b", name="the plan", kind="document", level=0, max_level=2))
    assert records.read(pin) == Pin(id="pin-4", first=0, last=0, first_uid="a", last_uid="b", name="the plan", kind="document", level=0, max_level=2, uid=pin.uid)
    assert records.read(entries.unpin_entry("pin-4")) == Unpin(id="pin-4")
    assert records.read(entries.unpin_entry("pin-4", uid="u")) == Unpin(id="pin-4", uid="u")
    assert records.read(entries.lock_entry("a")) == Lock(target="a", is_set=True)
    assert records.read(entries.unlock_entry("a")) == Lock(target="a", is_set=False)


def test_what_failed_is_read_back_as_it_was_written():
    entry = entries.outcome_entry(**OUTCOME, entries=7, children=["x", "y"], is_stuck=True)
    found = records.read(entry)
    assert isinstance(found, Noted) and found.entries == 7
    assert found.outcome == Outcome(first=0, last=0, **OUTCOME, children=("x", "y"), is_stuck=True, at=found.outcome.at)
    assert records.read(entries.cleared_entry("a", 2)) == Cleared(first="a", level=2)
    assert records.read(entries.forgotten_entry("x", "told anew")) == Forgotten(node="x")
    assert records.read(entries.calibration_entry(1.25, "prices-1")) == Calibration(factor=1.25, epoch="prices-1")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("level", 0),
        ("level", True),
        ("level", 1.0),
        ("level", 10**30),
        ("first", ""),
        ("last", None),
        ("entries", 0),
        ("entries", "7"),
        ("units", -1),
        ("raw_tokens", None),
        ("text", ["x"]),
        ("index", "src/app.py"),
        ("tools", [1]),
        ("voice", "loud"),
        ("voice", ["normal"]),
        ("phase", 3),
        ("children", ["x"]),
        ("children", []),
        ("children", ["x", "x"]),
        ("since", "yesterday"),
        ("until", 5),
        ("model", 5),
        ("how", []),
    ],
)
def test_a_summary_that_makes_no_sense_is_left_out(field, value):
    entry = entries.node_entry(DRAFT, id="L2-12")
    with pytest.raises(Ignored, match=r"^a fold\.node that cannot be read$"):
        records.read(TapeEntry(0, entry.kind, {**thaw(entry.payload), field: value}))


@pytest.mark.parametrize("field", ["level", "first", "last", "entries", "units", "raw_tokens", "since", "until"])
def test_a_summary_without_what_it_must_say_is_left_out(field):
    entry = entries.node_entry(DRAFT, id="L2-12")
    with pytest.raises(Ignored):
        records.read(TapeEntry(0, entry.kind, {key: value for key, value in entry.payload.items() if key != field}))


def test_a_summary_over_raw_entries_names_no_others():
    entry = entries.node_entry(DRAFT, id="L1-12")
    with pytest.raises(Ignored):
        records.read(TapeEntry(0, entry.kind, {**thaw(entry.payload), "level": 1}))


def test_a_summary_may_leave_out_what_has_a_default():
    said = {key: value for key, value in entries.node_entry(DRAFT, id="L2-12").payload.items() if key not in ("id", "index", "tools", "voice", "phase", "model", "how")}
    found = records.read(TapeEntry(0, "fold.node", said))
    assert isinstance(found, NodeDraft)
    assert (found.text, found.index, found.voice, found.phase, found.how) == (DRAFT.text, (), "normal", None, {})


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_summary_that_says_nothing_is_none(text):
    with pytest.raises(Ignored):
        records.read(TapeEntry(0, "fold.node", {**entries.node_entry(DRAFT, id="L2-12").payload, "text": text}))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("fold.cut", {}),
        ("fold.cut", {"nodes": "x", "room": 1}),
        ("fold.cut", {"nodes": [], "room": -1}),
        ("fold.pin", {"id": "pin-1", "first": "a"}),
        ("fold.unpin", {"id": 1}),
        ("fold.lock", {}),
        ("fold.outcome", {"span": "a", "level": 1}),
        ("fold.outcome", {"span": {"first": "a", "last": "b", "entries": 2}, "level": 2, "children": []}),
        ("fold.outcome", {"span": {"first": "a", "last": "b", "entries": 2}, "level": 1, "children": ["x"]}),
        ("fold.cleared", {"first": "a"}),
        ("fold.forgotten", {"node": 7}),
        ("fold.calibration", {"factor": 0, "epoch": ""}),
        ("fold.calibration", {"factor": True, "epoch": ""}),
        ("fold.calibration", {"factor": "1", "epoch": ""}),
        ("fold.calibration", {"factor": 10**400, "epoch": ""}),
    ],
)
def test_what_cannot_be_read_is_left_out_by_its_kind(kind, said):
    with pytest.raises(Ignored, match=f"^a {kind} that cannot be read$"):
        records.read(TapeEntry(0, kind, said))


def test_a_kind_that_a_later_version_writes_is_left_out():
    with pytest.raises(Ignored, match="not known here"):
        records.read(TapeEntry(0, "fold.dream", {}))
    assert records.is_ours("fold.dream")
    assert not records.is_ours("forest.checkpoint")
    assert not records.is_ours("folder")


def test_a_pin_with_a_level_that_is_none_is_kept_without_it():
    said = thaw(entries.pin_entry("pin-1", first_uid="a", last_uid="b").payload)
    found = records.read(TapeEntry(0, "fold.pin", {**said, "level": -1, "max_level": "2", "kind": "poem", "name": 3}))
    assert isinstance(found, Pin)
    assert (found.level, found.max_level, found.kind, found.name) == (None, None, "range", None)


@pytest.mark.parametrize(("name", "number"), [("L1-3", 3), ("pin-12", 12), ("L1-", 0), ("L1-3x", 0), ("L1-²", 0), ("3", 0), (None, 0), (3, 0), ("L1-" + "9" * 16, 0), ("L1--3", 0)])
def test_the_number_of_an_id_is_what_it_ends_with(name, number):
    assert records.number_in(name) == number
