"""The blobs of a file store: each a file of its own, named by its hash, below the hidden directory.

`.playhead/blobs/3f/3fa9...` holds the very bytes, `3fa9....mime` their type; where the store has a codec, `3fa9....coded` holds
what it makes of them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from typing import NamedTuple

from playhead import clock
from playhead.entry import codec
from playhead.errors import StoreError
from playhead.store.blobs import PREFIX, Blob, digest_of, hex_of, verified
from playhead.store.concurrency.lock import FileLock
from playhead.store.condition.flaws import Flaws
from playhead.store.file.disk import make_directories, write_whole
from playhead.store.file.family.steps import PART, discard
from playhead.store.file.place import Place
from playhead.store.file.record.codec import LineCodec
from playhead.store.file.record.lines import Body
from playhead.store.rows.row import microseconds

BLOBS = "blobs"
CODED, MIME = ".coded", ".mime"
_DIGITS = 64
_LOCK = ".lock"


class Shelf(NamedTuple):
    """Where the files of a blob are: `plain` holds the bytes as they are, `coded` what a codec made of them."""

    plain: str
    coded: str
    directory: str
    digits: str

    @property
    def mime(self) -> str:
        """Their type."""
        return f"{self.plain}{MIME}"


def put(place: Place, *, blob: Blob, data: bytes, at: datetime) -> Blob:
    """Keep bytes, which are in use at an instant; a file that is not as it was written is written anew. Raises OSError, StoreBusy."""
    shelf = _shelf(place, blob.digest)
    place.make()
    make_directories(place.disk, shelf.directory, flushed=place.flushes)
    target = shelf.plain if place.codec is None else shelf.coded
    renew(place, [blob.digest], at=at)
    if not (_is_whole(place, target, blob.digest) and _is_safe(place, target)):
        _write(place, target, data if place.codec is None else _coded(data, place.codec), at=at)
    mime = _mime(place, shelf)
    if mime is None and blob.mime is not None:
        _write(place, shelf.mime, blob.mime.encode("utf-8", "surrogatepass"), at=at)
    if place.flushes:
        place.disk.flush_directory(shelf.directory)
    return Blob(digest=blob.digest, size=blob.size, mime=mime or blob.mime)


def get(place: Place, digest: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, StoreError where they were written with another codec, InvalidInput."""
    shelf = _shelf(place, digest)
    coded, plain = _read(place, shelf.coded), _read(place, shelf.plain)
    if plain is not None or coded is None:
        return verified(plain, digest, path=shelf.plain)
    if place.codec is None:
        raise StoreError(f"The blob {digest} was written with a codec; open the store '{place.directory}' with the one it was written with.", path=shelf.coded, digest=digest)
    return verified(_decoded(coded, place.codec), digest, path=shelf.coded)


def is_kept(place: Place, digest: str) -> bool:
    """Return whether there is a blob of that digest, whatever it holds."""
    return any(map(place.disk.exists, _shelf(place, digest)[:2]))


def settle(place: Place, bodies: Iterable[Body]) -> None:
    """Keep what lines are kept in besides, and renew what they name, before they are written. Raises OSError, StoreBusy."""
    for body in bodies:
        if body.at is None:
            continue
        for piece in body.pieces:
            put(place, blob=piece.blob, data=piece.data, at=body.at)
        renew(place, body.named - {piece.blob.digest for piece in body.pieces}, at=body.at)


def renew(place: Place, digests: Iterable[str], *, at: datetime) -> None:
    """Take note that blobs are in use at an instant; those that are not kept are nobody's. Raises OSError, StoreBusy."""
    paths = [path for digest in digests for path in _shelf(place, digest)[:2] if place.disk.exists(path)]
    if not paths:
        return
    with _alone(place):
        for path in paths:
            state = place.disk.state(path)
            if state is not None and state.st_mtime_ns < _nanoseconds(at):
                place.disk.date(path, _nanoseconds(at))


def idle(place: Place, since: datetime) -> list[Blob]:
    """Return those that were neither put nor named by an append since an instant, by digest."""
    shelves = [shelf for shelf in _shelves(place) if _is_idle(place, shelf, since)]
    return [blob for shelf in shelves if (blob := _described(place, shelf)) is not None]


def drop(place: Place, digests: Iterable[str], idle_since: datetime) -> list[str]:
    """Remove those that were neither put nor named by an append since an instant; return which. Raises OSError, StoreBusy."""
    gone, directories = [], set()
    for digest in digests:
        shelf = _shelf(place, digest)
        with _alone(place):
            if not _is_idle(place, shelf, idle_since):
                continue
            for path in (shelf.mime, shelf.coded, shelf.plain):
                with suppress(FileNotFoundError):
                    place.disk.remove(path)
        gone.append(digest)
        directories.add(shelf.directory)
    for directory in directories if place.flushes else ():
        place.disk.flush_directory(directory)
    return gone


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Keep all others from removing blobs, or from renewing them, inside the block."""
    with closing(FileLock(f"{place.hidden}/{BLOBS}/{_LOCK}", timeout=place.timeout)) as lock, lock:
        yield


def _is_idle(place: Place, shelf: Shelf, since: datetime) -> bool:
    states = [state for path in (shelf.plain, shelf.coded) if (state := place.disk.state(path)) is not None]
    return bool(states) and max(state.st_mtime_ns for state in states) < _nanoseconds(since)


def _nanoseconds(at: datetime) -> int:
    return microseconds(at) * 1_000


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
    return _shelf_in(f"{place.hidden}/{BLOBS}/{digits[:2]}", digits)


def _shelf_in(directory: str, digits: str) -> Shelf:
    plain = f"{directory}/{digits}"
    return Shelf(plain, f"{plain}{CODED}", directory, digits)


def _directories(place: Place) -> list[str]:
    top = f"{place.hidden}/{BLOBS}"
    return [f"{top}/{name}" for name in sorted(place.disk.names(top)) if len(name) == 2]


def _shelves(place: Place) -> Iterator[Shelf]:
    for directory in _directories(place):
        for digits in sorted({name.removesuffix(CODED) for name in place.disk.names(directory)}):
            if len(digits) == _DIGITS and not digits.strip("0123456789abcdef"):
                yield _shelf_in(directory, digits)


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


def _write(place: Place, path: str, content: bytes, *, at: datetime) -> None:
    """Write a file that appears whole or not at all. Raises OSError."""
    disk, draft = place.disk, f"{path}.{clock.new_uid()}{PART}"
    try:
        fd = disk.open_to_write(draft)
        try:
            write_whole(disk, fd, content, 0)
            disk.date(draft, _nanoseconds(at))
            if place.flushes:
                disk.flush(fd)
        finally:
            disk.close(fd)
        with _alone(place):
            disk.rename(draft, path)
    except OSError:
        discard(disk, draft)
        raise


def _is_safe(place: Place, path: str) -> bool:
    """See to it that a file survives the loss of power, which somebody else may have written a moment ago; False where it is gone."""
    if not place.flushes:
        return True
    with _alone(place):
        if not place.disk.exists(path):
            return False
        fd = place.disk.open_to_write(path)
    try:
        place.disk.flush(fd)
    finally:
        place.disk.close(fd)
    return True
