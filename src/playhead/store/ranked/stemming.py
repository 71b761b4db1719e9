"""Light stemming of English words: plurals, -ed, -ing and -ly, so that what differs in its ending alone is one term.

A stem need be no word, only the same for all forms: "making", "makes", "made up" -> "mak", "mak", "made up". Words of other
languages that are written in plain letters lose such endings too, in what is searched and in what is looked for alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTEST = 4
"""Words of fewer letters stay as they are."""

LONGEST_ENDING = 8
"""How many letters a word may have more than its stem."""

_ENDINGS = (*(suffix + plural for suffix in ("", "ed", "ing", "ly", "edly", "ingly") for plural in ("", "s", "es")), "lies", "edlies", "inglies")
BACKWARDS = tuple(sorted({ending[place:][::-1] for ending in _ENDINGS for place in range(len(ending) + 1)}))
"""What words that are no verbs in -y end with, from the last letter on, to where their stem or some letter behind it ends."""

_HAS_VOWEL = re.compile("[aeiouy]").search
_DOUBLED = frozenset("bdfgmnprt")
_SIBILANT = ("ss", "x", "z", "ch", "sh")


def stem(word: str) -> str:
    """Return the stem of a word in small plain letters."""
    if len(word) < SHORTEST:
        return word
    return _without_e(_without_suffix(_singular(word)))


def forms(term: str, lengths: range) -> Iterator[str]:
    """Yield the words of some lengths whose stem a term may be: those that end as `stem` leaves out, among them some whose stem is another."""
    if not (term.isascii() and term.isalpha()):
        yield from (term,) if len(term) in lengths else ()
        return
    for beginning in (term, f"{term}e", term + term[-1]):
        yield from (beginning + ending for ending in _ENDINGS if len(beginning) + len(ending) in lengths)
    rare = [f"{term}d", f"{term}ds"]
    if term.endswith("y"):
        rare += (term[:-1] + ending for ending in ("ied", "ies", "ieds"))
    yield from (form for form in rare if len(form) in lengths)


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > SHORTEST else word[:-1]
    if word.endswith("es") and word[:-2].endswith(_SIBILANT):
        return word[:-2]
    return word[:-1]


def _without_suffix(word: str) -> str:
    if word.endswith(("ied", "eed")):
        return word if len(word) <= SHORTEST else f"{word[:-3]}y" if word.endswith("ied") else word[:-1]
    for suffix in ("ingly", "edly", "ing", "ed", "ly"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) > 2 and _HAS_VOWEL(rest):
            return rest[:-1] if suffix != "ly" and rest[-1] == rest[-2] and rest[-1] in _DOUBLED else rest
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) >= SHORTEST and not word.endswith("ee") else word
