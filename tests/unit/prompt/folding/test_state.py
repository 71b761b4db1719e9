"""What is shown before anything was chosen, and what of the shown can be shown beside pins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playhead.fold.forest import Forest, Pin, held_raw
from playhead.prompt.folding.state import FoldState, beginning, touches, usable
from tests.unit.fold.choosing import node

LEAVES = [node(1, first, first + 9, uid=f"a{first}") for first in range(1, 61, 10)]
PAIRS = [replace(node(2, first, first + 19, uid=f"b{first}", children=(f"a{first}", f"a{first + 10}")), raw_tokens=6_000) for first in (1, 21)]
TOP = replace(node(3, 1, 40, uid="c1", children=("b1", "b21")), raw_tokens=12_000)


def forest(*loaded, roots):
    return Forest(roots=tuple(roots), nodes={one.uid: one for one in loaded})


WHOLE = forest(*LEAVES, *PAIRS, TOP, roots=[TOP, *LEAVES[4:]])


def uids(nodes):
    return [one.uid for one in nodes]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (0, ["c1", "a41", "a51"]),
        (3_000, ["c1", "a41"]),
        (6_000, ["c1"]),
        (6_001, ["b1", "a21", "a31"]),
        (12_000, ["b1"]),
        (15_000, ["a1"]),
        (18_000, []),
        (100_000, []),
    ],
)
def test_the_newest_is_raw_as_far_as_the_room_could_hold_it_and_all_before_as_high_as_it_goes(room, expected):
    assert uids(beginning(WHOLE, (), room=room)) == expected


def test_what_was_not_looked_into_is_not_taken_apart():
    assert uids(beginning(forest(TOP, roots=[TOP]), (), room=100)) == ["c1"]


def test_a_summary_over_something_raw_gives_way_to_those_below_it():
    assert uids(usable([TOP], WHOLE, [(15, 16)])) == ["a1", "b21"]
    assert uids(usable([TOP], WHOLE, [(1, 40)])) == []
    assert uids(usable([TOP], forest(TOP, roots=[TOP]), [(15, 16)])) == []
    assert uids(usable([TOP], WHOLE, [])) == ["c1"]


def test_touching_is_to_share_an_entry():
    assert touches(LEAVES[0], [(10, 12)]) and touches(LEAVES[0], [(0, 1)]) and not touches(LEAVES[0], [(11, 12), (0, 0)])


def test_only_pins_whose_ends_are_on_the_tape_hold_something():
    def pin(first, last):
        return Pin(id="p", first=first, last=last, first_uid="x", last_uid="y", name=None, kind="range", level=None, max_level=None, uid=f"{first}")

    assert held_raw(Forest(pins=(pin(5, 6), pin(0, 9), pin(1, 2), pin(3, 0)))) == ((1, 2), (5, 6))


def test_what_is_folded_is_what_is_shown():
    assert FoldState(forest=WHOLE, shown=(LEAVES[0], PAIRS[1])).folded == ((1, 10), (21, 40))
