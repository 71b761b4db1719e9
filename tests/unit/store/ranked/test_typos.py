from itertools import product

import pytest

from playhead.store.ranked.typos import compared, distance, typos_in


def edits(word, letters):
    """Return every word that is one typo away."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    left_out = {a + b[1:] for a, b in splits if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    changed = {a + c + b[1:] for a, b in splits if b for c in letters}
    added = {a + c + b for a, b in splits for c in letters}
    return (left_out | swapped | changed | added) - {word}


def test_what_one_edit_makes_is_one_typo_away_and_nothing_else():
    words = ["".join(letters) for size in (2, 3) for letters in product("ab", repeat=size)]
    for word in words:
        near = edits(word, "ab")
        for other in words:
            assert (distance(word, other, most=1) == 1) == (other in near), (word, other)


def test_distances_beyond_the_most_are_all_alike():
    assert [distance("timeout", other, most=2) for other in ("timeout", "timeot", "tmieuot", "tomato", "x" * 40, "")] == [0, 1, 2, 3, 3, 3]
    assert distance("ab", "ba", most=1) == 1 and distance("abcd", "badc", most=2) == 2


@pytest.mark.parametrize(("word", "most"), [("vpn", 0), ("rack", 1), ("timeout", 1), ("database", 2), ("a117", 0), ("1194", 0), ("привет", 1), ("नमस्ते", 1), ("٤٤٤٤٤", 0)])
def test_longer_words_may_hold_more_typos_and_numbers_none(word, most):
    assert typos_in(word) == most


def test_words_that_are_compared_at_once_are_those_that_begin_near_the_other():
    words = sorted("".join(letters) for size in (1, 2, 3, 4) for letters in product("ab", repeat=size))
    for other in ("abba", "bab", "aaabab"):
        for most in (1, 2):
            rows = {word: list(rows[-1]) for word, rows in compared(words, other, most=most)}
            for word in words:
                wanted = [distance(word, other[:length], most=most) for length in range(len(other) + 1)]
                assert [min(typos, most + 1) for typos in rows.get(word, [most + 1] * len(wanted))] == wanted, (word, other)
