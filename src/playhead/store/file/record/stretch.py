"""One file of those that a tape is shown from: opened for as long as it is read, up to the entry that is shown of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from playhead.store.file.family.shelf import State, state_of
from playhead.store.file.members import is_member
from playhead.store.file.place import Place, damaged
from playhead.store.file.record.header import Header, Origin, header_in
from playhead.store.file.record.lines import BadLine, load
from playhead.store.file.record.recording import Recording
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import Tail, read_tail, tail_behind


class Stretch:
    """The entries of a file that a tape shows, behind those of another file where it goes on from one.

    `recording` ends with the last of them. `header` is the first line of the file, where one stands there.
    """

    def __init__(self, place: Place, stem: str, recording: Recording, header: Header | None, *, is_cut: bool = False) -> None:
        self.stem = stem
        self.recording = recording
        self.header = header
        self._place = place
        self._is_cut = is_cut

    @property
    def origin(self) -> Origin | None:
        """What is shown before these entries, None where nothing is."""
        return self.header.origin if self.header is not None and self.header.shared else None

    @property
    def is_short(self) -> bool:
        """Whether the file was read at once, and another program wrote none of it."""
        return self.recording.file.content is not None and not self.recording.tail.older

    def whole(self) -> Recording:
        """Return the file up to its end where it is long, so that its index is of use: what is shown of a short one is looked through."""
        if not self._is_cut or self.is_short:
            return self.recording
        file = self.recording.file
        file = Snapshot(disk=file.disk, fd=file.fd, path=file.path, size=file.disk.state_of(file.fd).st_size)
        return Recording(file, read_tail(file), place=self._place, shared=self.recording.shared)


@contextmanager
def opened(place: Place, stem: str) -> Iterator[Stretch | None]:
    """Open a file inside the block, None where there is none."""
    path, disk = place.path(stem), place.disk
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        yield None
        return
    try:
        file = Snapshot.short(disk, fd, path) if is_member(stem) else Snapshot(disk=disk, fd=fd, path=path, size=disk.state_of(fd).st_size)
        tail = read_tail(file)
        for finding in tail.part.findings if tail.part else ():
            place.findings.report(finding)
        yield _stretch(place, stem, file, tail)
    finally:
        disk.close(fd)


@contextmanager
def opened_up_to(place: Place, stems: Iterable[str], origin: Origin) -> Iterator[Stretch]:
    """Open the file that an origin is in, which has one of several stems, up to that entry. Raises StoreDamaged where none has it.

    What was shown of a short file is kept, so that a branch is read over many others without opening each of them again.
    """
    path = ""
    for stem in stems:
        path = place.path(stem)
        key = path, origin.base
        kept: tuple[State, Shown] | None = place.shelf.get(key)
        if kept is not None and (state := place.disk.state(path)) is not None and state_of(state) == kept[0]:
            yield kept[1].stretch(place, stem)
            return
        try:
            fd = place.disk.open_to_read(path)
        except FileNotFoundError:
            continue
        try:
            state = place.disk.state_of(fd)
            found = _up_to(place, stem, Snapshot.short(place.disk, fd, path), origin)
            if found is not None:
                if found.is_short:
                    place.shelf.put(key, state, Shown.of(found))
                yield found
                return
        finally:
            place.disk.close(fd)
    raise damaged(path, origin.place, f"entry {origin.base.id} of generation {origin.base.generation}, which a branch was forked behind, does not stand there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown of a file that was read at once; it is not open any more."""

    file: Snapshot
    tail: Tail
    header: Header | None

    @classmethod
    def of(cls, stretch: Stretch) -> Shown:
        """Return what a stretch shows of its file."""
        return cls(file=replace(stretch.recording.file, fd=-1), tail=stretch.recording.tail, header=stretch.header)

    def stretch(self, place: Place, stem: str) -> Stretch:
        """Return it to be read."""
        shared = self.header.shared if self.header is not None else 0
        return Stretch(place, stem, Recording(self.file, self.tail, place=place, shared=shared), self.header)


def empty(place: Place, stem: str, header: Header | None = None) -> Stretch:
    """Return what there is of a file that is not begun."""
    tail = Tail() if header is None else Tail(id=header.shared, generation=header.generation)
    return Stretch(place, stem, Recording(Snapshot(disk=place.disk, fd=-1, path=place.path(stem), size=0), tail, place=place, shared=tail.id), header)


def header_at(place: Place, stem: str) -> Header | None:
    """Return the first line of a file where it is a header, None where it is none, or there is no such file."""
    path = place.path(stem)
    try:
        fd = place.disk.open_to_read(path)
    except FileNotFoundError:
        return None
    try:
        return header_of(Snapshot.short(place.disk, fd, path))
    finally:
        place.disk.close(fd)


def header_of(file: Snapshot) -> Header | None:
    """Return the first line of a file where it is a header."""
    for _, raw in file.forwards(0, file.size):
        try:
            return header_in(load(raw))
        except BadLine:
            return None
    return None


def _stretch(place: Place, stem: str, file: Snapshot, tail: Tail, *, is_cut: bool = False) -> Stretch:
    header = header_of(file) if is_member(stem) and not tail.older else None
    shared = header.shared if header is not None else 0
    return Stretch(place, stem, Recording(file, tail, place=place, shared=shared), header, is_cut=is_cut)


def _up_to(place: Place, stem: str, file: Snapshot, origin: Origin) -> Stretch | None:
    """Return a file up to the entry that an origin names, None where that does not stand in it."""
    tail = _tail_there(file, origin)
    if tail is not None:
        return _stretch(place, stem, file, tail, is_cut=True)
    tail = read_tail(file)
    if tail.generation != origin.base.generation or tail.id < origin.base.id:
        return None
    whole = _stretch(place, stem, file, tail, is_cut=True)
    whole.recording = whole.recording.up_to(origin.base.id)
    return whole


def _tail_there(file: Snapshot, origin: Origin) -> Tail | None:
    """Return the tail of what ends where an origin says, None where its entry does not end there any more, or was written by another program."""
    if not 0 < origin.place <= file.size:
        return None
    for offset, raw in file.backwards(origin.place):
        try:
            line = load(raw)
        except BadLine:
            return None
        fits = (line.generation, line.id) == origin.base
        return tail_behind(line, offset, end=origin.place)._replace(size=origin.place) if fits else None
    return None
