"""What the commands' arguments are made of: a parser that raises, and the kinds of words it takes.

Nothing of the library is imported here, so that help and usage errors are instant.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

DIGITS = 15
"""How long a number may be: within what a store takes as an entry's id."""

_SPAN = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class UsageError(Exception):
    """A command line cannot be understood; `command` is the part of it that was, such as `playhead show`."""

    def __init__(self, message: str, *, command: str) -> None:
        super().__init__(message)
        self.command = command


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of writing several lines and ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(message, command=self.prog)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: what it says of itself, its arguments, and the module and function that run it.

    `fault` says what is wrong with arguments that do not go together, `reads` whether it only reads, so that the store may be opened
    to be read only; `runs_tools` whether it runs functions of the user's, which may hang.
    """

    name: str
    about: str
    module: str
    function: str
    add: Callable[[Parser], None]
    fault: Callable[[argparse.Namespace], str | None] = lambda _: None
    reads: bool = False
    runs_tools: bool = False


def spoken(text: str) -> str:
    """Return an argument as it is; bytes that were no text in the terminal's encoding are refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text.encode(errors='surrogateescape')!r} is no text in this terminal's encoding; give it as UTF-8") from None
    return text


def filled(text: str) -> str:
    """Return a path; an empty one is refused."""
    if not text:
        raise argparse.ArgumentTypeError("a path is needed, not an empty text")
    return text


def number(*, least: int) -> Callable[[str], int]:
    """Return what reads a whole number."""

    def read(text: str) -> int:
        digits = text.replace("_", "").replace(",", "")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= DIGITS and int(digits) >= least):
            raise argparse.ArgumentTypeError(f"a whole number from {least} is needed, not '{text}'")
        return int(digits)

    return read


def span(text: str) -> timedelta:
    """Return a length of time such as `7d`, `12h`, `30m` or `0s`."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"a length of time is a number with s, m, h, d or w behind it, such as 7d, not '{text}'")
    try:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    except (OverflowError, ValueError) as exc:
        raise argparse.ArgumentTypeError(f"'{text}' is longer than any time that can be told; give a shorter one") from exc
