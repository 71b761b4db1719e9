"""The volumes of a tape's terms, a file each: which of them fit the tape's file, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from zlib import crc32

from playhead import clock
from playhead.store.concordance.chain import linked
from playhead.store.concordance.library import Library
from playhead.store.concordance.postings import SpoiltVolume, VolumeGone
from playhead.store.concordance.volume import Volume
from playhead.store.file.disk import Disk, make_directories, write_whole
from playhead.store.file.family.steps import PART, discard
from playhead.store.file.index.segment import fingerprint
from playhead.store.file.place import Place
from playhead.store.file.record.recording import Recording
from playhead.store.ranked.tokens import RULES

_MAGIC = b"phvolume"
_FRONT = Struct("<8sQQQQ16s8sII")
"""A mark; the first and the last id; the size of the volume; where the last entry ends in the tape's file; what tells that from others; the rules; the checksum of the volume; that of all this."""

_SAID = _FRONT.size - 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A volume's file: `stop` is where its last entry ends in the file of the tape, `sum` its checksum, `mark` what tells that file from others."""

    path: str
    first: int
    last: int
    size: int
    stop: int
    sum: int
    mark: bytes


class FileBytes:
    """The bytes of a volume, behind the front of its file."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def read(self, start: int, stop: int) -> bytes:
        """Return a part of them. Raises VolumeGone, SpoiltVolume."""
        try:
            return _read(self._disk, self._path, start=_FRONT.size + start, length=stop - start)
        except FileNotFoundError as exc:
            raise VolumeGone from exc
        except OSError as exc:
            raise SpoiltVolume from exc


def kept(place: Place, stem: str, recording: Recording) -> list[Kept]:
    """Return the volumes that fit a tape's file, from its first entry on, without a gap."""
    return _standing(place, _named(place, stem), recording)


def opened(place: Place, volume: Kept, library: Library) -> Volume:
    """Return a volume to read from. Raises SpoiltVolume."""
    return library.volume((volume.path, volume.mark, volume.sum, volume.size), FileBytes(place.disk, volume.path), size=volume.size)


def write(place: Place, stem: str, recording: Recording, raw: bytes, *, first: int, last: int, stop: int) -> None:
    """Keep a volume of the entries from one id to another, the last of which ends at a place in the tape's file. Raises OSError."""
    make_directories(place.disk, place.words(stem), flushed=False)
    said = _FRONT.pack(_MAGIC, first, last, len(raw), stop, fingerprint(recording.file, stop), _rules(), crc32(raw), 0)[:_SAID]
    path = f"{place.words(stem)}/{first}-{last}"
    part = f"{path}.{clock.new_uid()}{PART}"
    fd = place.disk.open_to_write(part)
    try:
        place.disk.cut(fd, 0)
        write_whole(place.disk, fd, said + crc32(said).to_bytes(4, "little") + raw, 0)
    finally:
        place.disk.close(fd)
    place.disk.rename(part, path)


def tidy(place: Place, stem: str, recording: Recording) -> None:
    """Remove what an interrupted process, an earlier file of that name or other rules left, and volumes that others were made of."""
    named = _named(place, stem)
    standing = {volume.path for volume in _standing(place, named, recording)}
    discard(place.disk, *(path for path, _, last in named if path not in standing and last <= recording.tail.id))
    with suppress(OSError):
        discard(place.disk, *(f"{place.words(stem)}/{name}" for name in place.disk.names(place.words(stem)) if name.endswith(PART)))


def paths(place: Place, stem: str) -> list[str]:
    """Return all that stands where the volumes of a tape do."""
    return sorted(f"{place.words(stem)}/{name}" for name in place.disk.names(place.words(stem)))


def _standing(place: Place, named: Sequence[tuple[str, int, int]], recording: Recording) -> list[Kept]:
    fitting = (_fitting(place.disk, path, recording) for path, first, last in named if first > recording.shared and last <= recording.tail.id)
    return linked((volume for volume in fitting if volume is not None), before=recording.shared)


def _named(place: Place, stem: str) -> list[tuple[str, int, int]]:
    """Return the files that are called as volumes are, with their first and last ids."""
    try:
        names = place.disk.names(place.words(stem))
    except OSError:
        return []
    parts = ((name, *name.split("-")) for name in names if name.count("-") == 1)
    return [(f"{place.words(stem)}/{name}", int(first), int(last)) for name, first, last in parts if first.isdecimal() and last.isdecimal()]


def _fitting(disk: Disk, path: str, recording: Recording) -> Kept | None:
    """Return the volume at a path, None where its front is spoilt, or it is of another file, or of other rules."""
    try:
        raw = _read(disk, path, start=0, length=_FRONT.size)
    except OSError:
        return None
    if len(raw) < _FRONT.size or crc32(raw[:_SAID]) != int.from_bytes(raw[_SAID:], "little"):
        return None
    magic, first, last, size, stop, mark, rules, sum, _ = _FRONT.unpack(raw)
    fits = magic == _MAGIC and rules == _rules() and 0 < stop <= recording.tail.end and mark == fingerprint(recording.file, stop)
    return Kept(path=path, first=first, last=last, size=size, stop=stop, sum=sum, mark=mark) if fits else None


def _read(disk: Disk, path: str, *, start: int, length: int) -> bytes:
    fd = disk.open_to_read(path)
    try:
        return disk.read(fd, length, start)
    finally:
        disk.close(fd)


def _rules() -> bytes:
    """Return eight bytes that stand for the rules by which terms are told."""
    return crc32(RULES.encode()).to_bytes(8, "little")
