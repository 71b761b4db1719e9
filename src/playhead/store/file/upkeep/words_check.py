"""Proving the volumes of a file's terms: each must be what its lines make anew; what is spoilt or left over does no harm."""

from __future__ import annotations

from zlib import crc32

from playhead.errors import StoreError
from playhead.store.concordance.postings import SpoiltVolume
from playhead.store.concordance.proving import agrees
from playhead.store.condition.flaws import Flaws
from playhead.store.file.place import Place
from playhead.store.file.record.recording import Recording
from playhead.store.file.words.volumes import FileBytes, Kept, kept, paths


def check_words(place: Place, stem: str, recording: Recording, *, tape: str, flaws: Flaws) -> None:
    """Compare each volume with the lines; what does not fit the file is left aside by readers, and only noted."""
    standing = {} if recording.tail.older else {volume.path: volume for volume in kept(place, stem, recording)}
    for path in paths(place, stem):
        if path not in standing:
            flaws.add("it does not fit the tape's file, so it is left aside", where=path, severity="remnant", tape=tape)
            continue
        try:
            agreed = _agrees(place, standing[path], recording)
        except SpoiltVolume:
            flaws.add("it is spoilt, so it is left aside and made anew", where=path, severity="remnant", tape=tape)
        else:
            if not agreed:
                flaws.add("the index of words says something else than the lines do; remove it, and it is made anew", where=path, severity="fault", tape=tape)


def _agrees(place: Place, volume: Kept, recording: Recording) -> bool:
    """Return whether a volume says what its lines do; also where these cannot be read. Raises SpoiltVolume."""
    raw = FileBytes(place.disk, volume.path).read(0, volume.size)
    if len(raw) != volume.size or crc32(raw) != volume.sum:
        raise SpoiltVolume
    try:
        return agrees(raw, (line.entry() for _, line in recording.forwards(volume.first, volume.last)), first=volume.first, last=volume.last)
    except (StoreError, AttributeError):  # written with a codec that is not here, so that nobody can tell
        return True
