"""The blobs of a file store: each a file of its own, named by its hash, below the hidden directory.

`.playhead/blobs/3f/3fa9...` holds the very bytes, `3fa9....mime` their type; where the store has a codec, `3fa9....coded` holds
what it makes of them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import NamedTuple

from playhead import clock
from playhead.entry import codec
from playhead.errors import StoreError
from playhead.store.blobs import PREFIX, Blob, digest_of, hex_of, verified
from playhead.store.file.disk import make_directories, write_whole
from playhead.store.file.family.steps import PART, discard
from playhead.store.file.place import Place
from playhead.store.file.record.codec import LineCodec
from playhead.store.flaws import Flaws

BLOBS = "blobs"
CODED, MIME = ".coded", ".mime"
_DIGITS = 64


class Shelf(NamedTuple):
    """Where the files of a blob are."""

    directory: str
    digits: str

    @property
    def plain(self) -> str:
        """The bytes as they are."""
        return f"{self.directory}/{self.digits}"

    @property
    def coded(self) -> str:
        """What a codec made of them."""
        return f"{self.plain}{CODED}"

    @property
    def mime(self) -> str:
        """Their type."""
        return f"{self.plain}{MIME}"


def put(place: Place, *, blob: Blob, data: bytes) -> Blob:
    """Keep bytes; a file that is not as it was written is written anew. Raises OSError."""
    shelf = _shelf(place, blob.digest)
    place.make()
    make_directories(place.disk, shelf.directory, flushed=place.flushes)
    target = shelf.plain if place.codec is None else shelf.coded
    if _is_whole(place, target, blob.digest):
        _flush(place, target)
    else:
        _write(place, target, data if place.codec is None else _coded(data, place.codec))
    mime = _mime(place, shelf)
    if mime is None and blob.mime is not None:
        _write(place, shelf.mime, blob.mime.encode("utf-8", "surrogatepass"))
    if place.flushes:
        place.disk.flush_directory(shelf.directory)
    return Blob(digest=blob.digest, size=blob.size, mime=mime or blob.mime)


def get(place: Place, *, digest: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, StoreError where they were written with another codec, InvalidInput."""
    shelf = _shelf(place, digest)
    coded, plain = _read(place, shelf.coded), _read(place, shelf.plain)
    if plain is not None or coded is None:
        return verified(plain, digest, path=shelf.plain)
    if place.codec is None:
        raise StoreError(f"The blob {digest} was written with a codec; open the store '{place.directory}' with the one it was written with.", path=shelf.coded, digest=digest)
    return verified(_decoded(coded, place.codec), digest, path=shelf.coded)


def listed(place: Place) -> list[Blob]:
    """Return what is kept, by digest."""
    found = [_described(place, shelf) for shelf in _shelves(place)]
    return [blob for blob in found if blob is not None]


def files(place: Place) -> Iterator[str]:
    """Yield the path of every file of a blob; drafts are left out."""
    for directory in _directories(place):
        for name in sorted(place.disk.names(directory)):
            if not name.endswith(PART):
                yield f"{directory}/{name}"


def check(place: Place, flaws: Flaws) -> None:
    """Prove every blob against its digest; what a codec wrote can only be proved with it."""
    for shelf in _shelves(place):
        for path in (shelf.plain, shelf.coded):
            is_proved = path == shelf.plain or place.codec is not None
            if is_proved and place.disk.exists(path) and not _is_whole(place, path, PREFIX + shelf.digits):
                flaws.add("it is not as it was written", where=path, severity="damage")
    for directory in _directories(place):
        for name in place.disk.names(directory):
            if name.endswith(PART):
                flaws.add("a draft that somebody left who died", where=f"{directory}/{name}", severity="remnant")


def _shelf(place: Place, digest: str) -> Shelf:
    digits = hex_of(digest)
    return Shelf(f"{place.hidden}/{BLOBS}/{digits[:2]}", digits)


def _directories(place: Place) -> list[str]:
    top = f"{place.hidden}/{BLOBS}"
    return [f"{top}/{name}" for name in sorted(place.disk.names(top)) if len(name) == 2]


def _shelves(place: Place) -> Iterator[Shelf]:
    for directory in _directories(place):
        for digits in sorted({name.removesuffix(CODED) for name in place.disk.names(directory)}):
            if len(digits) == _DIGITS and not digits.strip("0123456789abcdef"):
                yield Shelf(directory, digits)


def _described(place: Place, shelf: Shelf) -> Blob | None:
    """Return what a blob is; None where nobody can say how many bytes it has, as it was written with a codec that is not there."""
    state = place.disk.state(shelf.plain)
    size = None if state is None else state.st_size
    if size is None and place.codec is not None and (coded := _read(place, shelf.coded)) is not None:
        size = len(_decoded(coded, place.codec))
    return None if size is None else Blob(digest=PREFIX + shelf.digits, size=size, mime=_mime(place, shelf))


def _mime(place: Place, shelf: Shelf) -> str | None:
    found = _read(place, shelf.mime)
    return found.decode("utf-8", "replace") if found else None


def _is_whole(place: Place, path: str, digest: str) -> bool:
    found = _read(place, path)
    if found is not None and path.endswith(CODED) and place.codec is not None:
        found = _decoded(found, place.codec)
    return found is not None and digest_of(found) == digest


def _coded(data: bytes, by: LineCodec) -> bytes:
    return by.encode(codec.encode({"data": base64.b64encode(data).decode("ascii")})).encode("utf-8", "surrogatepass")


def _decoded(coded: bytes, by: LineCodec) -> bytes:
    """Return what a codec made something of; no bytes, which are of no digest but their own, where it cannot say."""
    try:
        return base64.b64decode(codec.decode(by.decode(coded.decode("utf-8", "surrogatepass")))["data"], validate=True)
    except Exception:  # noqa: BLE001 - a codec raises whatever it likes
        return b""


def _read(place: Place, path: str) -> bytes | None:
    """Return what a file holds, None where there is none."""
    disk = place.disk
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        return None
    try:
        parts, size = [], 0
        while part := disk.read(fd, max(disk.state_of(fd).st_size - size, 1), size):
            parts.append(part)
            size += len(part)
        return b"".join(parts)
    finally:
        disk.close(fd)


def _write(place: Place, path: str, content: bytes) -> None:
    """Write a file that appears whole or not at all. Raises OSError."""
    disk, draft = place.disk, f"{path}.{clock.new_uid()}{PART}"
    try:
        fd = disk.open_to_write(draft)
        try:
            write_whole(disk, fd, content, 0)
            if place.flushes:
                disk.flush(fd)
        finally:
            disk.close(fd)
        disk.rename(draft, path)
    except OSError:
        discard(disk, draft)
        raise


def _flush(place: Place, path: str) -> None:
    """See to it that a file survives the loss of power, which somebody else may have written a moment ago."""
    if place.flushes:
        fd = place.disk.open_to_write(path)
        try:
            place.disk.flush(fd)
        finally:
            place.disk.close(fd)
