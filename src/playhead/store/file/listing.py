"""Which tapes are in a directory."""

from __future__ import annotations

from playhead.entry import codec
from playhead.errors import InvalidInput, StoreDamaged
from playhead.store.file.findings import Finding
from playhead.store.file.lines import HEADER_KIND, BadLine, load
from playhead.store.file.names import SUFFIX, is_cut, stem_of, tape_of
from playhead.store.file.opened import opened
from playhead.store.file.place import Place
from playhead.store.file.recording import Recording
from playhead.store.names import checked_name


def tapes(place: Place) -> list[str]:
    """Return the names of the tapes that hold something, sorted; one that cannot be read holds something."""
    stems = [name.removesuffix(SUFFIX) for name in place.disk.names(place.directory) if name.endswith(SUFFIX) and not name.startswith(".")]
    return sorted({tape for stem in stems if (tape := _tape(place, stem)) is not None})


def _tape(place: Place, stem: str) -> str | None:
    """Return the tape that a file holds, None where it holds none."""
    try:
        with opened(place, stem) as recording:
            if not recording.tail.id:
                return None
            return _name_in(recording, stem, place) if is_cut(stem) else _name(place, stem)
    except IsADirectoryError:
        return None
    except (OSError, StoreDamaged) as exc:
        if not is_cut(stem):
            return _name(place, stem)
        return _nameless(place, stem, str(exc))


def _name(place: Place, stem: str) -> str | None:
    """Return the name that a stem says: by our rules, or word for word where another program gave it."""
    tape = tape_of(stem)
    if tape is not None:
        return tape
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
