"""Another form for what entries say, such as a compressed or an enciphered one: applied to payload and meta, each a JSON text in the line."""

from __future__ import annotations

from typing import Protocol

import msgspec

from playhead.entry import codec
from playhead.errors import StoreError
from playhead.store.file.record.lines import Body, Line

_OPENING = ord("{")
_MOVED = "moved"


class LineCodec(Protocol):
    """Turns what an entry says into a text and back; ids, kinds and dates stay as they are, so that a tape can still be read by eye and queried."""

    def encode(self, said: bytes, /) -> str:
        """Return the text to keep for the JSON of a payload or a meta."""
        ...

    def decode(self, text: str, /) -> bytes:
        """Return the JSON that a text was made of; raise whatever fits where it was made by another codec."""
        ...


def encoded(body: Body, by: LineCodec) -> Body:
    """Return what a line says in the form that is written."""
    moved = None if body.moved is None else codec.encode(by.encode(b'{"%b":%b}' % (_MOVED.encode(), body.moved)))
    return body._replace(payload=codec.encode(by.encode(body.payload)), meta=codec.encode(by.encode(body.meta)), moved=moved)


def decoded(line: Line, by: LineCodec | None, *, path: str) -> Line:
    """Return a line as it was before it was encoded; lines of other programs are as they are. Raises StoreError where it was encoded in another way."""
    is_plain = memoryview(line.payload)[0] == _OPENING
    if by is None and is_plain:
        return line
    if by is None or is_plain:
        raise StoreError(f"Entry {line.id} of '{path}' was written {'with a' if by is None else 'without this'} codec; open the store with the one it was written with.", path=path)
    try:
        payload, meta = (by.decode(codec.decode(bytes(part))) for part in (line.payload, line.meta))
        moved = None if line.moved is None else msgspec.Raw(codec.encode(codec.decode(by.decode(codec.decode(bytes(line.moved))))[_MOVED]))
    except Exception as exc:
        raise _unreadable(line, path, repr(exc)) from exc
    if payload[:1] != b"{" or meta[:1] != b"{":
        raise _unreadable(line, path, "it makes no JSON object of it")
    return msgspec.structs.replace(line, payload=msgspec.Raw(payload), meta=msgspec.Raw(meta), moved=moved)


def _unreadable(line: Line, path: str, why: str) -> StoreError:
    return StoreError(f"The codec cannot read entry {line.id} of '{path}' ({why}); open the store with the one it was written with.", path=path)
