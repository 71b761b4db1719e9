"""The sieves of an index, held in memory: what they let fall through is not looked for in its pages."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.store.file.index.segment import Segment, falls_through, fingerprint
from playhead.store.file.record.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve:
    """The bits that the hashes of a segment have left."""

    segment: Segment
    bits: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieves:
    """The sieves for the part of a tape's file before `stop`, the end of which has a fingerprint."""

    parts: tuple[Sieve, ...] = ()
    stop: int = 0
    mark: bytes = b""

    def fit(self, recording: Recording) -> bool:
        """Return whether they are of this file."""
        return not self.stop or (self.stop <= recording.tail.end and fingerprint(recording.file, self.stop) == self.mark)

    def places(self, hash: int, *, before: int) -> list[int]:
        """Return where entries with a hash stand before a place, in order. Raises SpoiltSegment, OSError."""
        found: list[int] = []
        for part in self.parts:
            if part.segment.start < before and not falls_through(part.bits, hash):
                found += [place for place in part.segment.places(hash) if place < before]
        return found
