"""Which blobs the files of a directory name: all of them are looked through, a part at a time, while others may write."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import chain

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
_ESCAPE = b"\\"
_NAMELESS = (".index", ".lock")
"""How directories and files end in which no entry stands."""

_LOOKS = 2
"""How many lists of the directory a file is missing from before it counts as gone: one may be read while it gets another name."""

_Number = tuple[int, int]
"""What a file is known by, whatever its name is: device and number."""


def marked(place: Place) -> Generator[BlobNames, None, None]:
    """Yield, a part at a time, the digests that stand in the files; what is appended to one meanwhile may be left out.

    A file is looked for by its number until it is found or gone, as it may get another name meanwhile. One that is made meanwhile
    holds what is appended to it, or lines whose names were renewed when it was written. Raises StoreDamaged at a line that is not as
    it was written, StoreError where it was written with another codec, OSError.
    """
    waiting = dict(chain(_numbered(place), _numbered(place)))
    done, total, looks = 0, sum(size for _, size in waiting.values()), 0
    while waiting and looks < _LOOKS:
        found = [(number, path) for number, (path, _) in _numbered(place) if number in waiting]
        looks = 0 if found else looks + 1
        for number, path in found:
            with _opened(place, path) as file:
                if file is None or _number(file) != number:
                    continue
                del waiting[number]
                for names, length in _looked_through(place, file):
                    done += length
                    yield BlobNames(digests=names, done=done, total=max(done, total))


def _numbered(place: Place) -> Iterator[tuple[_Number, tuple[str, int]]]:
    """Yield the number of each file in which entries may stand, with its path and how long it is."""
    for path in _paths(place.directory, place):
        state = place.disk.state(path)
        if state is not None:
            yield (state.st_dev, state.st_ino), (path, state.st_size)


@contextmanager
def _opened(place: Place, path: str) -> Iterator[Snapshot | None]:
    """Open a file inside the block, None where it was replaced or given another name."""
    try:
        fd = place.disk.open_to_read(path)
    except FileNotFoundError:
        yield None
        return
    try:
        yield Snapshot(disk=place.disk, fd=fd, path=path, size=place.disk.state_of(fd).st_size)
    finally:
        place.disk.close(fd)


def _number(file: Snapshot) -> _Number:
    state = file.disk.state_of(file.fd)
    return state.st_dev, state.st_ino


def _paths(directory: str, place: Place) -> Iterator[str]:
    for name in sorted(place.disk.names(directory)):
        path = f"{directory}/{name}"
        if name.endswith(_NAMELESS) or path == f"{place.hidden}/{BLOBS}":
            continue
        if os.path.isdir(path):
            yield from _paths(path, place)
        elif os.path.isfile(path):
            yield path


def _looked_through(place: Place, file: Snapshot) -> Iterator[tuple[frozenset[str], int]]:
    """Yield what a file names, and how long each part of it was."""
    names: set[str] = set()
    length = 0
    end = file.behind_last_newline()
    for offset, raw in file.forwards(0, end):
        names |= _named(place, file.path, raw, offset=offset)
        length += len(raw) + 1
        if length >= _PART:
            yield frozenset(names), length
            names, length = set(), 0
    yield frozenset(names | _named(place, file.path, file.read(end, file.size))), length + file.size - end


def _named(place: Place, path: str, raw: bytes, *, offset: int | None = None) -> frozenset[str]:
    """Return the digests that stand in a line, whoever wrote it; one that is not finished has no offset."""
    if is_checked(raw):
        try:
            return names_of(place, path, load(raw))
        except BadLine as exc:
            if path.endswith(SUFFIX) and offset is not None:
                raise damaged(path, offset, str(exc)) from exc
    names = names_in(raw)
    if _ESCAPE in raw:
        with suppress(ValueError, RecursionError):
            names |= frozenset().union(*(_within(place, path, text) for text in values(codec.decode(raw))))
    return names


def names_of(place: Place, path: str, line: Line) -> frozenset[str]:
    """Return the digests that an entry names, in whatever form its line has it. Raises StoreError where that is another codec's."""
    if line.id:
        line = decoded(line, place.codec, path=path)
    return names_in(bytes(line.payload)) | names_in(bytes(line.meta)) | names_in(moved_in(line) or b"")


def _within(place: Place, path: str, text: str) -> frozenset[str]:
    """Return the digests in a text that stood in JSON, such as the lines that a change to several files is about to write."""
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    return frozenset().union(*(names_of(place, path, load(line)) if _is_whole(line) else names_in(line) for line in lines))


def _is_whole(raw: bytes) -> bool:
    try:
        load(raw)
    except BadLine:
        return False
    return True
