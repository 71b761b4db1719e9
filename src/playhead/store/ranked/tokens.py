"""The terms of a text: words without case and accents, stemmed; pairs of characters where a script writes no spaces.

`terms` are what an entry is found by, `asked` what a query asks for. A word in camel case is found by itself and by its parts.
Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are found by each pair of characters, and by a single one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from playhead.store.ranked.grammar import is_grammar
from playhead.store.ranked.stemming import stem

RULES = f"1/{unicodedata.unidata_version}"
"""Which rules make terms; an index made by other rules is made anew."""

LONGEST = 64
"""How many characters of a word count."""

OPAQUE = 256
"""From how many characters on a run without spaces is no text, but encoded bytes."""

_PLAIN = re.compile(r"[A-Za-z0-9]+")
_OPAQUE = re.compile(rf"[A-Za-z0-9+/=_-]{{{OPAQUE},}}")
_AFTER_APOSTROPHE = re.compile(r"(?<=[A-Za-z])['’][A-Za-z](?![A-Za-z0-9])")
_CAMEL = re.compile(r"[a-z][A-Z]").search
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Japanese
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Korean
    "\u3100-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese
)
_DENSE_RUNS = re.compile(f"([{_DENSE}]+)")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_FIRST_MARK, _LAST_MARK = 0x0300, 0x1FFFF


def terms(text: str) -> Iterator[str]:
    """Yield the terms that a text is found by, in order, as often as they stand in it."""
    for word in _words(text):
        if word.isascii():
            yield from _plain_terms(word)
            continue
        for place, run in enumerate(_DENSE_RUNS.split(word)):
            if place % 2:
                yield from run
                yield from _pairs(run)
            elif run:
                yield from _plain_terms(run) if run.isascii() else (_term_of(run),)


def asked(text: str) -> dict[str, str]:
    """Return the terms that a query asks for, in order, each with the word that it is the stem of, in small letters without accents.

    Pairs of characters come without the single ones that they are made of, and words without those of grammar, where there are others.
    """
    words = _words(text)
    telling = [word for word in words if not is_grammar(word)]
    found: dict[str, str] = {}
    for word in telling or words:
        for part in _asked(word):
            found.setdefault(term_of(part), part)
    return found


def whole_word(word: str) -> str:
    """Return a word in small letters without accents, as far as it counts."""
    if word.isascii():
        return word[:LONGEST].lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", bare)[:LONGEST]


def term_of(word: str) -> str:
    """Return the term that a word in small letters without accents is found by."""
    return stem(word) if word.isascii() and word.isalpha() else word


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words of a text begin and end."""
    pattern = _PLAIN if text.isascii() else _word_pattern()
    return (found.span() for found in pattern.finditer(text))


def _asked(word: str) -> Iterator[str]:
    for place, run in enumerate(_DENSE_RUNS.split(word)):
        if place % 2:
            yield from _pairs(run) if len(run) > 1 else run
        elif run:
            yield from _parts(run) if run.isascii() else (whole_word(run),)


def _words(text: str) -> list[str]:
    if len(text) >= OPAQUE:
        text = _OPAQUE.sub(" ", text)
    if not text.isascii():
        return _word_pattern().findall(unicodedata.normalize("NFKC", _AFTER_APOSTROPHE.sub("", text)))
    return _PLAIN.findall(_AFTER_APOSTROPHE.sub("", text) if "'" in text else text)


@lru_cache(maxsize=1 << 15)
def _plain_terms(word: str) -> tuple[str, ...]:
    return tuple(map(term_of, _parts(word)))


@lru_cache(maxsize=1 << 12)
def _term_of(word: str) -> str:
    return term_of(whole_word(word))


def _parts(word: str) -> Sequence[str]:
    """Return a word of plain letters in small ones, and behind it the words that it was put together of in camel case."""
    whole = whole_word(word)
    return (whole, *(whole_word(hump) for hump in _HUMPS.findall(word) if len(hump) > 1)) if _CAMEL(word) else (whole,)


def _pairs(run: str) -> Iterator[str]:
    return map("".join, pairwise(run))


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word in any script: letters and digits, and the marks that some scripts write vowels with."""
    marks = "".join(chr(code) for code in range(_FIRST_MARK, _LAST_MARK) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(rf"(?:[^\W_]|[{marks}])+")
