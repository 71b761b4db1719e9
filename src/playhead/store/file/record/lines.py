"""One entry, one line: JSON that anybody can read, with a checksum as its last member."""

from __future__ import annotations

from datetime import datetime
from sys import intern
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from playhead import clock
from playhead.entry import codec
from playhead.entry.entry import ANCHOR, TapeEntry
from playhead.store.blobs import names_in
from playhead.store.parting import Load, Piece, Whole, joined, parted
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.rules.intake import meta_to_keep
from playhead.store.rules.replay import key_of

CHECKED_BY = len(b',"~c":"00000000"}')
"""How many bytes of a line its checksum takes, at the very end."""

HEADER_KIND = "tape"
_START = b'{"id":'
_FRAME = b',"~c":"........"}'
_HEX = frozenset(b"0123456789abcdef")
_SURELY_MEANT = CHECKED_BY - 1


class Line(msgspec.Struct, rename={"batch": "~b", "anchor": "~a", "generation": "~g", "older": "~o", "shared": "~s", "mark": "~m", "moved": "~p"}, frozen=True, gc=False):
    """A line as it was written: the entry, its payload and meta still JSON, and the store's own marks.

    `batch` is (i, n) in the i-th line of a batch of n; `anchor` the place of the newest anchor before it; `generation` how often
    the tape was reset; `older` how many bytes at the front of the file another program wrote; `mark`, on a sidecar, where its main
    tape ended then; `moved` where the values of the payload belong that are kept as blobs. Id 0 is the file's header, or the end of a
    branch; `shared` says there how many entries come before those of the file.
    """

    id: int
    kind: str
    payload: msgspec.Raw
    meta: msgspec.Raw
    date: str
    batch: tuple[int, int] | None = None
    anchor: int | None = None
    generation: int = 0
    older: int = 0
    shared: int = 0
    mark: tuple[int, int] | None = None
    moved: msgspec.Raw | None = None

    @property
    def reach(self) -> int:
        """The id up to which a tape is known where this line ends: its own, or that of the last entry before those of the file."""
        return self.id or self.shared

    def entry(self) -> TapeEntry:
        """Return the entry; its payload and meta are decoded when they are first read."""
        return TapeEntry.stored(id=self.id, kind=intern(self.kind), payload=bytes(self.payload), meta=bytes(self.meta), date=self.date)


class PartedLine(Line, frozen=True, gc=False):
    """A line of an entry whose payload is kept in parts; `load` returns those that are blobs, `path` is where the line stands."""

    load: Load | None = None
    path: str = ""

    def entry(self) -> TapeEntry:
        """Return the entry; its payload is put together when it is first read."""
        body = bytes(self.payload) if self.moved is None else joined(bytes(self.payload), bytes(self.moved))
        decode = codec.decode if self.load is None else Whole(self.load, f"entry {self.id} of '{self.path}'")
        return TapeEntry.stored(id=self.id, kind=intern(self.kind), payload=body, meta=bytes(self.meta), date=self.date, decode=decode)


class Names(NamedTuple):
    """What an entry can be found by."""

    uid: str
    key: str | None


class BadLine(ValueError):
    """Bytes that are no line, and why."""


class Body(NamedTuple):
    """What a line says, without its place on a tape.

    `moved` says where the values of the payload belong that are kept as blobs, `pieces` are these and `whole` the payload with them,
    where they are yet to be kept; `named` are the digests that stand in the line, `at` is when that
    was asked for, where there are any.
    """

    kind: str
    payload: bytes
    meta: bytes
    date: str
    key: str | None = None
    mark: tuple[int, int] | None = None
    moved: bytes | None = None
    pieces: tuple[Piece, ...] = ()
    whole: bytes | None = None
    named: frozenset[str] = frozenset()
    at: datetime | None = None

    def stored(self, id: int) -> TapeEntry:
        """Return the entry as it stands on a tape."""
        return TapeEntry.stored(id=id, kind=self.kind, payload=self.payload if self.whole is None else self.whole, meta=self.meta, date=self.date)


def body_of(entry: TapeEntry, *, limit: int | None = None) -> Body:
    """Return what to write for an entry, in parts where its payload is over a limit. Raises InvalidInput where its uid or its idempotency key is no text."""
    meta = codec.encode(meta_to_keep(entry))
    payload = codec.encode(entry.payload)
    body = Body(kind=entry.kind, payload=payload, meta=meta, date=entry.date, key=key_of(entry))
    if limit is not None and len(payload) > limit:
        parts = parted(entry.payload, limit=limit)
        body = body._replace(payload=parts.payload, moved=parts.moved, pieces=parts.pieces, whole=payload)
    named = names_in(body.payload) | names_in(meta) | names_in(body.moved or b"")
    return body._replace(named=named, at=clock.now()) if named else body


def put_together(line: Line, *, load: Load, path: str) -> PartedLine:
    """Return a line whose payload is kept in parts as one that finds these."""
    return PartedLine(**{name: getattr(line, name) for name in Line.__struct_fields__}, load=load, path=path)


def moved_in(line: Line) -> bytes | None:
    """Return where the values of a line's payload belong that are kept as blobs, None where it has them all."""
    return None if line.moved is None else bytes(line.moved)


def dump(body: Body, *, id: int, marks: bytes) -> bytes:
    """Return a line, newline included; `marks` are members that stand before the checksum."""
    kind, date = codec.encode(body.kind), body.date.encode()
    moved = b"" if body.moved is None else b',"~p":%b' % body.moved
    said = b'{"id":%d,"kind":%b,"payload":%b,"meta":%b,"date":"%b"%b%b' % (id, kind, body.payload, body.meta, date, marks, moved)
    return b'%b,"~c":"%08x"}\n' % (said, crc32(said))


def marks(*, batch: tuple[int, int] | None = None, anchor: int | None, generation: int, older: int, shared: int = 0, mark: tuple[int, int] | None = None) -> bytes:
    """Return the store's own members of a line; those that say nothing are left out."""
    if batch is None and anchor is None and mark is None and not generation and not older and not shared:
        return b""
    text = b"" if batch is None else b',"~b":[%d,%d]' % batch
    if anchor is not None:
        text += b',"~a":%d' % anchor
    if generation:
        text += b',"~g":%d' % generation
    if older:
        text += b',"~o":%d' % older
    if shared:
        text += b',"~s":%d' % shared
    return text if mark is None else text + b',"~m":[%d,%d]' % mark


def load(raw: bytes) -> Line:
    """Return the line that bytes are, newline left out. Raises BadLine where they are not what was written."""
    if not raw.endswith(b'"}') or raw[-CHECKED_BY:-10] != b',"~c":"':
        raise BadLine("no checksum stands at its end")
    if b"%08x" % crc32(memoryview(raw)[:-CHECKED_BY]) != raw[-10:-2]:
        raise BadLine("the checksum does not match")
    try:
        return _line.decode(raw)
    except msgspec.DecodeError:
        return _with_lone_surrogates(raw)


def is_checked(raw: bytes) -> bool:
    """Return whether bytes were written with a checksum, also where one of the bytes around it is damaged."""
    end = raw[-CHECKED_BY:]
    if len(end) < CHECKED_BY:
        return False
    return sum(found == meant or (meant == 0x2E and found in _HEX) for found, meant in zip(end, _FRAME, strict=True)) >= _SURELY_MEANT


def begins_like_a_line(start: bytes) -> bool:
    """Return whether the first bytes of something unfinished are those of a line, or bytes that never reached the disk."""
    written = start[: len(_START)].rstrip(b"\0")
    return _START.startswith(written)


def names_of(line: Line) -> Names:
    """Return what an entry can be found by."""
    meta = codec.decode(bytes(line.meta))
    uid, key = meta.get("uid"), meta.get(IDEMPOTENCY_KEY)
    return Names(uid if isinstance(uid, str) else "", key if isinstance(key, str) and key else None)


def is_anchor(kind: str) -> bool:
    """Return whether entries of that kind are anchors."""
    return kind == ANCHOR


def _with_lone_surrogates(raw: bytes) -> Line:
    """Decode a line with half a surrogate pair in it, which the fast decoder refuses."""
    try:
        found = codec.decode(raw)
        found |= {name: msgspec.Raw(codec.encode(found[name])) for name in ("payload", "meta", "~p") if name in found}
        members: dict[str, Any] = {_MEMBERS[name]: tuple(value) if name in ("~b", "~m") else value for name, value in found.items() if name in _MEMBERS}
        line = Line(**members)
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise BadLine(f"it is no entry ({exc})") from exc
    if not (isinstance(line.id, int) and isinstance(line.kind, str) and isinstance(line.date, str)):
        raise BadLine("it is no entry")
    return line


_MEMBERS = dict(zip(Line.__struct_encode_fields__, Line.__struct_fields__, strict=True))
_line = msgspec.json.Decoder(Line)
