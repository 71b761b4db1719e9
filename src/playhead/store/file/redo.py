"""Changes to several files at once: written down first, then made, and finished by whoever finds them half made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

from playhead import clock
from playhead.entry import codec
from playhead.errors import StoreDamaged
from playhead.store.file.disk import Disk, write_whole
from playhead.store.file.place import Place

Step = tuple[str, ...]
"""What to do with which files: ("replace", DRAFT, STEM) makes a draft the tape's file, ("forget", STEM) removes the tape's index."""

_DRAFT = ".draft"


def write_draft(place: Place, stem: str, content: Iterable[bytes]) -> str:
    """Write what a file will hold to a new file in the hidden directory, flush it, and return its name; runs under the lock of the tape's family."""
    discard(place.disk, *(f"{place.hidden}/{name}" for name in place.disk.names(place.hidden) if _is_draft(name, stem)))
    name = f"{stem}.{clock.new_uid()}{_DRAFT}"
    _write(place, f"{place.hidden}/{name}", content)
    return name


def change(place: Place, stem: str, steps: Sequence[Step]) -> None:
    """Make a change of several steps: all of it, or none where this fails before `stem`'s redo file has its name.

    Runs under the lock of the tape's family. Where a later call fails nobody can say when the change will be made: the store's
    health is in doubt. Raises OSError.
    """
    said = codec.encode({"steps": steps})
    unnamed = f"{place.redo(stem)}.part"
    try:
        _write(place, unnamed, [b'%b,"~c":"%08x"}\n' % (said[:-1], crc32(said[:-1]))])
    except OSError:
        discard(place.disk, unnamed, *(f"{place.hidden}/{step[1]}" for step in steps if step[0] == "replace"))
        raise
    try:
        place.disk.rename(unnamed, place.redo(stem))
        place.disk.flush_directory(place.hidden)
        for step in steps:
            _make(place, stem, step)
        _close(place, stem)
    except OSError as exc:
        place.health.doubt = f"A change to '{place.path(stem)}' was begun and could not be finished ({exc})"
        raise


def finish(place: Place, stem: str) -> None:
    """Make what is left of a change that somebody began; runs under the lock of the tape's family. Raises OSError, StoreDamaged."""
    for step in _steps(place, stem):
        with suppress(FileNotFoundError):
            _make(place, stem, step)
    _close(place, stem)


def _make(place: Place, stem: str, step: Sequence[str]) -> None:
    """Make one step of a change; a draft that is not there was renamed by an earlier try."""
    match step:
        case "replace", name, tape:
            place.disk.rename(f"{place.hidden}/{name}", place.path(tape))
        case "forget", tape:
            forget(place, tape)
        case _:
            raise _unreadable(place, stem, f"it names a step, {step!r}, that this version does not know")


def _close(place: Place, stem: str) -> None:
    """Remove the redo file of a change once every step of it is safe."""
    place.disk.flush_directory(place.directory)
    place.disk.flush_directory(place.hidden)
    place.disk.remove(place.redo(stem))


def _is_draft(name: str, stem: str) -> bool:
    """Return whether a file is a draft of that very stem, left by a process that died; other stems may begin like it."""
    return name.startswith(f"{stem}.") and name.endswith(_DRAFT) and "." not in name[len(stem) + 1 : -len(_DRAFT)]


def forget(place: Place, stem: str) -> None:
    """Remove a tape's index; it is made anew when it is needed."""
    index = place.index(stem)
    with suppress(OSError):
        discard(place.disk, *(f"{index}/{name}" for name in place.disk.names(index)))


def discard(disk: Disk, *paths: str) -> None:
    """Remove files that nobody needs, as far as that can be done."""
    for path in paths:
        with suppress(OSError):
            disk.remove(path)


def _steps(place: Place, stem: str) -> list[Any]:
    path = place.redo(stem)
    fd = place.disk.open_to_read(path)
    try:
        raw = place.disk.read(fd, place.disk.state_of(fd).st_size, 0)
    finally:
        place.disk.close(fd)
    said = raw[:-18]
    if raw[-18:] != b',"~c":"%08x"}\n' % crc32(said):
        raise _unreadable(place, stem, "the checksum does not match")
    steps: list[Any] = codec.decode(said + b"}")["steps"]
    return steps


def _unreadable(place: Place, stem: str, why: str) -> StoreDamaged:
    redo, path = place.redo(stem), place.path(stem)
    return StoreDamaged(f"'{redo}' says how to finish a change to '{path}' but cannot be followed ({why}); remove it to go on with '{path}' as it is.", path=redo, offset=0)


def _write(place: Place, path: str, content: Iterable[bytes]) -> None:
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
