"""Entries and messages as a reader sees them: a line that says who, and under it, indented, what was said.

What is on a tape stands indented, so that it can never pass for what the program itself says.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.text import Text

from playhead import clock
from playhead.cli.layout import wrapped
from playhead.cli.plain import one_line, plain, short_name
from playhead.cli.words import entry_words, message_words, speaker
from playhead.entry.entry import ANCHOR, ERROR, EVENT, SYSTEM, TapeEntry
from playhead.entry.message import Message
from playhead.store.ranked.places import places
from playhead.store.search import payload_text

INDENT = "    "
CHARACTERS = 1_500
LINES = 12
"""How much of an entry is shown where it is shortened."""

BEFORE, BEHIND = 60, 140
"""Characters shown around what a search found."""

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))

STYLES = {
    "user": "bold green",
    "assistant": "bold blue",
    "tool": "blue",
    SYSTEM: "bold yellow",
    ANCHOR: "bold magenta",
    ERROR: "bold red",
    EVENT: "dim",
}


def moment(date: str | None) -> str:
    """Return an entry's date as a reader needs it: to the second, in UTC."""
    return date[:19].replace("T", " ") if date else "-"


def age(date: str) -> str:
    """Return how long ago an entry's date was, in the largest unit that is full: `3 d`, `12 min`."""
    seconds = max(0, int((clock.now() - datetime.fromisoformat(date)).total_seconds()))
    unit, length = next(((unit, length) for unit, length in _UNITS if seconds >= length), ("s", 1))
    return f"{seconds // length:,} {unit}"


def head_line(entry: TapeEntry) -> Text:
    """Return the line over an entry: its id, who speaks, when."""
    who = short_name(speaker(entry))
    return Text.assemble((f"#{entry.id}", "dim"), " ", (who, _style(who)), "  ", (moment(entry.date), "dim"))


def _style(who: str) -> str:
    return STYLES.get(who.split(" ", 1)[0], "bold")


def entry_lines(entry: TapeEntry, *, width: int | None) -> Iterator[Text]:
    """Yield an entry's lines, a long text shortened."""
    said, left = shortened(plain(entry_words(entry)))
    yield head_line(entry)
    yield from indented(said, width)
    if left:
        yield Text(f"{INDENT}… {left:,} more characters", style="dim")


def whole_entry_lines(entry: TapeEntry, *, width: int | None) -> Iterator[Text]:
    """Yield an entry's lines, its text whole."""
    yield head_line(entry)
    yield from indented(plain(entry_words(entry)), width)


def message_lines(message: Message, *, width: int | None) -> Iterator[Text]:
    """Yield a message's lines, its text whole."""
    who = short_name(f"{message.role} {message.name or ''}".strip())
    yield Text(who, style=_style(who))
    yield from indented(plain(message_words(message)), width)


def found_lines(entry: TapeEntry, text: str, *, width: int | None) -> Iterator[Text]:
    """Yield an entry's head and what stands around the first place where it has a word of a text."""
    yield head_line(entry)
    said = entry_words(entry)
    if not (found := places(said, text)):  # it is in what the head tells, in what no reader needs, or beside what has one
        found = places(whole := payload_text(entry), text)
        said = whole if found else said
    start, stop = found[0] if found else (0, 0)
    begin, end = max(0, start - BEFORE), stop + BEHIND
    excerpt = f"{'… ' if begin else ''}{one_line(said[begin:end])}{' …' if end < len(said) else ''}"
    words = {one_line(said[first:last]) for first, last in found if begin <= first < end}
    for line in indented(excerpt, width):
        line.highlight_words(sorted(words), style="reverse")
        yield line


def shortened(text: str) -> tuple[str, int]:
    """Return the beginning of a text, a few lines of it, and how many characters were left out."""
    kept = "\n".join(text[:CHARACTERS].split("\n", LINES)[:LINES])
    left = len(text) - len(kept)
    return (text, 0) if left < CHARACTERS // 10 and "\n" not in text[len(kept) :].strip("\n") else (kept, left)


def indented(text: str, width: int | None) -> Iterator[Text]:
    """Yield text as lines that fit behind the indent of what is on a tape."""
    for row in wrapped(text, width=None if width is None else width - len(INDENT)):
        yield Text(f"{INDENT}{row}".rstrip())
