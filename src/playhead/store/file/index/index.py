"""A tape's index: where entries stand by idempotency key and by uid. A cache: without it, or with a wrong one, the file itself is read."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import chain

from playhead.store.file.disk import make_directories
from playhead.store.file.family.steps import discard
from playhead.store.file.index import segment as file_segment
from playhead.store.file.index.segment import PART, Pair, Segment, SpoiltSegment, fingerprint, hashed
from playhead.store.file.index.sieve import Sieve, Sieves
from playhead.store.file.place import Place
from playhead.store.file.record.lines import names_of
from playhead.store.file.record.recording import Recording

UNINDEXED = 1 << 18
"""How many bytes at the end of a tape are looked through rather than indexed."""

KEY, UID = "key", "uid"

_MOST_PAIRS = 1 << 15
_RATIO = 8
_MOST_SIEVED = 1 << 22

Piece = tuple[int, int, list[Pair]]


class Index:
    """The segments of one tape, each for a part of its file, without gaps from the front on.

    A segment that is not much larger than the one behind it is merged with that, so there are few. They never change, so that readers
    need no lock; what does not fit the file is left aside.
    """

    def __init__(self, place: Place, stem: str) -> None:
        self._disk = place.disk
        self._directory = place.index(stem)
        self._read_only = place.read_only
        self._spoilt: set[str] = set()
        self._opened: tuple[Recording, list[Segment]] | None = None

    def places(self, recording: Recording, sort: str, name: str) -> tuple[list[int], int]:
        """Return where entries of that name may stand, in order, and from which place on the tape is not indexed."""
        while True:
            before = self._opened
            segments = before[1] if before is not None and before[0] is recording else self._segments(recording)
            self._opened = recording, segments
            try:
                found = [place for segment in segments for place in segment.places(hashed(sort, name))]
            except SpoiltSegment as spoilt:
                self._give_up(str(spoilt))
            except OSError:
                if before is None or before[0] is not recording:
                    return [], 0
            else:
                return found, segments[-1].stop if segments else 0
            self._opened = None

    def reach(self, recording: Recording) -> int:
        """Return from which place on the tape is not indexed."""
        segments = self._segments(recording)
        return segments[-1].stop if segments else 0

    def sieves(self, recording: Recording) -> Sieves:
        """Return what rules out most names without looking into the index; nothing where that would be too large to hold."""
        segments = self._segments(recording)
        if not segments or sum(segment.count for segment in segments) > _MOST_SIEVED:
            return Sieves()
        try:
            parts = tuple(Sieve(segment=segment, bits=segment.sieve()) for segment in segments)
        except SpoiltSegment as spoilt:
            self._give_up(str(spoilt))
            return Sieves()
        except OSError:
            return Sieves()
        return Sieves(parts=parts, stop=segments[-1].stop, mark=fingerprint(recording.file, segments[-1].stop))

    def extend(self, recording: Recording) -> None:
        """Index the tape up to its end. Raises OSError where that cannot be written, StoreDamaged where the tape cannot be read."""
        if self._read_only:
            return
        self._opened = None
        make_directories(self._disk, self._directory, flushed=False)
        segments = self._segments(recording)
        for start, stop, pairs in _pieces(recording, segments[-1].stop if segments else 0):
            segments.append(self._write(recording, sorted(pairs), start=start, stop=stop, count=len(pairs)))
            self._merge(recording, segments)
        self._tidy(recording, segments)

    def _segments(self, recording: Recording) -> list[Segment]:
        by_start: dict[int, list[tuple[int, str]]] = {}
        for name in self._names():
            start, _, stop = name.partition("-")
            if start.isdecimal() and stop.isdecimal() and int(stop) <= recording.tail.end:
                by_start.setdefault(int(start), []).append((int(stop), f"{self._directory}/{name}"))
        segments: list[Segment] = []
        while fitting := self._longest(by_start.get(segments[-1].stop if segments else 0, []), recording):
            segments.append(fitting)
        return segments

    def _names(self) -> list[str]:
        try:
            return self._disk.names(self._directory)
        except OSError:
            return []

    def _longest(self, found: list[tuple[int, str]], recording: Recording) -> Segment | None:
        for _, path in sorted(found, reverse=True):
            segment = None if path in self._spoilt else file_segment.opened(self._disk, path, recording.file)
            if segment is not None:
                return segment
        return None

    def _write(self, recording: Recording, pairs: Iterator[Pair] | list[Pair], *, start: int, stop: int, count: int) -> Segment:
        path = f"{self._directory}/{start}-{stop}"
        self._spoilt.discard(path)
        return file_segment.write(self._disk, path, recording.file, pairs, start=start, stop=stop, count=count)

    def _merge(self, recording: Recording, segments: list[Segment]) -> None:
        """Merge the last segments while one is not much larger than the next."""
        while len(segments) > 1 and segments[-2].count < _RATIO * segments[-1].count:
            one, other = segments[-2:]
            try:
                count = one.count + other.count
                pairs = merge(one.pairs(), other.pairs()) if count > _MOST_PAIRS else sorted(chain(one.pairs(), other.pairs()))
                merged = self._write(recording, pairs, start=one.start, stop=other.stop, count=count)
            except SpoiltSegment as spoilt:
                self._give_up(str(spoilt))
                return
            segments[-2:] = [merged]
            discard(self._disk, one.path, other.path)

    def _tidy(self, recording: Recording, segments: list[Segment]) -> None:
        """Remove what an interrupted process or an earlier file of that name left."""
        kept = {segment.path for segment in segments}
        for name in self._names():
            path, (_, _, stop) = f"{self._directory}/{name}", name.partition("-")
            if name.endswith(PART) or (path not in kept and stop.isdecimal() and int(stop) <= recording.tail.end):
                discard(self._disk, path)

    def _give_up(self, path: str) -> None:
        self._spoilt.add(path)
        if not self._read_only:
            discard(self._disk, path)


def _pieces(recording: Recording, start: int) -> Iterator[Piece]:
    """Yield the names of the entries from a place on, a part of the file at a time: where it begins, where it ends, hashes with places."""
    pairs: list[Pair] = []
    for place, line in recording.lines(start):
        if len(pairs) >= _MOST_PAIRS:
            yield start, place, pairs
            start, pairs = place, []
        uid, key = names_of(line)
        if uid:
            pairs.append((hashed(UID, uid), place))
        if key is not None:
            pairs.append((hashed(KEY, key), place))
    if start < recording.tail.end:
        yield start, recording.tail.end, pairs
