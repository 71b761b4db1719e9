"""Cutting a file into pieces: their numbers, their names, their dates, and what becomes of a line that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.importers.items import Item, Piece, short_digest
from playhead.importers.lines import Fault, Raw, in_chunks, in_parts
from playhead.importers.origin import Origin
from playhead.importers.places import Tally, key_of
from playhead.importers.repeats import Repeat, repeats_in
from playhead.importers.report import Notes

LONGEST_PLACE = 100
"""How much of a repeated key's place a warning tells, in characters."""


class Cutter:
    """Makes the pieces of one reading of a file; two readings of it make the same ones.

    `date` is that of the newest record that told one, ISO text or "".
    """

    def __init__(self, origin: Origin, *, notes: Notes) -> None:
        self.origin = origin
        self.date = ""
        self._notes = notes
        self._prefix = f"import:{origin.format}:"
        self._tally = Tally()
        self._numbers = 0
        self._looked_at = -1
        self._repeating: set[int] = set()

    def piece(self, raw: Raw, id_: str, digest: bytes, value: Any = None, *, size: int | None = None) -> Piece:
        """Return the next piece; `size` is what it takes of the file, all of `raw` unless told."""
        number = self.number()
        size = len(raw.body) if size is None else size
        return Piece(number=number, line=raw.line, id=id_, key=f"{self._prefix}{id_}", digest=digest, date=self.date, size=size, value=value, repeats=self._repeats(raw, value))

    def _repeats(self, raw: Raw, value: Any) -> tuple[Repeat, ...]:
        """Return what of a line its value does not say, once for all its pieces, and note it."""
        if value is None or raw.position == self._looked_at or raw.position in self._repeating or not raw.body:
            return ()
        self._looked_at = raw.position
        repeats = _noted_repeats(raw, self._notes)
        if repeats:
            self._repeating.add(raw.position)
        return repeats

    def number(self) -> int:
        """Return the next piece's number, and count on."""
        self._numbers += 1
        return self._numbers - 1

    def counted(self, name: str) -> str:
        """Return a name with how often it came before, where it did."""
        before = self._tally.count(key_of(name))
        return f"{name}:{before}" if before else name

    def event(self, raw: Raw, name: str, value: Any, *, within: str = "") -> Item:
        """Return what is no message as an item; `within` begins its piece's name."""
        digest = short_digest(codec.encode_sorted(value))
        piece = self.piece(raw, self.counted(f"{within}{name}:{digest.hex()}"), digest, value)
        return Item(pieces=(piece,), make=partial(_event, self.origin, f"{self.origin.prefix}.{name}"))

    def unreadable(self, raw: Raw, why: str, *, within: str = "") -> Iterator[Item]:
        """Yield the parts of a line that cannot be read, and note it."""
        if raw.part == 0:
            self._notes.refuse(raw.line, why)
        for part in (raw,) if raw.fault else in_parts(in_chunks(raw.body), raw):
            digest = short_digest(part.body)
            piece = self.piece(part, self.counted(f"{within}unreadable:{digest.hex()}"), digest)
            yield Item(pieces=(piece,), make=partial(_kept_raw, self.origin, part, why))


def _noted_repeats(raw: Raw, notes: Notes) -> tuple[Repeat, ...]:
    """Return the members of a line that later ones of the same key replace, and warn of them."""
    repeats = repeats_in(raw.body)
    if repeats:
        more = f" and {len(repeats) - 1} more" if len(repeats) > 1 else ""
        notes.warn(f"line {raw.line} has a key twice in one object: {repeats[0].at[:LONGEST_PLACE]}{more}; the last value is read, the others are in meta.import.repeats")
    return repeats


def value_of(raw: Raw, read: Callable[[bytes], Any], *, lists: bool = False) -> Any:
    """Return the value of a line or an element, or the Fault that says why it has none.

    Objects are values, the values of members whatever they are, and lists where told.
    """
    if raw.fault is not None:
        return Fault(raw.fault)
    value = read(raw.body)
    if isinstance(value, (Fault, dict)) or raw.member is not None or (lists and isinstance(value, list)):
        return value
    return Fault(f"no record but a JSON {'list' if isinstance(value, list) else 'text' if isinstance(value, str) else 'value'}")


def _event(origin: Origin, name: str, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
    return (origin.event(name, pieces[0].value, pieces),)


def _kept_raw(origin: Origin, raw: Raw, why: str, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
    return (origin.unreadable(raw, why, pieces[0]),)
