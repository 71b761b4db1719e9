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
from playhead.store.file.record.lines import BadLine, Line, is_checked, load, moved_in
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.search import values

_PART = 8 * 1024 * 1024
_HEAD = 512
_ESCAPE = b"\\"
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
            names |= _named(place, path, raw, offset=offset)
            length += len(raw) + 1
            if length >= _PART:
                yield frozenset(names), length
                names, length = set(), 0
        yield frozenset(names | _named(place, path, file.read(end, file.size))), length + file.size - end
    finally:
        place.disk.close(fd)


def _named(place: Place, path: str, raw: bytes, *, offset: int | None = None) -> frozenset[str]:
    """Return the digests that stand in a line, whoever wrote it; one that is not finished has no offset."""
    if is_checked(raw):
        try:
            return _said(place, path, load(raw))
        except BadLine as exc:
            if path.endswith(SUFFIX) and offset is not None:
                raise damaged(path, offset, str(exc)) from exc
    names = names_in(raw)
    if _ESCAPE in raw:
        with suppress(ValueError, RecursionError):
            names |= frozenset().union(*(_within(place, path, text) for text in values(codec.decode(raw))))
    return names


def _said(place: Place, path: str, line: Line) -> frozenset[str]:
    """Return the digests that an entry names, in whatever form its line has it. Raises StoreError where that is another codec's."""
    if line.id:
        line = decoded(line, place.codec, path=path)
    return names_in(bytes(line.payload)) | names_in(bytes(line.meta)) | names_in(moved_in(line) or b"")


def _within(place: Place, path: str, text: str) -> frozenset[str]:
    """Return the digests in a text that stood in JSON, such as the lines that a change to several files is about to write."""
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    return frozenset().union(*(_said(place, path, load(line)) if _is_whole(line) else names_in(line) for line in lines))


def _is_whole(raw: bytes) -> bool:
    try:
        load(raw)
    except BadLine:
        return False
    return True
