"""Markdown that is still being said: what of it no later word can change, and what is still open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt().enable("table")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_CLOSED = frozenset({"paragraph_open", "heading_open", "hr", "table_open", "fence"})
"""Blocks that an empty line ends; a list, a quote, code that is indented and HTML may go on behind one."""


def settled(text: str) -> int:
    """Return how many characters at the front of a text are blocks that are complete: no later word can change how they read.

    A line that has not ended may become anything, such as the next item of a list, so it is not looked at.
    """
    ends = [newline.end() for newline in _NEWLINE.finditer(text)]
    blocks = _blocks(text[: ends[-1]]) if ends else []
    if blocks and _is_closed(blocks[-1], lines=len(ends)):
        return ends[-1]
    return ends[_first(blocks[-1]) - 1] if len(blocks) > 1 else 0


def _blocks(text: str) -> Sequence[Token]:
    return [token for token in _PARSER.parse(text) if token.level == 0 and token.map is not None and token.nesting >= 0]


def _is_closed(block: Token, *, lines: int) -> bool:
    """Return whether a block has ended: a kind that an empty line ends, and one stands behind it. A fence that is open goes on to the end of the text."""
    return block.type in _CLOSED and block.map is not None and block.map[1] < lines


def _first(block: Token) -> int:
    return 0 if block.map is None else block.map[0]
