"""Changes to several files at once: written down first, then made, and finished by whoever finds them half made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from playhead import clock
from playhead.entry import codec
from playhead.errors import StoreDamaged
from playhead.store.file.family.steps import PART, Step, UnknownStep, discard, make, settle, write_new
from playhead.store.file.place import Place

_DRAFT = ".draft"
_FINAL = ("remove", "move")
"""Steps that must not be made again once others have gone on: their redo file may not come back with the power."""


def discard_drafts(place: Place, stem: str) -> None:
    """Remove the drafts of a family that somebody left who died before the change was begun; runs under the lock of the family."""
    discard(place.disk, *(f"{place.hidden}/{name}" for name in place.disk.names(place.hidden) if _is_draft(name, stem)))


def write_draft(place: Place, stem: str, content: Iterable[bytes]) -> str:
    """Write what a file will hold to a new file in the hidden directory, flush it, and return its name; runs under the lock of the family, which `stem` names."""
    name = f"{stem}.{clock.new_uid()}{_DRAFT}"
    write_new(place, f"{place.hidden}/{name}", content)
    return name


def change(place: Place, stem: str, steps: Sequence[Step], *, together_with: str | None = None) -> None:
    """Make a change of several steps: all of it, or none where this fails before `stem`'s redo file has its name.

    Runs under the lock of the tape's family, and that of `together_with`, where the change is to two. Where a later call fails nobody
    can say when the change will be made: the store's health is in doubt. Raises OSError.
    """
    families = [stem] if together_with is None else [together_with, stem]
    try:
        if together_with is not None:
            steps = [*steps, ("with", together_with)]
            _prepare(place, together_with, [("with", stem)])
        _prepare(place, stem, steps)
    except OSError:
        discard(place.disk, *(f"{place.hidden}/{step[1]}" for step in steps if step[0] == "replace"))
        raise
    try:
        for family in families:
            place.disk.rename(f"{place.redo(family)}{PART}", place.redo(family))
        place.disk.flush_directory(place.hidden)
        for step in steps:
            make(place, step)
        _close(place, stem, steps)
    except OSError as exc:
        place.health.doubt = f"A change to '{place.path(stem)}' was begun and could not be finished ({exc})"
        raise


def finish(place: Place, stem: str) -> None:
    """Make what is left of a change that somebody began; runs under the lock of the tape's family. Raises OSError, StoreDamaged."""
    steps = _steps(place, stem)
    try:
        for step in steps:
            make(place, step)
    except UnknownStep as unknown:
        raise _unreadable(place, stem, str(unknown)) from unknown
    _close(place, stem, steps)


def partner(place: Place, stem: str) -> str | None:
    """Return the family whose change a redo file says to finish, None where it is the family's own."""
    match _steps(place, stem):
        case [["with", str(other)]]:
            return other
    return None


def _prepare(place: Place, stem: str, steps: Sequence[Step]) -> None:
    """Write a redo file, which says nothing before it has its name."""
    said = codec.encode({"steps": steps})[:-1]
    write_new(place, f"{place.redo(stem)}{PART}", [b'%b,"~c":"%08x"}\n' % (said, crc32(said))])


def _close(place: Place, stem: str, steps: Sequence[Sequence[Any]]) -> None:
    """Remove the redo file of a change once every step of it is safe, that of another family which takes part first."""
    settle(place, steps)
    discard(place.disk, *(place.redo(step[1]) for step in steps if step[0] == "with"))
    place.disk.remove(place.redo(stem))
    if any(step[0] in _FINAL for step in steps):
        place.disk.flush_directory(place.hidden)


def _is_draft(name: str, stem: str) -> bool:
    """Return whether a file is a draft of that very stem, left by a process that died; other stems may begin like it."""
    return name.startswith(f"{stem}.") and name.endswith(_DRAFT) and "." not in name[len(stem) + 1 : -len(_DRAFT)]


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
