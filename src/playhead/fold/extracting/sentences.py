"""Sentences and terms of a text in any language: where it may be cut, and what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

LONGEST = 400
"""How many bytes a sentence has at most; a longer one is cut at a pause."""

SHORTEST = 24
"""A shorter one that ends within its line is an abbreviation, a number or an exclamation, and goes with what follows."""

LONGEST_TERM = 32
"""A word of more characters is no term."""

_END = re.compile(r"[.!?…][\"'”’)\]*_`]*(?=\s+[^\sa-z]|\s*\Z)|[。！？；][”’」』）】]*|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_PAUSE = re.compile(r"[,，、;；:：)\]}]\s?|\s")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TERM = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SUFFIX = re.compile(r"(?<=\w{3})(?:ational|ations?|ings?|edly|ed|ies|ied|ly|es|s|e|y)$")


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the bounds of the sentences of a text, in order, without the white space around them; a line ends a sentence, too."""
    return tuple(bounds for start, end in _ended(text) for bounds in _bounded(text, start, end))


def _ended(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for mark in _END.finditer(text):
        if mark.end() - start >= SHORTEST or mark[0].isspace():
            yield start, mark.end()
            start = mark.end()
    yield start, len(text)


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a sentence without white space around it, in pieces where it is too long."""
    longest = max(1, LONGEST * (end - start) // max(1, size(text[start:end])))
    while True:
        words = text[start:end]
        start, end = start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())
        if start >= end:
            return
        cut = end if end - start <= longest else max((p.end() for p in _PAUSE.finditer(text, start + longest // 2, start + longest)), default=start + longest)
        yield start, start + len(text[start:cut].rstrip())
        start = cut


def size(text: str) -> int:
    """Return how many bytes a text is, which tells better than its characters how many tokens it is."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def terms(text: str) -> tuple[str, ...]:
    """Return what a text is about, each term once: words in lower case without common endings, pairs of characters where words are not spaced."""
    found: dict[str, None] = {}
    for word in _TERM.findall(text.lower()):
        if _IS_UNSPACED.match(word):
            found.update(dict.fromkeys(word[at : at + 2] for at in range(max(1, len(word) - 1))))
        elif len(word) <= LONGEST_TERM:
            found[stem(word)] = None
    return tuple(found)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return a word without its ending, so that its forms are one term."""
    return _SUFFIX.sub("", word) if len(word) > 3 and word.isascii() else word
