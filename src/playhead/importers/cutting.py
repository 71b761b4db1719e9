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
from playhead.importers.report import Notes


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

    def piece(self, raw: Raw, id_: str, digest: bytes, value: Any = None, *, size: int | None = None) -> Piece:
        """Return the next piece; `size` is what it takes of the file, all of `raw` unless told."""
        number = self.number()
        size = len(raw.body) if size is None else size
        return Piece(number=number, line=raw.line, id=id_, key=f"{self._prefix}{id_}", digest=digest, date=self.date, size=size, value=value)

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
