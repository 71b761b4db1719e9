"""Words that are near another: how many letters were left out, added, changed or swapped."""

from __future__ import annotations

SHORTEST = 4
"""From how many letters on a word may hold a typo."""

LONG = 8
"""From how many letters on it may hold two."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def typos_in(word: str) -> int:
    """Return how many typos a word may hold; none where it has a digit, as numbers that differ are others."""
    if len(word) < SHORTEST or not word.isalpha():
        return 0
    return 2 if len(word) >= LONG else 1


def other_beginnings(word: str) -> set[str]:
    """Return the words of plain letters that become this one where their first letter is mistaken or left out."""
    return {letter + rest for letter in _LETTERS for rest in (word, word[1:])} - {word}


def typed_otherwise(word: str) -> set[str]:
    """Return the words of plain letters that become this one by one typo."""
    parts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    added = {front + back[1:] for front, back in parts if back}
    swapped = {front + back[1] + back[0] + back[2:] for front, back in parts if len(back) > 1}
    changed = {front + letter + back[1:] for front, back in parts if back for letter in _LETTERS}
    left_out = {front + letter + back for front, back in parts for letter in _LETTERS}
    return (added | swapped | changed | left_out) - {word}


def distance(one: str, other: str, *, most: int) -> int:
    """Return how many typos lie between two words, `most` + 1 where there are more.

    A typo is a letter left out, added, or changed, or two neighbours swapped (optimal string alignment).
    """
    if abs(len(one) - len(other)) > most or max(len({*one}.difference(other)), len({*other}.difference(one))) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if earlier and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:
            return most + 1
    return min(row[-1], most + 1)
