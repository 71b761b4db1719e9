"""The volumes of terms in a PostgreSQL database: each a row, and its bytes as many to a row as stay on a page of the server's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from uuid import UUID, uuid4
from zlib import crc32

from playhead.store.concordance.chain import linked
from playhead.store.concordance.library import Library
from playhead.store.concordance.postings import VolumeGone
from playhead.store.concordance.slabs import Slabs
from playhead.store.concordance.volume import Volume
from playhead.store.postgres.address import Address
from playhead.store.postgres.family import now
from playhead.store.postgres.keys import Numbers, Texts
from playhead.store.postgres.session import Row, Session
from playhead.store.ranked.tokens import RULES
from playhead.store.rows.statements import statements

_PAGE = 1968
"""How many bytes of a volume a row has: with what stands around them four rows fill a page of 8192 bytes, and none is moved elsewhere."""

_PER_SLAB = 16
_SLAB = _PER_SLAB * _PAGE
_AT_ONCE = 256
_LONG = 30 * 24 * 3600 * 1_000_000
"""After how many microseconds a volume of other rules goes: until then processes of another version may read it."""


class Kept(NamedTuple):
    """A volume's row, without the tape number it is of."""

    volume_id: UUID
    first: int
    last: int
    size: int
    mark: int


class Shelves(NamedTuple):
    """What a store remembers of the volumes that it read."""

    library: Library
    slabs: Slabs


def shelves(*, most: int = 256) -> Shelves:
    """Return where nothing is remembered yet, and up to so many pieces of 32 kB will be."""
    return Shelves(Library(), Slabs(most=most))


class Pages:
    """The bytes of a volume of a tape number, read some pages at a time."""

    def __init__(self, session: Session, part: Address, row: Kept, slabs: Slabs) -> None:
        self._session = session
        self._part = part
        self._row = row
        self._slabs = slabs

    def read(self, start: int, stop: int) -> bytes:
        """Return a part of them, less where a page is missing. Raises VolumeGone where the volume was removed meanwhile."""
        if start >= stop:
            return b""
        first, last = start // _SLAB, (stop - 1) // _SLAB
        found = self._slabs.read(self._row.volume_id, range(first, last + 1), self._fetched)
        return b"".join(found)[start - first * _SLAB : stop - first * _SLAB]

    def _fetched(self, first: int, last: int) -> list[bytes]:
        """Return slabs, up to where a page is missing in front of the end. Raises VolumeGone."""
        row = self._row
        rows = _rows(self._session, "pages", self._part, volume=row.volume_id, low=first * _PER_SLAB, high=(last + 1) * _PER_SLAB - 1)
        raw = b"".join(content for (content,) in rows)
        if len(raw) < min(row.size, (last + 1) * _SLAB) - first * _SLAB and not _rows(self._session, "stands", self._part, volume=row.volume_id, first=row.first, rules=RULES):
            raise VolumeGone
        return [raw[start : start + _SLAB] for start in range(0, len(raw), _SLAB)]


def kept(session: Session, address: Address, befores: dict[int, int]) -> dict[int, list[Kept]]:
    """Return the volumes of some tape numbers, each given with the id that its own entries stand behind: from there on, without a gap."""
    found: dict[int, list[Kept]] = {tape_no: [] for tape_no in befores}
    for tape_no, *row in _rows(session, "volumes", address, tapes=Numbers(befores), rules=RULES):
        found[tape_no].append(Kept(*row))
    return {tape_no: linked(found[tape_no], before=before) for tape_no, before in befores.items()}


def opened(session: Session, part: Address, row: Kept, shelves: Shelves) -> Volume:
    """Return a volume to read from. Raises SpoiltVolume."""
    return shelves.library.volume((row.volume_id, row.size), Pages(session, part, row, shelves.slabs), size=row.size)


def add(session: Session, part: Address, raw: bytes, *, first: int, last: int) -> bool:
    """Keep a volume, and remove such as stand behind a gap or are of other rules and old; False where the tape is gone, or others kept one there."""
    return _kept_instead(session, part, raw, first=first, last=last, of=())


def replace(session: Session, part: Address, raw: bytes, *, of: Sequence[Kept]) -> bool:
    """Keep a volume in place of those that became it; False where others did, or the tape is gone."""
    return _kept_instead(session, part, raw, first=of[0].first, last=of[-1].last, of=of)


def forget(session: Session, part: Address) -> None:
    """Remove all volumes of a tape number."""
    with session.undone():
        _begin(session)
        _forget_pages(session, part, _rows(session, "forget_all", part, rules=RULES))
        _end(session, "commit")


def _kept_instead(session: Session, part: Address, raw: bytes, *, first: int, last: int, of: Sequence[Kept]) -> bool:
    """Keep a volume, in one transaction; its bytes go first, as nobody waits for these."""
    volume_id = uuid4()
    with session.undone():
        _begin(session)
        _write(session, part, volume_id, raw)
        if not _rows(session, "hold_tape", part):
            return _end(session, "rollback")
        if of:
            gone = _rows(session, "forget", part, volumes=[row.volume_id for row in of])
            if len(gone) != len(of):
                return _end(session, "rollback")
            _forget_pages(session, part, gone)
        values = {"first": first, "last": last, "volume": volume_id, "size": len(raw), "mark": crc32(raw), "at": now()}
        if not _rows(session, "insert_volume", part, rules=RULES, **values):
            return _end(session, "rollback")
        if not of:
            _forget_pages(session, part, _rows(session, "forget_strays", part, rules=RULES, first=first, before=now() - _LONG))
        return _end(session, "commit")


def _write(session: Session, part: Address, volume_id: UUID, raw: bytes) -> None:
    pages = [raw[start : start + _PAGE] for start in range(0, len(raw), _PAGE)]
    for before in range(0, len(pages), _AT_ONCE):
        values = {"root": part.root_id, "volume": volume_id, "before": before, "contents": Texts(pages[before : before + _AT_ONCE])}
        session.send(statements("postgres/search")["insert_pages"], values)


def _forget_pages(session: Session, part: Address, gone: Collection[Row]) -> None:
    if gone:
        session.send(statements("postgres/search")["forget_pages"], {"root": part.root_id, "volumes": [volume_id for (volume_id,) in gone]})


def _begin(session: Session) -> None:
    session.send(statements("postgres/connection")["begin"])


def _end(session: Session, how: str) -> bool:
    """End the transaction; return whether it was committed."""
    session.send(statements("postgres/connection")[how])
    return how == "commit"


def _rows(session: Session, statement: str, part: Address, **values: Any) -> list[Row]:
    return session.rows(statements("postgres/search")[statement], {"root": part.root_id, "tape": part.tape_no, **values})
