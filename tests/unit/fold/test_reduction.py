"""What the entries of a fold sidecar come to: what stands, what is shown, and what is left out with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playhead.entry.entry import TapeEntry, placed, stamped
from playhead.fold.forest import Cut
from playhead.fold.ledger import entries, reduction
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.numbering import Numbering
from playhead.fold.ledger.reduction import advance
from playhead.fold.ledger.state import Ledger
from playhead.fold.node import Node, NodeDraft
from tests.unit.fold.telling import at

FAILED = {"regime": "r", "rung": "plain_prose", "shape": "f00", "outcome": "refused", "model": "m"}


class Sidecar:
    """A ledger over a main tape with the entries m1, m2, ... at 1, 2, ..."""

    def __init__(self, main: int = 20) -> None:
        self.ledger = Ledger()
        self.known = Known()
        self.known.places |= {f"m{n}": n for n in range(1, main + 1)} | {"gone": 0}
        self.seen: dict[str, Node] = {}

    def add(self, *written: TapeEntry) -> list[str]:
        """Take entries in, one by one, and return their uids."""
        stored = [placed(stamped(entry), id=self.ledger.upto + n) for n, entry in enumerate(written, 1)]
        for entry in stored:
            self.known.nodes = {**dict.fromkeys(self.known.nodes), **self.seen, "nobody": None}
            self.ledger = advance(self.ledger, [entry], self.known)
            self.seen |= {root.uid: root for root in self.ledger.roots}
        return [entry.uid for entry in stored]

    def tell(self, first: int, last: int, **facts: object) -> str:
        return self.add(entries.node_entry(replace(draft(first, last), **facts), id=f"L1-{self.ledger.numbering.counter + 1}"))[0]

    def merge(self, *uids: str, **facts: object) -> str:
        nodes = [self.seen[uid] for uid in uids]
        known = {"level": nodes[0].level + 1, "children": tuple(uids), **facts}
        return self.add(entries.node_entry(replace(draft(nodes[0].first, nodes[-1].last), **known), id=f"L2-{self.ledger.numbering.counter + 1}"))[0]

    def fail(self, first: int, last: int, *, level: int = 1, children: tuple[str, ...] = (), is_stuck: bool = True) -> None:
        self.add(entries.outcome_entry(first_uid=f"m{first}", last_uid=f"m{last}", entries=last - first + 1, level=level, children=children, is_stuck=is_stuck, **FAILED))

    def show(self, *uids: str) -> None:
        self.add(entries.cut_entry(Cut(nodes=uids, room=100, resolver="r")))

    @property
    def spans(self) -> list[tuple[str, int, int]]:
        return [(root.id, root.first, root.last) for root in self.ledger.roots]

    @property
    def shown(self) -> list[str]:
        return [] if self.ledger.cut is None else [self.seen[uid].id for uid in self.ledger.cut.nodes]

    def left_out(self, reason: str) -> bool:
        """Whether one entry was left out, for this reason."""
        return dict(self.ledger.ignored) == {reason: 1}


def draft(first: int, last: int) -> NodeDraft:
    return NodeDraft(level=1, first_uid=f"m{first}", last_uid=f"m{last}", entries=last - first + 1, units=1, raw_tokens=10, text="told", since=at(first), until=at(last))


@pytest.fixture
def side() -> Sidecar:
    return Sidecar()


# -- summaries


def test_a_summary_owns_the_run_of_entries_that_it_names(side):
    side.tell(3, 5)
    side.tell(1, 2)
    assert side.spans == [("L1-2", 1, 2), ("L1-1", 3, 5)]
    assert (dict(side.ledger.counts), dict(side.ledger.ignored)) == ({1: 2}, {})


@pytest.mark.parametrize("span", [(1, 3), (3, 4), (2, 2), (1, 9), (4, 8)])
def test_no_span_is_told_twice_whatever_the_text(side, span):
    side.tell(2, 4)
    side.tell(*span, text="another text")
    assert side.spans == [("L1-1", 2, 4)]
    assert side.left_out(reduction.TOLD)


def test_a_summary_whose_ends_are_not_on_the_tape_is_left_out(side):
    side.tell(1, 2, last_uid="gone")
    assert not side.spans and side.left_out(reduction.NOT_THERE)


@pytest.mark.parametrize("facts", [{"entries": 3}, {"entries": 1}, {"first_uid": "m2", "last_uid": "m1"}])
def test_a_summary_whose_span_is_not_as_long_here_is_left_out(side, facts):
    side.tell(1, 2, **facts)
    assert not side.spans and side.left_out(reduction.NOT_WHOLE)


def test_a_merge_takes_the_place_of_what_it_was_merged_from(side):
    one, other, later = side.tell(1, 2), side.tell(3, 4), side.tell(5, 6)
    upper = side.merge(one, other)
    assert side.spans == [("L2-4", 1, 4), ("L1-3", 5, 6)]
    third = side.tell(7, 8)
    side.merge(upper, side.merge(later, third))
    assert side.spans == [("L3-7", 1, 8)]
    assert dict(side.ledger.counts) == {1: 4, 2: 2, 3: 1}


@pytest.mark.parametrize(
    "facts",
    [
        {"level": 3},
        {"last_uid": "m5", "entries": 5},
        {"last_uid": "m3", "entries": 3},
        {"children": ("nobody", "nobody too")},
    ],
)
def test_a_merge_that_does_not_fit_what_it_merges_is_left_out(side, facts):
    one, other = side.tell(1, 2), side.tell(3, 4)
    side.merge(one, other, **facts)
    assert side.spans == [("L1-1", 1, 2), ("L1-2", 3, 4)]
    assert side.left_out(reduction.NO_ROOTS)


def test_a_merge_never_owns_both_sides_of_a_hole(side):
    one, other = side.tell(1, 2), side.tell(4, 5)
    side.merge(one, other)
    assert len(side.spans) == 2 and side.left_out(reduction.NO_ROOTS)


def test_a_merge_over_what_has_a_parent_is_left_out_as_a_whole(side):
    one, other, third = side.tell(1, 2), side.tell(3, 4), side.tell(5, 6)
    side.merge(one, other)
    side.merge(other, third)
    assert side.spans == [("L2-4", 1, 4), ("L1-3", 5, 6)] and side.left_out(reduction.NO_ROOTS)


def test_a_merge_that_leaves_one_in_the_middle_out_is_left_out(side):
    one, _, third = side.tell(1, 2), side.tell(3, 4), side.tell(5, 6)
    side.merge(one, third)
    assert len(side.spans) == 3 and side.left_out(reduction.NO_ROOTS)


def test_a_merge_of_different_levels_is_left_out(side):
    upper = side.merge(side.tell(1, 2), side.tell(3, 4))
    side.merge(upper, side.tell(5, 6))
    assert len(side.spans) == 2 and side.left_out(reduction.NO_ROOTS)


def test_a_number_that_was_given_twice_is_the_next_one_for_the_later(side):
    side.add(*(entries.node_entry(draft(n, n), id=id) for n, id in enumerate(("L1-4", "L1-4", "L1-2", "L1-?", "L1-9", "L1-10"), 1)))
    assert [root.id for root in side.ledger.roots] == ["L1-4", "L1-5", "L1-6", "L1-7", "L1-9", "L1-10"]
    assert side.ledger.numbering.counter == 10


def test_a_number_can_be_told_from_where_its_entry_stands():
    numbering = Numbering()
    written = [1, 2, 3, 3, 4, 5, 9, 1, 10, 11]
    numbers = []
    for place, number in enumerate(written, 1):
        numbering = numbering.behind(entry=10 * place, written=number)
        numbers.append(numbering.counter)
    assert numbers == [1, 2, 3, 4, 5, 6, 9, 10, 11, 12]
    assert [numbering.number(entry=10 * place, written=number) for place, number in enumerate(written, 1)] == numbers


# -- what is forgotten


def test_what_is_forgotten_is_raw_again_and_can_be_told_anew(side):
    one = side.tell(1, 2)
    side.add(entries.forgotten_entry(one, "told anew"))
    assert not side.spans and not side.ledger.counts
    side.tell(1, 3)
    assert side.spans == [("L1-2", 1, 3)] and not side.ledger.ignored


def test_what_stands_on_what_is_forgotten_goes_with_it_and_the_rest_stands_alone(side):
    leaves = [side.tell(2 * n + 1, 2 * n + 2) for n in range(6)]
    halves = [side.merge(*leaves[:3]), side.merge(*leaves[3:])]
    side.merge(*halves)
    side.add(entries.forgotten_entry(leaves[1], "wrong"))
    assert side.spans == [("L1-1", 1, 2), ("L1-3", 5, 6), ("L2-8", 7, 12)]
    assert dict(side.ledger.counts) == {1: 5, 2: 1}


def test_a_merge_that_is_forgotten_leaves_what_it_merged(side):
    leaves = [side.tell(1, 2), side.tell(3, 4)]
    upper = side.merge(*leaves)
    side.add(entries.forgotten_entry(upper, "too short"))
    assert side.spans == [("L1-1", 1, 2), ("L1-2", 3, 4)]
    side.merge(*leaves)
    assert side.spans == [("L2-4", 1, 4)]


@pytest.mark.parametrize("node", ["nobody", None])
def test_what_does_not_stand_cannot_be_forgotten(side, node):
    one = side.tell(1, 2)
    side.add(entries.forgotten_entry(one, "once"))
    side.add(entries.forgotten_entry(node or one, "twice"))
    assert side.left_out(reduction.NOT_STANDING)


# -- what is shown


def test_the_newest_cut_of_what_stands_counts(side):
    one, other, third = side.tell(1, 2), side.tell(3, 4), side.tell(6, 7)
    side.show(one)
    upper = side.merge(one, other)
    side.show(upper, third)
    assert side.shown == ["L2-4", "L1-3"]
    side.show(other, third)
    assert side.shown == ["L1-2", "L1-3"]
    side.show()
    assert side.shown == [] and not side.ledger.ignored


def test_a_cut_that_is_not_in_order_or_shows_something_twice_leaves_the_one_before(side):
    one, other = side.tell(1, 2), side.tell(3, 4)
    upper = side.merge(one, other)
    side.show(upper)
    side.show(other, one)
    side.show(one, upper)
    side.show(one, one)
    assert side.shown == ["L2-3"]
    assert dict(side.ledger.ignored) == {reduction.NOT_IN_ORDER: 3}


def test_a_cut_of_what_does_not_stand_leaves_the_one_before(side):
    one, other = side.tell(1, 2), side.tell(3, 4)
    side.show(one)
    side.add(entries.forgotten_entry(other, "wrong"))
    side.show(one, other)
    side.show("nobody")
    assert side.shown == ["L1-1"]
    assert dict(side.ledger.ignored) == {reduction.NOT_STANDING: 2}


def test_where_something_shown_is_forgotten_what_was_below_it_is_shown(side):
    leaves = [side.tell(2 * n + 1, 2 * n + 2) for n in range(7)]
    halves = [side.merge(*leaves[:3]), side.merge(*leaves[3:6])]
    top = side.merge(*halves)
    side.show(top, leaves[6])
    side.add(entries.forgotten_entry(leaves[1], "wrong"))
    assert side.shown == ["L1-1", "L1-3", "L2-9", "L1-7"]
    side.add(entries.forgotten_entry(leaves[6], "wrong"))
    assert side.shown == ["L1-1", "L1-3", "L2-9"]


def test_what_must_be_looked_up_for_a_cut_is_asked_for_at_once():
    side = Sidecar()
    leaves = [side.tell(2 * n + 1, 2 * n + 2) for n in range(8)]
    side.merge(side.merge(*leaves[:2]), side.merge(*leaves[2:4]))
    side.merge(side.merge(*leaves[4:6]), side.merge(*leaves[6:]))
    side.known.nodes = {uid: side.seen[uid] for uid in (leaves[0], leaves[5])}
    with pytest.raises(Unread) as unread:
        advance(side.ledger, [placed(stamped(entries.cut_entry(Cut(nodes=(leaves[0], leaves[5]), room=1, resolver="r"))), id=50)], side.known)
    assert unread.value.nodes == {uid for root in side.ledger.roots for uid in root.children}


# -- pins and locks


def test_a_pin_may_name_its_ends_in_either_order(side):
    side.add(entries.pin_entry("pin-1", first_uid="m7", last_uid="m3", name="plan"))
    (pin,) = side.ledger.pins
    assert (pin.first, pin.last, pin.first_uid, pin.last_uid, pin.name) == (3, 7, "m3", "m7", "plan")


def test_a_pin_whose_end_is_not_on_the_tape_is_kept_and_counts_for_nothing(side):
    side.add(entries.pin_entry("pin-1", first_uid="gone", last_uid="m3"))
    assert [(pin.first, pin.last) for pin in side.ledger.pins] == [(0, 3)]


def test_pins_that_two_branches_called_alike_are_told_apart(side):
    one, other = side.add(entries.pin_entry("pin-1", first_uid="m1", last_uid="m1"), entries.pin_entry("pin-1", first_uid="m2", last_uid="m2"))
    assert [(pin.id, pin.uid) for pin in side.ledger.pins] == [("pin-1", one), ("pin-2", other)]
    side.add(entries.unpin_entry("pin-1", uid=other))
    assert [pin.id for pin in side.ledger.pins] == ["pin-1"]
    side.add(entries.pin_entry("pin-2", first_uid="m2", last_uid="m2"), entries.unpin_entry("pin-1"))
    assert [pin.id for pin in side.ledger.pins] == ["pin-3"]


def test_a_pin_is_taken_away_once(side):
    side.add(entries.pin_entry("pin-1", first_uid="m1", last_uid="m1"), entries.unpin_entry("pin-1"), entries.unpin_entry("pin-1"))
    assert not side.ledger.pins and side.left_out(reduction.NO_PIN)


def test_a_lock_holds_until_it_is_taken_away(side):
    side.add(entries.lock_entry("m5"), entries.lock_entry("m2"), entries.lock_entry("m5"))
    assert dict(side.ledger.locks) == {"m5": 5, "m2": 2}
    side.add(entries.unlock_entry("m5"), entries.unlock_entry("m5"))
    assert dict(side.ledger.locks) == {"m2": 2} and side.left_out(reduction.NO_LOCK)


def test_a_lock_of_what_is_not_on_the_tape_is_left_out(side):
    side.add(entries.lock_entry("gone"))
    assert not side.ledger.locks and side.left_out(reduction.NO_TARGET)


# -- what failed


def test_what_failed_counts_until_a_summary_stands_over_it(side):
    side.fail(1, 2)
    side.fail(3, 4)
    side.fail(5, 6, is_stuck=False)
    assert [(o.first, o.last, o.is_stuck) for o in side.ledger.outcomes] == [(1, 2, True), (3, 4, True), (5, 6, False)]
    side.tell(1, 2)
    side.tell(4, 5)
    assert not side.ledger.outcomes


def test_a_merge_that_failed_counts_until_it_was_merged_otherwise(side):
    leaves = [side.tell(2 * n + 1, 2 * n + 2) for n in range(4)]
    side.fail(1, 6, level=2, children=tuple(leaves[:3]))
    side.fail(7, 8, level=2, children=(leaves[3],))
    side.tell(9, 10)
    assert len(side.ledger.outcomes) == 2
    side.merge(*leaves[:2])
    assert [o.first for o in side.ledger.outcomes] == [7]


def test_a_merge_that_failed_counts_no_longer_where_a_part_of_it_is_forgotten(side):
    leaves = [side.tell(1, 2), side.tell(3, 4), side.tell(5, 6)]
    side.fail(1, 4, level=2, children=tuple(leaves[:2]))
    side.add(entries.forgotten_entry(leaves[2], "elsewhere"))
    assert len(side.ledger.outcomes) == 1
    side.add(entries.forgotten_entry(leaves[1], "a part"))
    assert not side.ledger.outcomes


def test_what_failed_is_left_out_where_it_is_told_by_now(side):
    one = side.tell(1, 2)
    side.fail(2, 3)
    side.fail(1, 4, level=2, children=(one, "nobody"))
    assert not side.ledger.outcomes
    assert dict(side.ledger.ignored) == {reduction.TOLD: 1, reduction.NO_ROOTS: 1}


def test_what_failed_can_be_lifted_for_its_level_alone(side):
    leaves = [side.tell(1, 2), side.tell(3, 4)]
    side.fail(1, 4, level=2, children=tuple(leaves))
    side.fail(5, 6)
    side.add(entries.cleared_entry("m5", 2), entries.cleared_entry("m5", 1))
    assert [o.level for o in side.ledger.outcomes] == [2] and side.left_out(reduction.NO_OUTCOME)
    side.add(entries.cleared_entry("m1", 2))
    assert not side.ledger.outcomes


# -- the rest


def test_the_newest_calibration_counts(side):
    side.add(entries.calibration_entry(1.5, "one"), entries.calibration_entry(1.25, "two"))
    assert (side.ledger.factor, side.ledger.factor_epoch) == (1.25, "two")


def test_when_the_newest_summary_was_written_is_known(side):
    side.add(*(replace(entries.node_entry(draft(n, n), id=f"L1-{n}"), date=date) for n, date in enumerate(("2026-01-02", "2026-01-05", "2026-01-03"), 1)))
    assert str(side.ledger.last_written) == "2026-01-05 00:00:00+00:00"


def test_what_others_keep_on_the_sidecar_passes_uncounted(side):
    side.add(TapeEntry.event("note", {"text": "x"}), TapeEntry(0, "forest.other", {}))
    assert side.ledger == replace(Ledger(), upto=2, last=side.ledger.last)


def test_what_cannot_be_read_is_counted_and_changes_nothing(side):
    side.tell(1, 2)
    before = side.ledger
    side.add(TapeEntry(0, "fold.node", {"id": "L1-2", "level": "one"}), TapeEntry(0, "fold.cut", {}), TapeEntry(0, "fold.cut", {"nodes": 3}))
    assert dict(side.ledger.ignored) == {"a fold.node that cannot be read": 1, "a fold.cut that cannot be read": 2}
    assert (side.ledger.roots, side.ledger.cut) == (before.roots, before.cut)


def test_a_page_comes_to_the_same_as_its_entries_one_by_one():
    side = Sidecar()
    leaves = [side.tell(2 * n + 1, 2 * n + 2) for n in range(4)]
    upper = side.merge(*leaves[:2])
    side.show(upper, leaves[2])
    side.add(entries.forgotten_entry(leaves[0], "wrong"))
    written = [
        *(entries.node_entry(draft(2 * n + 1, 2 * n + 2), id=f"L1-{n + 1}") for n in range(4)),
        entries.node_entry(replace(draft(1, 4), level=2, children=tuple(leaves[:2])), id="L2-5"),
        entries.cut_entry(Cut(nodes=(upper, leaves[2]), room=100, resolver="r")),
        entries.forgotten_entry(leaves[0], "wrong"),
    ]
    page = [replace(placed(entry, id=n), meta={"uid": uid}) for n, (entry, uid) in enumerate(zip(written, [*leaves, upper, "cut", side.ledger.last], strict=True), 1)]
    whole = advance(Ledger(), page, side.known)
    assert [root.uid for root in whole.roots] == [root.uid for root in side.ledger.roots]
    assert (whole.cut, whole.counts, whole.numbering, whole.upto, whole.last) == (side.ledger.cut, side.ledger.counts, side.ledger.numbering, side.ledger.upto, side.ledger.last)
