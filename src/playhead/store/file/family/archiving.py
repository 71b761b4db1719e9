"""Archiving the front of a tape's file: compressed and read back while others go on, then taken out of the file by way of a redo file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, count
from typing import NamedTuple

from playhead import clock
from playhead.errors import BranchClosed, StoreUnavailable
from playhead.store.family import Kin
from playhead.store.file.archive import CHUNK, SEGMENTS, ArchivedDisk, Cut, chunk_name, compressed, decompressed
from playhead.store.file.disk import make_directories
from playhead.store.file.family.household import Household
from playhead.store.file.family.redo import change, discard_drafts, write_draft
from playhead.store.file.family.steps import PART, discard, drop, write_new
from playhead.store.file.place import Place
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.recording import Recording
from playhead.store.protocol import Head

_BLOCK = 1 << 20


class Packed(NamedTuple):
    """What was compressed of a file: which file it is, how it is archived then, up to which id, how many entries, and the bytes before and after.

    `cut` is None where there is nothing to compress.
    """

    file: tuple[int, int]
    head: Head
    cut: Cut | None
    upto: int
    entries: int = 0
    before: int = 0
    after: int = 0


def pack(place: Place, lineage: Lineage, upto: int) -> Packed:
    """Compress what a file holds of its own up to an id, but for its last line, and read it back. Raises StoreDamaged, OSError."""
    recording = lineage.newest
    disk, fd = place.disk, recording.file.fd
    old = None if fd < 0 else disk.cut_of(fd)
    begun = 0 if old is None else old.stop
    last = min(upto, recording.tail.id - 1)
    if fd < 0 or last <= recording.shared:
        return Packed(file=(0, 0), head=recording.tail.head, cut=None, upto=0)
    state = disk.state_of(fd)
    stop = recording.up_to(last).tail.end
    found = Packed(file=(state.st_dev, state.st_ino), head=recording.tail.head, cut=None, upto=_reached(recording, begun))
    if stop <= begun:
        return found
    entries = sum(1 for _ in recording.forwards(max(found.upto, recording.shared) + 1, last))
    cut = Cut(segments=clock.new_uid() if old is None else old.segments, stop=stop)
    sizes = [_packed(place, recording, cut, number) for number in range(begun // CHUNK, (stop - 1) // CHUNK + 1)]
    disk.flush_directory(disk.directory(cut.segments))
    return found._replace(cut=cut, upto=last, entries=entries, before=stop - begun, after=sum(after - before for before, after in sizes))


def settle(household: Household, kin: Kin, packed: Packed) -> bool:
    """Take what was compressed out of the file; False where the file is another one by now, or was archived further, and nothing was done."""
    place, family = household.place, household.family
    with suppress(BranchClosed):  # nobody writes to it any more, so its end needs no mending
        household.look(kin)
    if packed.cut is None:
        return False
    with family.newest(kin) as stretch:
        recording = stretch.recording
        if recording.file.fd < 0 or not _is_still(place, recording, packed, packed.cut):
            return False
        discard_drafts(place, family.stem)
        draft = write_draft(place, family.stem, _rest(recording, packed.cut))
    household.let_go()
    change(place, family.stem, [("replace", draft, stretch.stem)])
    return True


def _is_still(place: Place, recording: Recording, packed: Packed, cut: Cut) -> bool:
    """Return whether a file is the one that was compressed, and no further archived."""
    state, old = place.disk.state_of(recording.file.fd), place.disk.cut_of(recording.file.fd)
    if (state.st_dev, state.st_ino) != packed.file or recording.tail.generation != packed.head.generation:
        return False
    return old is None or (old.segments == cut.segments and old.stop < cut.stop)


def mend_front(place: Place, root: str, stem: str) -> None:
    """Write the first two lines of an archived file anew where only one of them says what both should; runs under the guard of the family."""
    path = place.path(stem)
    if not place.disk.is_spoilt(path):
        return
    fd = place.disk.open_to_read(path)
    try:
        cut, size = place.disk.cut_of(fd), place.disk.state_of(fd).st_size
        if cut is None:
            return
        rest = (place.disk.read(fd, min(_BLOCK, size - start), start) for start in range(cut.stop, size, _BLOCK))
        draft = write_draft(place, root, chain([cut.dump()], rest))
    finally:
        place.disk.close(fd)
    change(place, root, [("replace", draft, stem)])


def unwanted(place: Place, *, before: int) -> Iterator[str]:
    """Yield the directories of chunks that no file names, and that were made before an instant, in nanoseconds since 1970."""
    above = f"{place.hidden}/{SEGMENTS}"
    there = place.disk.names(above)
    named = set(_named(place)) if there else set[str]()
    for name in there:
        state = place.disk.state(f"{above}/{name}")
        if name not in named and state is not None and state.st_mtime_ns < before:
            yield name


def sweep(place: Place, *, before: int) -> None:
    """Remove the chunks that no file names."""
    for segments in list(unwanted(place, before=before)):
        drop(place, segments)


def _named(place: Place) -> Iterator[str]:
    """Yield the directories of chunks that files name: those of tapes, and the damaged ones that salvage has set aside."""
    for directory, _, names in os.walk(place.directory):
        for name in names:
            if ".jsonl" in name and (found := place.disk.named_in(f"{directory}/{name}")) is not None:
                yield found


def _reached(recording: Recording, begun: int) -> int:
    """Return the id of the last entry that is archived already."""
    if not begun:
        return 0
    _, line = next(recording.lines(begun))
    return line.id - 1


def _packed(place: Place, recording: Recording, cut: Cut, number: int) -> tuple[int, int]:
    """Write a chunk, read it back, and return how many bytes it had before, where it was there, and has now."""
    disk, start = place.disk, number * CHUNK
    path = f"{disk.directory(cut.segments)}/{chunk_name(number)}"
    content = recording.file.read(start, min(start + CHUNK, cut.stop))
    state = disk.state(path)
    make_directories(disk, disk.directory(cut.segments), flushed=True)
    write_new(place, f"{path}{PART}", [raw := compressed(content)])
    if _read_back(disk, f"{path}{PART}") != content:
        discard(disk, f"{path}{PART}")
        raise StoreUnavailable(f"What was archived to '{path}' is not read back as it was written; nothing was removed; check the disk.", path=path)
    disk.rename(f"{path}{PART}", path)
    return 0 if state is None else state.st_size, len(raw)


def _read_back(disk: ArchivedDisk, path: str) -> bytes | None:
    try:
        return decompressed(disk.whole(path))
    except zlib.error:
        return None


def _rest(recording: Recording, cut: Cut) -> Iterator[bytes]:
    """Yield what the file holds once its front is archived."""
    yield cut.dump()
    for start in count(cut.stop, _BLOCK):
        if start >= recording.file.size:
            return
        yield recording.file.read(start, min(start + _BLOCK, recording.file.size))
