"""Chunks: runs of units that are long enough to be told by one summary each.

Nothing of them is stored: what no summary owns is cut anew each time, so a changed setting re-cuts only what was never told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from playhead.entry.message import Media, Part, Text, ToolResult
from playhead.view.tokens import PART, default_counter, part_tokens
from playhead.view.units import Unit

LEAST_MESSAGES = 4
"""How many messages a chunk has at least, unless something stands right behind it (specs: context-manager 11.2)."""

BoundaryHint = Callable[[Unit, Unit, Sequence[Unit]], bool]
"""Whether a chunk may close early between two units; the third argument is the run that it would be."""

Target = int | Callable[[Unit], int]
"""How many tokens of text close a chunk: a number, or what to ask for a chunk that ends with a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A closed run of units, and the run of entries that a summary of it owns.

    `first` to `last` are entry ids without a break, those that show nothing included; `first_uid` and `last_uid` are the lasting names
    of these two, empty where that entry shows nothing: the tape knows it. `tokens` is what showing the units raw costs.
    """

    units: tuple[Unit, ...]
    first: int
    last: int
    first_uid: str
    last_uid: str
    tokens: int

    @property
    def chars(self) -> int:
        """How many characters its messages say, spaces not counted."""
        return sum(len("".join(message.text.split())) for unit in self.units for message in unit.messages)

    @property
    def messages(self) -> int:
        """How many messages it holds."""
        return sum(len(unit.messages) for unit in self.units)

    @property
    def is_text(self) -> bool:
        """Whether it holds words alone: no call, result, picture or reasoning."""
        return all(isinstance(part, Text) for unit in self.units for message in unit.messages for part in message.parts)


def chunks(
    units: Sequence[Unit],
    *,
    after: int,
    target: Target,
    attachments_ignore_size: bool = True,
    boundary_hint: BoundaryHint | None = None,
    closes_at_end: bool = False,
    before: int | None = None,
    least_messages: int = LEAST_MESSAGES,
) -> tuple[tuple[Chunk, ...], tuple[Unit, ...]]:
    """Return the closed chunks of a run of units that nothing owns, oldest first, and the units that wait for more.

    The units are adjacent and have entries; the run of entries starts behind entry `after` and ends before entry `before` (None
    where nothing follows). A chunk closes at `target` tokens of text and `least_messages` messages, or earlier where
    `boundary_hint` says so, and only where no unit has entries on both sides. A call without its result waits, and what
    follows it too, until a whole chunk stands behind it. `closes_at_end` says that something follows which is owned or stays raw, so
    that the run cannot grow: what is left is a chunk then, however thin (specs: context-manager 11.1-11.4).
    """
    size = partial(text_size, attachments_ignore_size=attachments_ignore_size)
    borders = _clean_borders(units, before)
    limit = len(units) if closes_at_end else _first_waiting(units, target, size, least_messages)
    made: list[Chunk] = []
    start = tokens = messages = 0
    for index in range(limit):
        unit = units[index]
        tokens += size(unit)
        messages += len(unit.messages)
        if messages < least_messages or not borders[index]:
            continue
        is_full = tokens >= (target if isinstance(target, int) else target(unit))
        if is_full or (boundary_hint is not None and index + 1 < len(units) and boundary_hint(unit, units[index + 1], units[start : index + 1])):
            made.append(chunk_of(units[start : index + 1], after=made[-1].last if made else after))
            start, tokens, messages = index + 1, 0, 0
    if closes_at_end and start < len(units) and borders[-1]:
        made.append(chunk_of(units[start:], after=made[-1].last if made else after))
        start = len(units)
    return tuple(made), tuple(units[start:])


def chunk_of(units: Iterable[Unit], *, after: int) -> Chunk:
    """Return the chunk of adjacent units that starts behind entry `after`."""
    run = tuple(units)
    last = max(run, key=lambda unit: unit.last)
    return Chunk(units=run, first=after + 1, last=last.last, first_uid=_uid_at(run[0], after + 1), last_uid=_uid_at(last, last.last), tokens=sum(unit.tokens for unit in run))


def is_thin(chunk: Chunk, *, least_chars: int) -> bool:
    """Whether a chunk says too little for a summary: few characters, and words alone. Asked to tell nothing, models retell old events as new."""
    return chunk.is_text and chunk.chars < least_chars


def thin_note(chunk: Chunk) -> str:
    """Return the note that stands for a thin chunk in place of a summary: what was said, as it is short, and how little it was."""
    count = chunk.messages
    said = [f"{message.name or message.role.capitalize()}: {' '.join(message.text.split())}" for unit in chunk.units for message in unit.messages]
    return "\n".join([f"{count} short message{'' if count == 1 else 's'} passed here:", *said])


def text_size(unit: Unit, *, attachments_ignore_size: bool) -> int:
    """Return what a unit counts where a chunk is measured: its price, or that without its pictures, sounds, films and documents."""
    if not attachments_ignore_size:
        return unit.tokens
    return max(0, unit.tokens - sum(PART + part_tokens(media, counter=default_counter()) for media in _media(unit)))


def _media(unit: Unit) -> Iterator[Media]:
    for message in unit.messages:
        yield from _media_of(message.parts)


def _media_of(parts: Iterable[Part]) -> Iterator[Media]:
    for part in parts:
        if isinstance(part, Media):
            yield part
        elif isinstance(part, ToolResult) and not isinstance(part.content, str):
            yield from _media_of(part.content)


def _clean_borders(units: Sequence[Unit], before: int | None) -> list[bool]:
    """Return for each unit whether a border behind it parts entries: those up to it all lie before those that follow."""
    end = max((unit.last for unit in units), default=0) + 1
    lasts = accumulate((unit.last for unit in units), max)
    following = list(accumulate((unit.first for unit in reversed(units)), min, initial=end if before is None else before))
    return [last < first for last, first in zip(lasts, reversed(following[:-1]), strict=True)]


def _first_waiting(units: Sequence[Unit], target: Target, size: Callable[[Unit], int], least_messages: int) -> int:
    """Return the index of the first call without a result that has not yet a whole chunk of closed units behind it; their number for none."""
    waiting, tokens, messages = len(units), 0, 0
    for index in range(len(units) - 1, -1, -1):
        unit = units[index]
        if unit.is_open:
            waiting = index
            continue
        tokens += size(unit)
        messages += len(unit.messages)
        if messages >= least_messages and tokens >= (target if isinstance(target, int) else target(unit)):
            break
    return waiting


def _uid_at(unit: Unit, entry: int) -> str:
    """Return the lasting name of an entry of a unit, empty where the unit does not hold it."""
    return unit.uids[unit.ids.index(entry)] if entry in unit.ids and len(unit.uids) == len(unit.ids) else ""
