"""Arrays as PostgreSQL takes them, written at once: entries come by the thousand."""

from __future__ import annotations

from struct import Struct, pack

from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper

from playhead.store.postgres.keys import Numbers, Texts

_BYTEA, _BYTEAS, _INT8, _INT8S = 17, 1001, 20, 1016
_length = Struct("!i").pack
_number = Struct("!iq").pack


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _BYTEAS

    def dump(self, obj: Texts) -> bytes:
        parts = [_head(len(obj), _BYTEA)]
        for item in obj:
            parts += (_length(len(item)), item)
        return b"".join(parts)


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = _INT8S

    def dump(self, obj: Numbers) -> bytes:
        return b"".join((_head(len(obj), _INT8), *(_number(8, item) for item in obj)))


def register(connection: Connection[tuple[object, ...]]) -> None:
    """Let a connection take our arrays, and every whole number as one type, so that a statement is prepared once."""
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    connection.adapters.register_dumper(Texts, _TextsDumper)
    connection.adapters.register_dumper(Numbers, _NumbersDumper)


def _head(number: int, oid: int) -> bytes:
    """Return how an array of one dimension begins: without NULLs, counted from 1."""
    return pack("!iiiii", 1, 0, oid, number, 1) if number else pack("!iii", 0, 0, oid)
