"""The end of a long text in Markdown, as Markdown that reads as the end of the whole does: what is shown of it while it is said."""

from __future__ import annotations

import re
from textwrap import dedent

from playhead.cli.chat.blocks import first_line, item_pattern

_NUMBERED = re.compile(r" {0,3}(\d{1,9})")
_COLUMNS = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$")
_BREAK = re.compile(r"\s")

LINES = 3
"""How many lines of a text are taken for each row: in Markdown several may become one."""


def end_of(text: str, *, fence: int | None, rows: int, width: int) -> str:
    """Return what shows the last rows of a text, at least as many as asked for where it has them; `fence` is where the code began that it ends in."""
    start = _start(text, rows if fence is not None else LINES * rows)
    start = max(start, _word(text, len(text) - LINES * rows * width))
    if start == 0:
        return text
    end = text[start:]
    if fence is not None and fence < start:
        opening = text[fence : text.index("\n", fence) + 1]
        return opening[_sign(opening) :] + dedent(end)
    first = first_line(text)
    if (item := item_pattern(first)) is not None:
        return _items(text, start, item) or dedent(end)
    head = text.lstrip("\r\n").split("\n", 2)[:2]
    if len(head) == 2 and "|" in head[0] and _COLUMNS.match(head[1].rstrip()):
        return "\n".join([*head, end])
    return dedent(end)


def _start(text: str, lines: int) -> int:
    """Return where the last lines of a text begin."""
    place = len(text)
    for _ in range(lines + 1):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _word(text: str, place: int) -> int:
    """Return where the first word behind a place begins."""
    if place <= 0:
        return 0
    found = _BREAK.search(text, place)
    return place if found is None else found.end()


def _sign(opening: str) -> int:
    """Return where the fence begins in its line, behind what it is nested in."""
    return min(place for sign in ("```", "~~~") if (place := opening.find(sign)) >= 0)


def _items(text: str, start: int, item: re.Pattern[str]) -> str:
    """Return the items that begin behind a place, under the numbers they have in the whole; "" where none begins there."""
    found = item.search(text, start)
    if found is None:
        return ""
    end = text[found.start() :]
    typed = _NUMBERED.match(end)
    if typed is None:
        return end
    first = _NUMBERED.match(first_line(text))
    assert first is not None  # noqa: S101 - for type checkers
    if typed[1] != first[1]:  # it counts by itself
        return end
    number = int(first[1]) + len(item.findall(text, 0, found.start()))
    return f"{number}{end[typed.end(1) :]}"
