import copy
import json
import math
import pickle

import pytest

from playhead.entry.frozen import MAX_DEPTH, FrozenDict, FrozenList, freeze, freeze_dict, thaw
from playhead.errors import UnstorableValue


def test_a_frozen_value_reads_prints_and_dumps_like_a_plain_one():
    plain = {"a": [1, {"b": "ü"}], "c": None}
    frozen = freeze(plain)
    assert isinstance(frozen, dict) and isinstance(frozen["a"], list)
    assert frozen == plain
    assert repr(frozen) == repr(plain)
    assert json.dumps(frozen) == json.dumps(plain)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 1),
        lambda d: d.__delitem__("a"),
        lambda d: d.update(b=1),
        lambda d: d.setdefault("b", 1),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
        lambda d: d.__ior__({"b": 1}),
        lambda d: d["a"].append(1),
        lambda d: d["a"].extend([1]),
        lambda d: d["a"].insert(0, 1),
        lambda d: d["a"].__setitem__(0, 9),
        lambda d: d["a"].__delitem__(0),
        lambda d: d["a"].remove(1),
        lambda d: d["a"].pop(),
        lambda d: d["a"].clear(),
        lambda d: d["a"].sort(),
        lambda d: d["a"].reverse(),
        lambda d: d["a"].__iadd__([1]),
        lambda d: d["a"].__imul__(2),
    ],
)
def test_every_way_to_change_a_frozen_value_is_refused(change):
    frozen = freeze({"a": [1, 2]})
    with pytest.raises(TypeError, match="thaw"):
        change(frozen)
    assert frozen == {"a": [1, 2]}


def test_thaw_gives_a_deep_copy_that_may_change():
    frozen = freeze({"a": [1, {"b": 2}]})
    plain = thaw(frozen)
    plain["a"][1]["b"] = 3
    assert type(plain) is dict and type(plain["a"]) is list
    assert frozen == {"a": [1, {"b": 2}]}


def test_copies_and_pickles_stay_equal_and_frozen():
    frozen = freeze({"a": [1]})
    assert copy.deepcopy(frozen) is frozen and copy.copy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen and type(again) is FrozenDict and type(again["a"]) is FrozenList
    assert type(frozen.copy()) is dict and type(frozen["a"].copy()) is list


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {1, 2}}, "payload.a"),
        ({"a": [0, b"x"]}, "payload.a[1]"),
        ({"a": math.nan}, "payload.a"),
        ({"a": [math.inf]}, "payload.a[0]"),
        ({"a": -math.inf}, "payload.a"),
        ({1: "a"}, "payload"),
        ({"a": object()}, "payload.a"),
        ({"a": 10**5000}, "payload.a"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value, path):
    with pytest.raises(UnstorableValue) as caught:
        freeze(value)
    assert caught.value.path == path
    assert path in str(caught.value)


def test_nesting_is_kept_up_to_the_limit_and_refused_beyond():
    def nested(depth):
        value = "x"
        for _ in range(depth):
            value = [value]
        return value

    assert thaw(freeze(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(UnstorableValue, match="nested deeper"):
        freeze(nested(MAX_DEPTH + 1))


def test_a_cycle_is_refused_like_endless_nesting():
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(UnstorableValue):
        freeze(cycle)


def test_tuples_become_lists_and_subclasses_their_plain_types():
    class Word(str):
        pass

    frozen = freeze({"t": (1, 2), "w": Word("x"), "b": True})
    assert frozen == {"t": [1, 2], "w": "x", "b": True}
    assert type(frozen["w"]) is str


def test_two_halves_of_a_surrogate_pair_become_one_character_and_a_lone_half_stays():
    assert freeze({"a": "\ud83d\ude00"}) == {"a": "😀"}
    assert freeze({"a": "x\udc97"}) == {"a": "x\udc97"}
    assert list(freeze({"\ud83d\ude00": 1})) == ["😀"]


def test_only_a_mapping_is_a_payload():
    with pytest.raises(UnstorableValue, match="expected a mapping, got list"):
        freeze_dict([1])  # type: ignore[arg-type]


def test_making_a_frozen_dict_checks_and_freezes_what_it_is_given():
    with pytest.raises(UnstorableValue):
        FrozenDict({"v": math.nan})
    with pytest.raises(UnstorableValue):
        FrozenList([{1}])
    nested = FrozenDict({"a": FrozenDict({"b": [1]})}, c=(2,))
    assert nested == {"a": {"b": [1]}, "c": [2]}
    with pytest.raises(TypeError):
        nested["a"]["b"].append(2)


def test_calling_init_again_changes_nothing():
    frozen, listed = FrozenDict({"a": 1}), FrozenList([1])
    frozen.__init__({"b": 2})  # type: ignore[misc]
    listed.__init__([2])  # type: ignore[misc]
    assert frozen == {"a": 1} and listed == [1]


def test_a_frozen_value_put_deeper_is_measured_from_there():
    value = freeze({"a": 1})
    for _ in range(MAX_DEPTH - 1):
        value = freeze({"a": value})
    with pytest.raises(UnstorableValue, match="nested deeper"):
        freeze({"a": {"b": value}})


def test_keys_that_become_one_are_refused_not_merged():
    halves = {"\ud83d\ude00": 1, "😀": 2}
    for freezing in (freeze, FrozenDict):
        with pytest.raises(UnstorableValue, match="two keys of it are one text"):
            freezing({"a": halves} if freezing is freeze else halves)
    apart = dict(zip("\ud83d\ude00", (1, 2), strict=True))
    assert freeze(apart) == apart
