"""What a reader of a format yields: items, each the source of an entry or two, made of pieces of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, Protocol

from playhead.entry.entry import TapeEntry
from playhead.importers.repeats import Repeat
from playhead.importers.report import Notes

Branch = Literal["main", "abandoned", "sidechain"]

STEP = 4 << 20
"""After how many bytes of an index a reader gives way, so that progress can be told and the import be cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One record of the file, or one part of a line that is none.

    `number` counts pieces in reading order, `key` is the idempotency key an entry that begins with it gets, `id`
    its name among the pieces of one entry, `digest` that of its text; `date` is ISO text, "" where none is known;
    `size` is in bytes; `repeats` are what of the record a later member of the same key replaces.
    """

    number: int
    line: int
    id: str
    key: str
    digest: bytes
    date: str
    size: int
    value: Any = None
    repeats: tuple[Repeat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Pieces that belong into one entry, or into one and a second behind it (`keys` names both).

    `make` builds the entries from the pieces, or from those of them that are not on the tape yet. An item that
    `restores` gives back an entry of another tape as it was; its keys are uids, or the entry's own idempotency key.
    """

    pieces: tuple[Piece, ...]
    make: Callable[[tuple[Piece, ...]], tuple[TapeEntry, ...]]
    branch: Branch = "main"
    second: bool = False
    restores: bool = False

    @property
    def size(self) -> int:
        """How many bytes of the file it holds."""
        return sum(p.size for p in self.pieces)

    @property
    def keys(self) -> tuple[str, ...]:
        """The idempotency keys that entries of it may have."""
        own = tuple(p.key for p in self.pieces)
        return (*own, second_key(own[0])) if self.second else own


def second_key(key: str) -> str:
    """Return the idempotency key of the second entry made from a piece."""
    return f"{key}#2"


def digest_of(pieces: tuple[Piece, ...]) -> str:
    """Return the digest of pieces, as entries keep it."""
    return pieces[0].digest.hex() if len(pieces) == 1 else blake2b(b"".join(p.digest for p in pieces), digest_size=8).hexdigest()


def short_digest(body: bytes) -> bytes:
    """Return the digest of a text: eight bytes."""
    return blake2b(body, digest_size=8).digest()


@dataclass(slots=True)
class Marks:
    """Which pieces are on the tape already, by number; `last` is the highest number an entry there begins with."""

    known: bytearray = field(default_factory=bytearray)
    changed: set[int] = field(default_factory=set)
    last: int = -1

    def note_known(self, numbers: Iterable[int]) -> None:
        """Note that pieces are on the tape."""
        for number in numbers:
            if number >= len(self.known):
                self.known.extend(bytes(number + 1 - len(self.known)))
            self.known[number] = 1

    def is_known(self, piece: Piece) -> bool:
        """Tell whether a piece is on the tape."""
        return piece.number < len(self.known) and self.known[piece.number] == 1

    def first_new(self, item: Item) -> int:
        """Return the number of an item's first piece that is not on the tape, that of its last where all are."""
        return next((p.number for p in item.pieces if not self.is_known(p)), item.pieces[-1].number)


class Source(Protocol):
    """A file of one format: `index` is read to its end once, then the items as often as needed.

    `brings_anchor` says, after the index, that the file holds the anchor its tape begins with.
    """

    format: str
    conversations: int
    brings_anchor: bool

    def index(self, *, strict: bool) -> Iterator[int]:
        """Read what must be known before the first item; yield now and then how many bytes were read."""
        ...

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape; `seen` is told how many bytes were read."""
        ...
