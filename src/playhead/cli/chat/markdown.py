"""Answers in Markdown, as a terminal shows them: plain headings, and links that show where they lead."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.table import Table

from playhead.cli.plain import plain

THEME = "ansi_dark"
"""The colours of code: those of the terminal."""


class LeftHeading(Heading):
    """A heading at the left, in bold: a frame takes more of a terminal than it tells."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize("bold")
        yield text


class CloseRule(HorizontalRule):
    """A rule with one empty line behind it, as behind any block."""

    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from list(super().__rich_console__(console, options))[:1]


class CloseTable(TableElement):
    """A table without the empty lines that an edge of spaces makes."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for shown in super().__rich_console__(console, options):
            if isinstance(shown, Table):
                shown.show_edge = False
            yield shown


class CloseCode(CodeBlock):
    """Code without empty lines around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for shown in super().__rich_console__(console, options):
            if isinstance(shown, Syntax):
                shown.padding = (0, 1)
            yield shown


class Answer(Markdown):
    """Markdown that a model wrote; nothing in it speaks to the terminal itself."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "hr": CloseRule,
        "table_open": CloseTable,
        "fence": CloseCode,
        "code_block": CloseCode,
    }

    def __init__(self, text: str) -> None:
        super().__init__(plain(text), code_theme=THEME, hyperlinks=False)
