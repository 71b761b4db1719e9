"""Parting: the large values of a payload are kept as blobs beside it; who reads the entry sees the payload whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict, FrozenList
from playhead.errors import BlobNotFound, InvalidInput, StoreDamaged
from playhead.store.blobs import Blob, digest_of, is_digest, names_in

INLINE = 256 * 1024
"""From how many bytes of JSON on a payload is parted, where nothing else is asked for."""

LEAST = 1024
"""The smallest limit: below it what stands for a value is not much shorter than the value."""

Load = Callable[[str], bytes]
"""Returns the bytes of a digest. Raises BlobNotFound, StoreDamaged."""

_TEXT, _JSON = "text", "json"
_MIMES = {_TEXT: "text/plain; charset=utf-8", _JSON: "application/json"}
_PARTED = b"["
_NAME = ("name",)


class Piece(NamedTuple):
    """A value that is kept as a blob."""

    blob: Blob
    data: bytes


class Parted(NamedTuple):
    """A payload without its large values, as JSON, and where those belong: `[{"at": [...], "blob": ..., "as": "text" | "json", "names": [...]}, ...]`.

    `names` are the digests that stand in such a value, so that nobody has to read it to know what it refers to.
    """

    payload: bytes
    moved: bytes
    pieces: tuple[Piece, ...]

    @property
    def body(self) -> bytes:
        """Both in one: a list, which no payload is."""
        return joined(self.payload, self.moved)


def checked_limit(limit: int | None) -> int | None:
    """Return how long a payload may be that is kept in one, None for any length. Raises InvalidInput."""
    if limit is None or (type(limit) is int and limit >= LEAST):
        return limit
    raise InvalidInput(f"A store's inline_limit is a number of bytes from {LEAST:,}, or None to keep every payload in one piece, not {limit!r}.")


def parted(payload: FrozenDict, *, limit: int) -> Parted:
    """Return a payload whose values over the limit are kept apart: each text by itself, of lists and objects those that are too long without their texts.

    The name of an anchor or event stays, whatever its length, as it is looked for.
    """
    cut = _Cut(limit)
    rest, _ = cut.value(payload, ())
    return Parted(codec.encode(rest), codec.encode(cut.moved), tuple(cut.pieces))


def joined(payload: bytes, moved: bytes) -> bytes:
    """Return a payload and where its large values belong as one body."""
    return b"[%b,%b]" % (payload, moved)


def is_parted(body: bytes) -> bool:
    """Return whether a body is that of a payload with values elsewhere."""
    return body[:1] == _PARTED


def apart(body: bytes) -> tuple[Any, list[str]]:
    """Return the payload of a body as it stands there, and the digests of the values that are kept elsewhere. Raises ValueError, RecursionError."""
    found = codec.decode(body)
    if not is_parted(body):
        return found, []
    try:
        payload, moved = found
        return payload, [item["blob"] for item in moved if is_digest(item["blob"])]
    except (TypeError, KeyError) as exc:
        raise ValueError(f"it does not say where its values belong ({exc!r})") from exc


def no_blob(digest: str) -> bytes:
    """Stand for the blobs of a store that keeps none."""
    raise BlobNotFound(digest)


def whole(body: bytes, load: Load) -> Any:
    """Return the payload of a parted body, its large values in their places. Raises ValueError where it is none, BlobNotFound, StoreDamaged."""
    try:
        payload, moved = codec.decode(body)
        for item in moved:
            _put(payload, item["at"], _value(load(item["blob"]), item["as"]))
    except (TypeError, KeyError, IndexError) as exc:
        raise ValueError(f"it does not say where its values belong ({exc!r})") from exc
    return payload


class Whole:
    """Decodes the payload and the meta of an entry, also where values of it are kept elsewhere; `named` is how errors call the entry."""

    __slots__ = ("_load", "_named")

    def __init__(self, load: Load, named: str) -> None:
        self._load = load
        self._named = named

    def __call__(self, body: bytes) -> Any:
        """Return what JSON says. Raises ValueError where it is none, StoreDamaged where a part is not there, or not as it was written."""
        if not is_parted(body):
            return codec.decode(body)
        try:
            return whole(body, self._load)
        except BlobNotFound as exc:
            raise _gone(self._named, exc.digest, "not there") from exc
        except StoreDamaged as exc:
            raise _gone(self._named, str(exc.details.get("digest", "")), "not as it was written") from exc


def _gone(named: str, digest: str, how: str) -> StoreDamaged:
    return StoreDamaged(f"A part of {named} is kept as the blob {digest}, which is {how}; restore a backup, or put the same bytes again with put_blob().", digest=digest)


def _value(data: bytes, form: str) -> Any:
    return data.decode("utf-8", "surrogatepass") if form == _TEXT else codec.decode(data)


def _put(payload: Any, path: list[Any], value: Any) -> None:
    for step in path[:-1]:
        payload = payload[step]
    payload[path[-1]] = value


class _Cut:
    """Takes the large values out of a payload, from the inside out."""

    def __init__(self, limit: int) -> None:
        self.pieces: list[Piece] = []
        self.moved: list[dict[str, Any]] = []
        self._limit = limit

    def value(self, value: Any, path: tuple[str | int, ...]) -> tuple[Any, int]:
        """Return a value without what is kept apart, and about how long it is as JSON."""
        if isinstance(value, str):
            size = len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
            return self._move(value, path, _TEXT) if size > self._limit and path != _NAME else (value, size + 2)
        if not isinstance(value, (FrozenDict, FrozenList)):
            return value, len(repr(value))
        before = len(self.moved)
        rest, size = self._items(value, path)
        if size <= self._limit or not path:
            return rest, size
        del self.moved[before:], self.pieces[before:]
        return self._move(value, path, _JSON)

    def _items(self, value: FrozenDict | FrozenList, path: tuple[str | int, ...]) -> tuple[Any, int]:
        if isinstance(value, FrozenList):
            items = [self.value(item, (*path, place)) for place, item in enumerate(value)]
            return [item for item, _ in items], sum(size + 1 for _, size in items)
        fields = {key: self.value(item, (*path, key)) for key, item in value.items()}
        return {key: item for key, (item, _) in fields.items()}, sum(len(key) + 4 + size for key, (_, size) in fields.items())

    def _move(self, value: Any, path: tuple[str | int, ...], form: str) -> tuple[Any, int]:
        data = value.encode("utf-8", "surrogatepass") if form == _TEXT else codec.encode(value)
        digest, names = digest_of(data), sorted(names_in(data))
        self.pieces.append(Piece(Blob(digest=digest, size=len(data), mime=_MIMES[form]), data))
        self.moved.append({"at": list(path), "blob": digest, "as": form} | ({"names": names} if names else {}))
        stub = f"[{len(data):,} bytes kept as {digest}]"
        return stub, len(stub)
