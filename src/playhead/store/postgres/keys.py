"""Texts of any length as keys of an index, which takes short ones only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from playhead.store.rows.row import Cell, Row, cell, uid_cell


class Texts(list[bytes]):
    """Bytes that a statement takes as one array."""


class Numbers(list[int]):
    """Whole numbers that a statement takes as one array."""


NONE = b""
"""Stands for what is not there, where an array or a parameter cannot be NULL; a key is never empty."""

_NAME = 16
_SHORT = 64


@lru_cache(maxsize=4096)
def name_key(name: str) -> bytes:
    """Return what the name of a tape is looked up by."""
    return sha256(name.encode()).digest()[:_NAME]


def raw(value: Cell) -> bytes:
    """Return the bytes of a text."""
    return value if isinstance(value, bytes) else value.encode()


def text_key(text: str) -> bytes:
    """Return the key of an idempotency key, or of who reads."""
    return _shortened(raw(cell(text)))


def uid_key(uid: str) -> bytes:
    """Return the key of a uid."""
    return _shortened(raw(uid_cell(uid)))


def anchor_key(name: str) -> bytes:
    """Return the key of an anchor's name, which may be empty."""
    return _shortened(b":" + raw(cell(name)))


def columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows as the arrays that a statement takes."""
    return {
        "ts": Numbers(row.ts for row in rows),
        "kinds": Texts(raw(row.kind) for row in rows),
        "uids": Texts(_shortened(raw(row.uid)) for row in rows),
        "keys": Texts(NONE if row.idem_key is None else _shortened(raw(row.idem_key)) for row in rows),
        "anchors": Texts(NONE if row.anchor is None else _shortened(b":" + raw(row.anchor)) for row in rows),
        "digests": Texts(row.digest for row in rows),
        "metas": Texts(row.meta for row in rows),
        "bodies": Texts(row.body for row in rows),
    }


def column(row: Row) -> dict[str, bytes | int]:
    """Return a row as the values that a statement takes."""
    return {
        "key": NONE if row.idem_key is None else _shortened(raw(row.idem_key)),
        "ts": row.ts,
        "kind": raw(row.kind),
        "uid": _shortened(raw(row.uid)),
        "anchor": NONE if row.anchor is None else _shortened(b":" + raw(row.anchor)),
        "digest": row.digest,
        "meta": row.meta,
        "body": row.body,
    }


def keys_of(rows: Sequence[Row]) -> Texts:
    """Return the idempotency keys of rows that have one."""
    return Texts(_shortened(raw(row.idem_key)) for row in rows if row.idem_key is not None)


def _shortened(key: bytes) -> bytes:
    return key if len(key) <= _SHORT else sha256(key).digest()
