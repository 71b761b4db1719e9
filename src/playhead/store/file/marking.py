"""Which blobs the files of a directory name: all of them are looked through, a part at a time, while others may write."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from zlib import crc32

from playhead.entry import codec
from playhead.store.blobs import BlobNames, names_in
from playhead.store.file.blobs import BLOBS
from playhead.store.file.names import SUFFIX
from playhead.store.file.place import Place, damaged
from playhead.store.file.record.codec import decoded
from playhead.store.file.record.lines import BadLine, is_checked, load
from playhead.store.file.record.snapshot import Snapshot

_PART = 8 * 1024 * 1024
_HEAD = 512
_ESCAPE = rb"\u"
_NAMELESS = (".index", ".lock")
"""How directories and files end in which no entry stands."""

_File = tuple[int, int, int]
"""What a file is known by, whatever its name is: device, number, and how it begins, as a number is given again."""


def marked(place: Place) -> Generator[BlobNames, None, None]:
    """Yield, a part at a time, the digests that stand in the files; what is appended to one meanwhile may be left out.

    Files are renamed and replaced meanwhile, so they are listed until no list holds one that was not looked through. Raises
    StoreDamaged at a line that is not as it was written, StoreError where it was written with another codec, OSError.
    """
    seen: set[_File] = set()
    done = 0
    while fresh := _unseen(place, seen) or _unseen(place, seen):
        total = done + sum(size for _, _, size in fresh)
        for path, file, _ in fresh:
            seen.add(file)
            for names, length in _looked_through(place, path):
                done += length
                yield BlobNames(digests=names, done=done, total=max(done, total))


def _unseen(place: Place, seen: set[_File]) -> list[tuple[str, _File, int]]:
    """Return the files that were not looked through, what each is known by and how long it is."""
    found = []
    for path in _paths(place.directory, place):
        with suppress(FileNotFoundError):
            fd = place.disk.open_to_read(path)
            try:
                state = place.disk.state_of(fd)
                file = state.st_dev, state.st_ino, crc32(place.disk.read(fd, _HEAD, 0))
            finally:
                place.disk.close(fd)
            if file not in seen:
                found.append((path, file, state.st_size))
    return found


def _paths(directory: str, place: Place) -> Iterator[str]:
    for name in sorted(place.disk.names(directory)):
        path = f"{directory}/{name}"
        if name.endswith(_NAMELESS) or path == f"{place.hidden}/{BLOBS}":
            continue
        if os.path.isdir(path):
            yield from _paths(path, place)
        elif os.path.isfile(path):
            yield path


def _looked_through(place: Place, path: str) -> Iterator[tuple[frozenset[str], int]]:
    """Yield what a file names, and how long each part of it was; a file that is gone was replaced or given another name."""
    try:
        fd = place.disk.open_to_read(path)
    except FileNotFoundError:
        return
    try:
        file = Snapshot(disk=place.disk, fd=fd, path=path, size=place.disk.state_of(fd).st_size)
        names: set[str] = set()
        length = 0
        end = file.behind_last_newline()
        for offset, raw in file.forwards(0, end):
            names |= _named(place, path, offset, raw)
            length += len(raw) + 1
            if length >= _PART:
                yield frozenset(names), length
                names, length = set(), 0
        yield frozenset(names | names_in(file.read(end, file.size))), length + file.size - end
    finally:
        place.disk.close(fd)


def _named(place: Place, path: str, offset: int, raw: bytes) -> frozenset[str]:
    """Return the digests that stand in a line, whoever wrote it."""
    if path.endswith(SUFFIX) and is_checked(raw):
        try:
            line = load(raw)
        except BadLine as exc:
            raise damaged(path, offset, str(exc)) from exc
        if place.codec is None or not line.id:
            return names_in(raw)
        line = decoded(line, place.codec, path=path)
        return names_in(bytes(line.payload)) | names_in(bytes(line.meta)) | names_in(b"" if line.moved is None else bytes(line.moved))
    if _ESCAPE in raw:
        with suppress(ValueError, RecursionError):
            return names_in(raw) | names_in(codec.encode(codec.decode(raw)))
    return names_in(raw)
