"""Markdown that is still being said: what of it no later word can change, and what is still open."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

_PARSER = MarkdownIt().enable("table")
_NEWLINE = re.compile(r"\r\n|\r|\n")


def settled(text: str) -> int:
    """Return how many characters at the front of a text are blocks that are complete: all but the last one, which may go on.

    A line that has not ended may become anything, such as the next item of a list, so it is not looked at.
    """
    ends = [newline.end() for newline in _NEWLINE.finditer(text)]
    whole = text[: ends[-1]] if ends else ""
    starts = [token.map[0] for token in _PARSER.parse(whole) if token.level == 0 and token.map is not None and token.nesting >= 0]
    return ends[starts[-1] - 1] if len(starts) > 1 else 0
