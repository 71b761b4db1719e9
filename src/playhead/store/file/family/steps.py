"""The steps of a change to several files, each of which may be made again: what was done is left alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from playhead.store.file.disk import Disk, is_same_file, make_directories, write_whole
from playhead.store.file.place import Place

Step = tuple[str | int, ...]
"""What to do with which files, named below the store's directory where they are no stems:

    ("append", STEM, OFFSET, LINES)   write lines behind those that stand in a file, which is made where it is missing
    ("replace", DRAFT, STEM)          make a draft the tape's file
    ("keep", STEM, OTHER)             give the tape's file a second name
    ("rename", PATH, OTHER)           give a file another name in its directory
    ("move", PATH, OTHER)             give a file a name in another directory
    ("remove", PATH)                  remove a file
    ("write", PATH, TEXT)             write a small file as a whole
    ("forget", STEM)                  remove the tape's index
    ("drop", NAME)                    remove the archived chunks of a file that is gone
    ("with", STEM)                    another family takes part in the change
"""

PART = ".part"
"""How the name of an unfinished file ends."""

_BLOCK = 1 << 20


class UnknownStep(Exception):
    """A step that cannot be made, and why."""


def make(place: Place, step: Sequence[Any]) -> None:
    """Make one step of a change, as far as it was not made before. Raises OSError, UnknownStep."""
    match step:
        case "append", str(tape), int(offset), str(lines):
            _append(place, place.path(tape), offset, lines.encode())
        case "replace", str(name), str(tape):
            _move(place, f"{place.hidden}/{name}", place.path(tape))
        case "keep", str(tape), str(other):
            _keep(place, place.path(tape), place.path(other))
        case "rename", str(source), str(target):
            if place.disk.exists(place.below(source)):
                place.disk.rename(place.below(source), place.below(target))
        case "move", str(source), str(target):
            _move(place, place.below(source), place.below(target))
        case "remove", str(path):
            with suppress(FileNotFoundError):
                place.disk.remove(place.below(path))
        case "write", str(path), str(text):
            write_new(place, f"{place.below(path)}{PART}", [text.encode()])
            place.disk.rename(f"{place.below(path)}{PART}", place.below(path))
        case "forget", str(tape):
            forget(place, tape)
        case "drop", str(segments):
            drop(place, segments)
        case "with", str():
            return
        case _:
            raise UnknownStep(f"it names a step, {step!r}, that this version does not know")


def settle(place: Place, steps: Sequence[Sequence[Any]]) -> None:
    """Return when what the steps did survives the loss of power: new names first, then the old ones of what was moved are removed."""
    moved = [source for step in steps if (source := _source(place, step)) is not None]
    for directory in _directories(place, steps):
        place.disk.flush_directory(directory)
    for path in moved:
        with suppress(FileNotFoundError):
            place.disk.remove(path)
    for directory in sorted({os.path.dirname(path) for path in moved} | {place.hidden}):
        if place.disk.exists(directory):
            place.disk.flush_directory(directory)


def forget(place: Place, stem: str) -> None:
    """Remove a tape's index and the volumes of its terms; they are made anew when they are needed."""
    _empty(place.disk, place.index(stem))
    forget_words(place, stem)


def forget_words(place: Place, stem: str) -> None:
    """Remove the volumes of a tape's terms."""
    _empty(place.disk, place.words(stem))


def drop(place: Place, segments: str) -> None:
    """Remove the archived chunks of a file that is gone, as far as that can be done."""
    directory = place.disk.directory(segments)
    discard(place.disk, *(f"{directory}/{name}" for name in place.disk.names(directory)))
    place.disk.remove_directory(directory)


def dropping(place: Place, stem: str) -> list[Step]:
    """Return the step that removes what is archived of a file that goes, none where nothing is."""
    segments = place.disk.segments_at(place.path(stem))
    return [] if segments is None else [("drop", segments)]


def discard(disk: Disk, *paths: str) -> None:
    """Remove files that nobody needs, as far as that can be done."""
    for path in paths:
        with suppress(OSError):
            disk.remove(path)


def _empty(disk: Disk, directory: str) -> None:
    with suppress(OSError):
        discard(disk, *(f"{directory}/{name}" for name in disk.names(directory)))


def write_new(place: Place, path: str, content: Iterable[bytes]) -> None:
    """Write a new file and flush it, whatever the durability: what a redo file names must be there. Leaves nothing where that fails."""
    try:
        fd = place.disk.open_to_write(path)
        try:
            place.disk.cut(fd, 0)
            offset = 0
            for part in content:
                write_whole(place.disk, fd, part, offset)
                offset += len(part)
            place.disk.flush(fd)
        finally:
            place.disk.close(fd)
    except OSError:
        discard(place.disk, path)
        raise


def _source(place: Place, step: Sequence[Any]) -> str | None:
    """Return the old name of a file that a step moves."""
    match step:
        case "replace", str(name), _:
            return f"{place.hidden}/{name}"
        case "move", str(source), _:
            return place.below(source)
    return None


def _directories(place: Place, steps: Sequence[Sequence[Any]]) -> list[str]:
    """Return the directories in which the steps made, renamed or removed files."""
    found: set[str] = set()
    for step in steps:
        match step:
            case ("append", str(tape), _, _) | ("replace" | "keep", _, str(tape)):
                found.add(os.path.dirname(place.path(tape)))
            case ("rename" | "move", _, str(path)) | ("remove", str(path)) | ("write", str(path), _):
                found.add(os.path.dirname(place.below(path)))
    return sorted(directory for directory in found if place.disk.exists(directory))


def _append(place: Place, path: str, offset: int, lines: bytes) -> None:
    disk = place.disk
    make_directories(disk, os.path.dirname(path), flushed=True)
    fd = disk.open_to_write(path)
    try:
        if disk.state_of(fd).st_size < offset:
            raise UnknownStep(f"'{path}' is shorter than where it goes on")
        write_whole(disk, fd, lines, offset)
        disk.flush(fd)
    finally:
        disk.close(fd)


def _keep(place: Place, path: str, other: str) -> None:
    """Give a file a second name, safely before its first is given to another file; where that name is there already, it is left."""
    if not place.disk.exists(other) and place.disk.exists(path):
        _double(place, path, other)
    place.disk.flush_directory(os.path.dirname(other))


def _move(place: Place, source: str, target: str) -> None:
    """Give a file a name in another directory. The old one is left until the new one is safe, as each directory reaches the disk by itself."""
    disk = place.disk
    state = disk.state(source)
    if state is not None and not is_same_file(state, disk.state(target)):
        _double(place, source, target)


def _double(place: Place, source: str, target: str) -> None:
    """Give a file a second name in place of what has it, by way of a name beside that; on a file system where none has two names, a copy."""
    disk, (directory, name) = place.disk, os.path.split(target)
    part = f"{directory}/.{name}{PART}"
    make_directories(disk, directory, flushed=True)
    discard(disk, part)
    try:
        disk.link(source, part)
    except OSError:
        part = f"{directory}/.{name}.copy{PART}"  # the first name may stand for the very file that is to be copied
        _copy(place, source, part)
    disk.rename(part, target)


def _copy(place: Place, source: str, target: str) -> None:
    fd = place.disk.open_to_read(source)
    try:
        size = place.disk.state_of(fd).st_size
        write_new(place, target, (place.disk.read(fd, min(_BLOCK, size - start), start) for start in range(0, size, _BLOCK)))
    finally:
        place.disk.close(fd)
