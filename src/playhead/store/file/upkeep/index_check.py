"""Proving the index of a tape's file: each segment must say exactly what the lines it covers say."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct

from playhead.errors import StoreError
from playhead.store.condition.flaws import Flaws
from playhead.store.file.index import segment as file_segment
from playhead.store.file.index.index import KEY, UID
from playhead.store.file.index.segment import Pair, Segment, SpoiltSegment, falls_through, hashed
from playhead.store.file.place import Place
from playhead.store.file.record.lines import names_of
from playhead.store.file.record.recording import Recording

_MASK = (1 << 64) - 1
_PAIR = Struct("<QQ")


def check_index(place: Place, stem: str, recording: Recording, *, tape: str, flaws: Flaws) -> None:
    """Compare each segment of an index with the lines; what does not fit the file is left aside by readers, and only noted."""
    segments = []
    for name in sorted(place.disk.names(place.index(stem))):
        path = f"{place.index(stem)}/{name}"
        found = file_segment.opened(place.disk, path, recording.file)
        if found is None or found.stop > recording.tail.end:
            flaws.add("it does not fit the tape's file, so it is left aside", where=path, severity="remnant", tape=tape)
        else:
            segments.append(found)
    if not segments:
        return
    try:
        said = _said_by_lines(recording, segments)
    except (StoreError, AttributeError):  # written with a codec that is not here, so that nobody can tell
        return
    for segment, sum_of_lines in zip(segments, said, strict=True):
        _compare(segment, sum_of_lines, tape=tape, flaws=flaws)


def _compare(segment: Segment, said: tuple[int, int], *, tape: str, flaws: Flaws) -> None:
    try:
        pairs, sieve = list(segment.pairs()), segment.sieve()
    except (SpoiltSegment, OSError):
        flaws.add("it is spoilt, so it is left aside and made anew", where=segment.path, severity="remnant", tape=tape)
        return
    if pairs != sorted(pairs) or _summed(pairs) != said or any(falls_through(sieve, hash) for hash, _ in pairs):
        flaws.add("the index says something else than the lines do; remove it, and it is made anew", where=segment.path, severity="fault", tape=tape)


def _said_by_lines(recording: Recording, segments: list[Segment]) -> list[tuple[int, int]]:
    """Return for each segment how many names the lines it covers have, and a sum over them that is the same in any order."""
    counts, sums = [0] * len(segments), [0] * len(segments)
    for place, line in recording.lines(0):
        uid, key = names_of(line)
        pairs = [(hashed(sort, name), place) for sort, name in ((UID, uid), (KEY, key)) if name]
        for number, segment in enumerate(segments):
            if segment.start <= place < segment.stop:
                counts[number] += len(pairs)
                sums[number] = sums[number] + sum(map(_mixed, pairs)) & _MASK
    return list(zip(counts, sums, strict=True))


def _summed(pairs: Iterable[Pair]) -> tuple[int, int]:
    numbers = list(map(_mixed, pairs))
    return len(numbers), sum(numbers) & _MASK


def _mixed(pair: Pair) -> int:
    """Return a number for a pair that hangs on every bit of it, so that the sums of other pairs are others."""
    return int.from_bytes(blake2b(_PAIR.pack(*pair), digest_size=8).digest())
