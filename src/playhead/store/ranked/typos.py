"""Words that are near another: how many letters were left out, added, changed or swapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

SHORTEST = 4
"""From how many letters on a word may hold a typo."""

LONG = 8
"""From how many letters on it may hold two."""


def typos_in(word: str) -> int:
    """Return how many typos a word may hold; none where it has a digit, as numbers that differ are others."""
    if len(word) < SHORTEST or any(letter.isnumeric() for letter in word):
        return 0
    return 2 if len(word) >= LONG else 1


def distance(one: str, other: str, *, most: int) -> int:
    """Return how many typos lie between two words, `most` + 1 where there are more.

    A typo is a letter left out, added, or changed, or two neighbours swapped (optimal string alignment).
    """
    if abs(len(one) - len(other)) > most or max(len({*one}.difference(other)), len({*other}.difference(one))) > most:
        return most + 1
    return next((min(rows[-1][-1], most + 1) for _, rows in compared([one], other, most=most)), most + 1)


def compared(words: Iterable[str], other: str, *, most: int) -> Iterator[tuple[str, list[list[int]]]]:
    """Yield those words, which come sorted, that are no more than so many typos away from any beginning of another word.

    With each come rows that count for a moment: the i-th says how many typos lie between the first i letters of it and each beginning
    of the other, from none of it to all, any number above `most` where there are more. What words begin with alike is compared once.
    """
    rows = [list(range(len(other) + 1))]
    before = dead = ""
    for word in words:
        if dead and word.startswith(dead):
            continue
        same = _alike(before, word)
        del rows[same + 1 :]
        before, dead = word, ""
        for place in range(same, len(word)):
            rows.append(_row(rows, word, place, other, most=most))
            if min(rows[-1]) > most and min(rows[-2]) > most:
                before = dead = word[: place + 1]
                break
        else:
            yield word, rows


def _alike(one: str, other: str) -> int:
    """Return how many letters two words begin with alike."""
    for place, (letter, wanted) in enumerate(zip(one, other, strict=False)):
        if letter != wanted:
            return place
    return min(len(one), len(other))


def _row(rows: Sequence[Sequence[int]], word: str, place: int, other: str, *, most: int) -> list[int]:
    """Return the next row; places that are further apart than `most` are told as one more than that."""
    letter, above = word[place], rows[place]
    row = [most + 1] * (len(other) + 1)
    if place < most:
        row[0] = place + 1
    for j in range(max(0, place - most), min(len(other), place + most + 1)):
        wanted = other[j]
        cost = above[j] if letter == wanted else min(above[j], above[j + 1], row[j]) + 1
        if place and j and letter == other[j - 1] and word[place - 1] == wanted:
            cost = min(cost, rows[place - 1][j - 1] + 1)
        row[j + 1] = cost
    return row
