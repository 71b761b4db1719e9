"""A rich console that leaves failures to the program."""

from __future__ import annotations

import os
from typing import NoReturn, TextIO

from rich.console import Console


class PlainConsole(Console):
    """A console that changes nothing about the text it prints; where NO_COLOR is set it uses no styles at all.

    A reader who has gone is a BrokenPipeError like any other, not the end of the program.
    """

    def __init__(self, stream: TextIO, *, width: int) -> None:
        options = {"color_system": None} if os.environ.get("NO_COLOR") else {}
        super().__init__(file=stream, width=width, highlight=False, markup=False, emoji=False, **options)  # type: ignore[arg-type]

    def on_broken_pipe(self) -> NoReturn:
        """Raise what rich would end the program for."""
        raise BrokenPipeError
