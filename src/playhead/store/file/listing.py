"""Which tapes are in a directory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress

from playhead.entry import codec
from playhead.errors import InvalidInput, StoreBusy, StoreDamaged
from playhead.store.family import kin_of
from playhead.store.file.family.family import Family
from playhead.store.file.family.guard import Guard
from playhead.store.file.findings import Finding
from playhead.store.file.members import FAMILY
from playhead.store.file.names import SUFFIX, is_cut, stem_of, tape_of
from playhead.store.file.place import REDO, Place
from playhead.store.file.record.lines import HEADER_KIND, BadLine, load
from playhead.store.file.record.recording import Recording
from playhead.store.file.record.stretch import opened
from playhead.store.rules.names import checked_name

_PATIENCE = 1.0


def tapes(place: Place) -> list[str]:
    """Return the names of the tapes that hold something, or have an open branch, sorted; one that cannot be read holds something.

    The directories of families are looked into only for those tapes that hold nothing themselves.
    """
    return _found(place, Family.has_open_branch)


def families(place: Place) -> list[str]:
    """Return the names of the tapes of which anything is there, if only by a closed branch or a sidecar, sorted."""
    return _found(place, lambda family: bool(family.branches() or family.sidecars(None)))


def _found(place: Place, counts: Callable[[Family], bool]) -> list[str]:
    """Return the names of the tapes that hold something, and of those whose branches and sidecars count."""
    if not place.read_only:
        _settle(place)
    names = [name for name in place.disk.names(place.directory) if not name.startswith(".")]
    held = {stem: tape for stem in _stems(names, SUFFIX) if (tape := _tape(place, stem)) is not None}
    beside = (_beside(place, stem) for stem in _stems(names, FAMILY) if stem not in held)
    return sorted({*held.values(), *(tape for tape in beside if tape is not None and counts(Family(place, tape)))})


def _settle(place: Place) -> None:
    """Finish what somebody began and left, as far as that can be done: half a renaming shows two tapes, or none."""
    for stem in _stems(place.disk.names(place.hidden), REDO):
        with suppress(StoreBusy), closing(Guard(place, stem, patience=_PATIENCE)) as guard, guard:
            pass


def _stems(names: list[str], ending: str) -> list[str]:
    return [name.removesuffix(ending) for name in names if name.endswith(ending)]


def _tape(place: Place, stem: str) -> str | None:
    """Return the tape that a file holds, None where it holds none."""
    try:
        with opened(place, stem) as stretch:
            if stretch is None or not stretch.recording.tail.id:
                return None
            return _name_in(stretch.recording, stem, place) if is_cut(stem) else _name(place, stem)
    except IsADirectoryError:
        return None
    except (OSError, StoreDamaged) as exc:
        if not is_cut(stem):
            return _name(place, stem)
        return _nameless(place, stem, str(exc))


def _beside(place: Place, stem: str) -> str | None:
    """Return the tape whose branches and sidecars are in a directory, None where nobody can say."""
    if not is_cut(stem):
        return _name(place, stem)
    with opened(place, stem) as stretch:
        return None if stretch is None else _name_in(stretch.recording, stem, place)


def _name(place: Place, stem: str) -> str | None:
    """Return the name that a stem says: by our rules, or word for word where another program gave it."""
    tape = tape_of(stem)
    if tape is not None:
        return tape if kin_of(tape).is_root else None
    try:
        return stem if place.stem(checked_name(stem)) == stem else None
    except InvalidInput:
        return None


def _name_in(recording: Recording, stem: str, place: Place) -> str | None:
    """Return the name that the first line of a file says."""
    try:
        line = load(recording.file.line(0, recording.tail.end))
        tape = codec.decode(bytes(line.payload))["name"] if line.kind == HEADER_KIND and not line.id else ""
        return str(tape) if stem_of(tape) == stem else _nameless(place, stem, "its first line names another tape")
    except (BadLine, KeyError) as exc:
        return _nameless(place, stem, str(exc))


def _nameless(place: Place, stem: str, why: str) -> str | None:
    """Report a file whose tape nobody can name; return no name."""
    place.findings.report(Finding(path=place.path(stem), what=f"the tape's whole name cannot be read ({why}), so it is not listed", offset=0, size=0))
    return None
