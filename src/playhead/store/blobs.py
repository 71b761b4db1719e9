"""Blobs: bytes that a store keeps by their hash, such as the pictures of a conversation, each once however often it is put."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Protocol, TypeGuard, runtime_checkable

from anyio import to_thread

from playhead.errors import BlobNotFound, InvalidInput, StoreDamaged

PREFIX = "sha256:"
"""How a digest begins, and so the reference to a blob."""

_DIGEST = re.compile(f"{PREFIX}[0-9a-f]{{64}}")
_MARK = PREFIX.encode()
_NAMED = re.compile(_DIGEST.pattern.encode())
_ASIDE = 1 << 20
"""From how many bytes on a hash is made in a thread, so that the event loop does not stand still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes in a store: their digest (`sha256:` and 64 hex digits), how many they are, and of what type, where that was said."""

    digest: str
    size: int
    mime: str | None = None


@runtime_checkable
class BlobStore(Protocol):
    """Keeps bytes by their hash; every store of ours does, a store of yours may."""

    async def put_blob(self, data: bytes, *, mime: str | None = None) -> Blob:
        """Keep bytes and return what they are called by; the same bytes again are kept once, under the type that was said first."""
        ...

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged where they are not those that were put."""
        ...

    async def blobs(self) -> list[Blob]:
        """Return what is kept, by digest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobNames:
    """A part of what a store keeps, looked through for the digests that stand in it; so far `done` of `total` were, in whatever the store counts."""

    digests: frozenset[str]
    done: int
    total: int


@runtime_checkable
class BlobCollector(BlobStore, Protocol):
    """Tells which blobs nobody needs and lets go of them; every store of ours does, a store of yours that keeps blobs may."""

    async def idle_blobs(self, *, since: datetime) -> list[Blob]:
        """Return the blobs that were not put since an instant, and that no append named since."""
        ...

    def named_blobs(self) -> AsyncGenerator[BlobNames, None]:
        """Yield, a part at a time, every digest that anything kept names: entries of all tapes, branches, sidecars and generations that can be read.

        What is appended meanwhile may be left out. Raises StoreDamaged where a part cannot be read, as nobody knows what it named.
        """
        ...

    async def drop_blobs(self, digests: Iterable[str], *, idle_since: datetime) -> list[str]:
        """Remove blobs, each only if it was neither put nor named by an append since an instant; return those that were removed."""
        ...


def blobs_of(store: object) -> BlobStore | None:
    """Return a store as one that keeps blobs, None where it keeps none."""
    return store if isinstance(store, BlobStore) else None


def digest_of(data: bytes) -> str:
    """Return the digest of bytes."""
    return PREFIX + sha256(data).hexdigest()


async def weighed(data: object, *, mime: str | None = None) -> tuple[bytes, Blob]:
    """Return what is to be kept, and what it is called by. Raises InvalidInput for anything but bytes, and for a type that is no text."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInput(f"A blob is bytes, not {type(data).__name__}; encode a text first, and decode base64.")
    if mime is not None and (not isinstance(mime, str) or not mime.isprintable()):
        raise InvalidInput(f"A blob's type is a text such as 'image/png', not {mime!r}.")
    kept = bytes(data)
    digest = await to_thread.run_sync(digest_of, kept) if len(kept) >= _ASIDE else digest_of(kept)
    return kept, Blob(digest=digest, size=len(kept), mime=mime or None)


def is_digest(ref: object) -> TypeGuard[str]:
    """Return whether a reference is that of a blob."""
    return isinstance(ref, str) and _DIGEST.fullmatch(ref) is not None


def hex_of(digest: str) -> str:
    """Return the hex digits of a digest. Raises InvalidInput for anything else."""
    if not is_digest(digest):
        raise InvalidInput(f"A blob is called by its digest, 'sha256:' and 64 hex digits, not by {digest!r}.")
    return digest.removeprefix(PREFIX)


def verified(data: bytes | None, digest: str, *, path: str) -> bytes:
    """Return bytes that are those of a digest. Raises BlobNotFound where there are none, StoreDamaged."""
    if data is None:
        raise BlobNotFound(digest)
    if digest_of(data) != digest:
        raise StoreDamaged(f"The blob {digest} in '{path}' is not as it was written; put the same bytes again to mend it, or restore a backup.", path=path, digest=digest)
    return data


def names_in(text: bytes) -> frozenset[str]:
    """Return the digests that stand in a text such as the JSON of an entry, as references or in whatever was said."""
    if _MARK not in text:
        return frozenset()
    return frozenset(found.decode() for found in _NAMED.findall(text))


def refs_in(*values: Any) -> list[str]:
    """Return the digests that JSON values refer to, each once."""
    return list(dict.fromkeys(digest for value in values for digest, _ in references(value)))


def references(value: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the digests that a payload refers to, each with its type: the `ref` and the `mime` of each part of media in it."""
    if isinstance(value, Mapping):
        if is_digest(ref := value.get("ref")):
            yield ref, mime if isinstance(mime := value.get("mime"), str) else None
        for item in value.values():
            yield from references(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from references(item)
