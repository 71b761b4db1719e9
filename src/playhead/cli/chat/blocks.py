"""Markdown that is still being said: what of it no later word can change, and what is still open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt().enable("table")
# A return at the very end may be half of a newline.
_NEWLINE = re.compile(r"\r\n|\r(?!\Z)|\n")
_CLOSED = frozenset({"paragraph_open", "heading_open", "hr", "table_open", "fence"})
"""Blocks that an empty line ends; a list, a quote, code that is indented and HTML may go on behind one."""

SMALL = 4_000
"""How many characters are parsed at any line that may end a block; a longer text is parsed again once it has grown by a part of itself."""

GROWTH = 8
"""Which part that is: an eighth, so that all parsing together costs a few times what parsing the text once does."""

_FIRST = re.compile(r"(?:[ \t]*\r?\n)*([^\r\n]*)")
_FENCE = re.compile(r"[ \t]*(?:(?:[-+*>]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_FENCE_LINE = re.compile(rf"^{_FENCE.pattern}[^\n]*$", re.MULTILINE)
_NUMBER = re.compile(r" {0,3}\d{1,9}([.)])(?=[ \t]|$)")
_BULLET = re.compile(r" {0,3}([-+*])(?=[ \t]|$)")
# At lines that begin like these a block may end; others go on with it. Where this errs a block is only shown for good later.
_OUT_OF_QUOTE = re.compile(r"^(?! {0,3}>)(?s:.)", re.MULTILINE)
_OUT_OF_CODE = re.compile(r"^(?!    |\t|[ \t\r]*$)", re.MULTILINE)
_OUT_OF_TEXT = re.compile(r"^ {0,3}(?:[-#>+*=~`<_\d]|[ \t\r]*\n)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far an open text has been read: up to `seen`, its last line that has ended; `doubtful` where one of these may have ended its first block.

    It is parsed when it is `due` long. `fence` is where the line stands that began the code it ends in, None where it does not.
    """

    seen: int = 0
    due: int = 0
    doubtful: bool = False
    fence: int | None = None


def read_on(text: str, reading: Reading) -> tuple[int, Reading]:
    """Return how many characters at the front of a text that has grown are complete, and how far the rest of it was read.

    What it costs follows from what the text has grown by: only lines that are new are looked at, and the whole is parsed
    where one of them may have ended a block, and then not before it has grown by a part of itself.
    """
    end = max(text.rfind("\n"), text.rfind("\r", 0, len(text) - 1)) + 1
    if end <= reading.seen:
        return 0, reading
    seen = replace(reading, seen=end, doubtful=reading.doubtful or _may_end(text, reading.seen, end), fence=_fence(text, reading, end))
    if not seen.doubtful or len(text) < reading.due:
        return 0, seen
    front = settled(text)
    if front:
        rest = Reading(seen=end - front)
        return front, replace(rest, fence=_fence(text[front:end], Reading(), end - front))
    return 0, replace(seen, doubtful=False, due=0 if len(text) < SMALL else len(text) + len(text) // GROWTH)


def settled(text: str) -> int:
    """Return how many characters at the front of a text are blocks that are complete: no later word can change how they read.

    A line that has not ended may become anything, such as the next item of a list, so it is not looked at.
    """
    ends = [newline.end() for newline in _NEWLINE.finditer(text)]
    blocks = _blocks(text[: ends[-1]]) if ends else []
    if blocks and _is_closed(blocks[-1], lines=len(ends)):
        return ends[-1]
    return ends[_first(blocks[-1]) - 1] if len(blocks) > 1 else 0


def first_line(text: str) -> str:
    """Return the first line of a text that is not empty."""
    found = _FIRST.match(text)
    return "" if found is None else found[1]


def item_pattern(first: str) -> re.Pattern[str] | None:
    """Return what begins each item of the list that a line begins; None where it begins none."""
    if found := _BULLET.match(first):
        return re.compile(rf"^ {{0,3}}{re.escape(found[1])}(?=[ \t]|\r?$)", re.MULTILINE)
    if found := _NUMBER.match(first):
        return re.compile(rf"^ {{0,3}}\d{{1,9}}{re.escape(found[1])}(?=[ \t]|\r?$)", re.MULTILINE)
    return None


def _may_end(text: str, start: int, end: int) -> bool:
    """Return whether one of some lines may have ended the block that a text begins with; the line before them is looked at, too, as a block is known to have ended only by what stands behind it."""
    start = text.rfind("\n", 0, max(0, start - 1)) + 1
    if "\r" in text[start:end].replace("\r\n", "\n"):
        return True
    return _ending(first_line(text)).search(text, start, end) is not None


def _ending(first: str) -> re.Pattern[str]:
    """Return what a line looks like that may end the block which a line begins."""
    if first.startswith(("    ", "\t")):
        return _OUT_OF_CODE
    if (fence := _FENCE.match(first)) and first.lstrip(" ").startswith(fence[1]):
        return re.compile(rf"^ {{0,3}}{fence[1]}{fence[1][0]}*[ \t\r]*$", re.MULTILINE)
    if (item := item_pattern(first)) is not None:
        return re.compile(rf"^(?!{item.pattern.removeprefix('^')}|[ \t]|\r?$)", re.MULTILINE)
    return _OUT_OF_QUOTE if first.lstrip(" ").startswith(">") else _OUT_OF_TEXT


def _fence(text: str, reading: Reading, end: int) -> int | None:
    """Return where the code began in which the lines end that were read; in a list or a quote, too."""
    fence, place = reading.fence, reading.seen
    while place < end:
        if fence is None:
            if (opening := _FENCE_LINE.search(text, place, end)) is None:
                return None
            fence, place = opening.start(), opening.end()
        else:
            opening = _FENCE.match(text, fence)
            if opening is None or (closing := re.compile(rf"^[ \t>]*{opening[1]}{opening[1][0]}*[ \t\r]*$", re.MULTILINE).search(text, place, end)) is None:
                return fence
            fence, place = None, closing.end()
    return fence


def _blocks(text: str) -> Sequence[Token]:
    return [token for token in _PARSER.parse(text) if token.level == 0 and token.map is not None and token.nesting >= 0]


def _is_closed(block: Token, *, lines: int) -> bool:
    """Return whether a block has ended: a kind that an empty line ends, and one stands behind it. A fence that is open goes on to the end of the text."""
    return block.type in _CLOSED and block.map is not None and block.map[1] < lines


def _first(block: Token) -> int:
    return 0 if block.map is None else block.map[0]
