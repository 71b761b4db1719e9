"""Letters: of a word's first one, which others may have been meant: all of the scripts that the word is written in."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from string import ascii_lowercase

from playhead.store.ranked.tokens import term_of, whole_word

_LATIN = "LATIN"
_FIRST, _BEHIND_LATIN, _END = 0x80, 0x250, 0x20000
"""Behind the Latin letters that languages are written with stand those of phonetics, which no word begins with."""


def other_beginnings(word: str) -> set[str]:
    """Return the words, as `asked` gives them, that become this one where their first letter is mistaken or left out."""
    return {letter + rest for letter in _beside(word) for rest in (word, word[1:])} - {word}


def _beside(word: str) -> set[str]:
    scripts = {_LATIN} if word.isascii() else {_script(letter) for letter in word}
    return {letter for script in scripts for letter in (_latin() if script == _LATIN else _alphabets().get(script, ()))}


def _script(letter: str) -> str:
    """Return the first word of a letter's name, which is that of its script: CYRILLIC SMALL LETTER A."""
    return unicodedata.name(letter, "").partition(" ")[0]


@lru_cache(maxsize=1)
def _latin() -> tuple[str, ...]:
    return (*ascii_lowercase, *(letter for letter in _kept(range(_FIRST, _BEHIND_LATIN)) if _script(letter) == _LATIN))


@lru_cache(maxsize=1)
def _alphabets() -> Mapping[str, list[str]]:
    """Return the letters that terms are written with, but for those of Latin, by their script."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for letter in _kept(range(_BEHIND_LATIN, _END)):
        found[_script(letter)].append(letter)
    return found


def _kept(codes: Iterable[int]) -> Iterable[str]:
    """Return the letters among some characters that a term may begin with: what becomes another one in it is left out."""
    return (letter for letter in map(chr, codes) if letter.isalpha() and unicodedata.is_normalized("NFKC", letter) and term_of(whole_word(letter)) == letter)
