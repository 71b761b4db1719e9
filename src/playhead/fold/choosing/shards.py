"""Shards: the parts that a very long message is stored in, cut where its text has seams."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter

from playhead.errors import InvalidInput

CHARS_PER_TOKEN = 4
"""What a token is taken for where lengths of text are compared (specs: context-manager 3.5)."""

LONG = 2
"""A text is long from more than so many shards on."""

OVERFLOW = 0.25
"""By which share a shard may be longer than it should, where no seam lies before."""

HEADING, SUBHEADING, FENCE, BLANK, NEWLINE, SENTENCE, SPACE = 100, 90, 80, 70, 50, 30, 10
"""What a cut before a heading of the first two levels, before a deeper one, around a block of code, behind a blank line, a line, a sentence and a word is worth."""

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}+(?![^\n]*`)|~{3,})")
_SENTENCE = re.compile(r"[.!?…][\"'”’»)\]]*\s+(?=\S)|[。！？]+(?=[^。！？\s])")
_SPACE = re.compile(r"\s(?=\S)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seam:
    """A place between two characters where a text may be cut, and what a cut there is worth."""

    at: int
    worth: int


def shards(text: str, *, tokens: int) -> tuple[str, ...]:
    """Return a text in parts of about `tokens` each (4 characters a token), itself alone where it is no longer than two of them.

    Joined, the parts are the text again. A part ends at the seam that is worth most at or before its length, of equals at the
    last; without one at the best within a quarter more, of equals at the first; else it is cut, never inside a character.
    The source of the weights is specs: context-manager 3.5. Inside a block of code a line that begins with `#` is no heading.
    """
    if tokens < 1:
        raise InvalidInput(f"A shard has at least one token, not {tokens}.")
    size = tokens * CHARS_PER_TOKEN
    return tuple(_parts(text, size)) if len(text) > LONG * size else (text,)


def body_id(text: str) -> str:
    """Return the id of the body that is stored in the shards of a text; the same text posted again has the same one."""
    return f"bg-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _parts(text: str, size: int) -> Iterator[str]:
    seams, start = list(_line_seams(text)), 0
    while len(text) - start > size:
        end = _end(text, seams, start, size)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _end(text: str, seams: list[_Seam], start: int, size: int) -> int:
    """Return where the part that begins at `start` ends; every seam between lines is worth more than one within a line."""
    within, beyond = start + size, min(len(text) - 1, start + size + int(size * OVERFLOW))
    before = _between(seams, start + 1, within) or _word_seams(text, start + 1, within)
    if before:
        return max(before, key=lambda seam: (seam.worth, seam.at)).at
    behind = _between(seams, within + 1, beyond) or _word_seams(text, within + 1, beyond)
    if behind:
        return max(behind, key=lambda seam: (seam.worth, -seam.at)).at
    return within - 1 if _splits_a_character(text, within) else within


def _between(seams: list[_Seam], first: int, last: int) -> list[_Seam]:
    at = attrgetter("at")
    return seams[bisect_left(seams, first, key=at) : bisect_right(seams, last, key=at)]


def _line_seams(text: str) -> Iterator[_Seam]:
    """Yield the seams between the lines of a text, in order."""
    fence, above = "", NEWLINE
    for found in _LINE.finditer(text):
        line, at = found[0], found.start()
        heading, fenced = _HEADING.match(line), _FENCE.match(line)
        if at and line:
            yield _Seam(at=at, worth=above if fence else max(above, _worth(heading, fenced)))
        above = NEWLINE if line.strip() else BLANK
        if fenced and not fence:
            fence = fenced[1]
        elif fenced and fenced[1].startswith(fence) and not line[fenced.end() :].strip():
            fence, above = "", FENCE


def _worth(heading: re.Match[str] | None, fenced: re.Match[str] | None) -> int:
    """Return what a cut before a line is worth by what the line is."""
    if heading:
        return HEADING if len(heading[1]) <= 2 else SUBHEADING
    return FENCE if fenced else NEWLINE


def _word_seams(text: str, first: int, last: int) -> list[_Seam]:
    """Return the first and the last of the seams within lines that lie in a range of places: of the ends of sentences, else of words."""
    for pattern, worth in ((_SENTENCE, SENTENCE), (_SPACE, SPACE)):
        places = [found.end() for found in pattern.finditer(text, first - 1, min(len(text), last + 1)) if found.end() >= first]
        if places:
            return [_Seam(at=places[0], worth=worth), _Seam(at=places[-1], worth=worth)]
    return []


def _splits_a_character(text: str, at: int) -> bool:
    """Return whether a character that is written as two halves would be cut at a place."""
    return 0 < at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"
