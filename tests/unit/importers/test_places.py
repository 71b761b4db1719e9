from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.importers.places import Places, Tally, key_of

KEYS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9) | st.integers(0, 5).map(lambda n: n << 20), max_size=60)


@settings(deadline=None)
@given(KEYS)
def test_the_last_place_of_a_key_is_found(keys: list[int]) -> None:
    places, known = Places(), dict[int, int]()
    for place, key in enumerate(keys):
        assert places.add(key) == (known.get(key) if key else None)
        known[key] = place
    assert list(places.keys) == keys
    assert all(places.find(key) == (place if key else None) for key, place in known.items())
    assert places.find(12345) in (None, known.get(12345))


def test_a_table_grows_and_loses_nothing() -> None:
    places = Places()
    keys = [key_of(str(n)) for n in range(5000)]
    assert [places.add(key) for key in keys] == [None] * 5000
    assert [places.find(key) for key in keys] == list(range(5000))


@settings(deadline=None)
@given(st.lists(st.integers(1, 5)))
def test_a_tally_tells_how_often_a_key_came_before(keys: list[int]) -> None:
    tally, counted = Tally(), Counter[int]()
    for key in keys:
        assert tally.count(key) == counted[key]
        counted[key] += 1


def test_the_key_of_a_text_is_never_the_key_for_none() -> None:
    assert key_of("") != 0
    assert key_of("\ud800") != key_of("\ud801")
