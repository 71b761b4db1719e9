"""Lines that fit: wrapping, cutting and tables by the columns a terminal gives each character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from playhead.cli.plain import one_line, plain

_WORDS = re.compile(r"\s*\S+|\s+")
BETWEEN = 2
"""Columns between the columns of a table."""

LEAST = 20
"""How narrow the last column of a table may get."""

VERY_WIDE = 300
"""How wide what is cut gets where no terminal bounds it."""


def wrapped(text: str, *, width: int | None) -> Iterator[str]:
    """Yield the text in rows of at most `width` columns, broken between words; None breaks at its own newlines only."""
    for line in text.split("\n"):
        line = line.expandtabs(4).rstrip()
        if width is None or (len(line) <= width and cell_len(line) <= width):
            yield line
        else:
            yield from _broken(line, width)


def _broken(line: str, width: int) -> Iterator[str]:
    row, used = "", 0
    for word in _WORDS.findall(line):
        size = cell_len(word)
        if used + size <= width:
            row, used = row + word, used + size
            continue
        if row.strip():
            yield row
            word = word.lstrip()
        *full, row = chop_cells(word, width) or [""]
        yield from full
        used = cell_len(row)
    if row:
        yield row


def prose(text: str, *, width: int | None, indent: str = "", style: str = "") -> Iterator[Text]:
    """Yield words as lines that fit behind an indent."""
    for row in wrapped(one_line(text), width=None if width is None else width - len(indent)):
        yield Text(indent + row, style=style)


def cut(text: str, *, width: int) -> str:
    """Return the text as one line of at most `width` columns; an ellipsis stands for what was cut off."""
    line = one_line(text[: 8 * width])
    if len(text) <= 8 * width and cell_len(line) <= width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its heading, on which side its cells stand, and how wide they may get.

    The last column is wrapped in what is left of the width, or cut to it where `is_cut`. `is_tree` keeps the spaces that indent a cell.
    """

    heading: str
    is_number: bool = False
    most: int | None = None
    is_cut: bool = False
    is_tree: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, width: int | None, styles: Sequence[str] = ()) -> Iterator[Text]:
    """Yield a table's lines, columns as wide as their cells; `styles` colours the first cell of each row."""
    cells = [[_cell(c, cell) for c, cell in zip(columns, row, strict=True)] for row in rows]
    sizes = [max(cell_len(cell) for cell in (c.heading, *(row[i] for row in cells))) for i, c in enumerate(columns[:-1])]
    before = sum(sizes) + BETWEEN * len(sizes)
    left = None if width is None else max(LEAST, width - before)
    yield Text(_row([c.heading for c in columns], columns, sizes), style="dim")
    for number, row in enumerate(cells):
        last = cut(row[-1], width=VERY_WIDE if left is None else left) if columns[-1].is_cut else row[-1]
        first, *more = list(wrapped(last, width=left)) or [""]
        line = Text(_row([*row[:-1], first], columns, sizes))
        if styles and len(columns) > 1:
            line.stylize(styles[number], 0, len(row[0]))
        yield line
        for rest in more:
            yield Text(" " * before + rest)


def _cell(column: Column, text: str) -> str:
    if column.is_tree:
        return plain(text)
    return one_line(text) if column.most is None else cut(text, width=column.most)


def _row(cells: Sequence[str], columns: Sequence[Column], sizes: Sequence[int]) -> str:
    padded = [" " * (size - cell_len(cell)) + cell if c.is_number else cell + " " * (size - cell_len(cell)) for cell, c, size in zip(cells, columns, sizes, strict=False)]
    return (" " * BETWEEN).join([*padded, cells[-1]]).rstrip()
