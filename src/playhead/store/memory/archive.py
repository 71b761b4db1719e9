"""The archived entries of a strip: compressed, several together, and read one segment at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.store.archiving.packing import Said, damaged, fitting, packed, unpacked
from playhead.store.archiving.retention import Moved


class Archive:
    """Entries with dense ids from `before` + 1 to `end`."""

    def __init__(self, *, before: int) -> None:
        self.end = before
        self._before = before
        self._firsts: list[int] = []
        self._segments: list[bytes] = []
        self._opened: tuple[int, list[Said]] = (-1, [])

    def add(self, entries: Sequence[TapeEntry]) -> Moved:
        """Compress the next entries."""
        said = [_said(entry) for entry in entries]
        sizes = [len(head) + len(body) for head, body in said]
        segments, firsts, place = list[bytes](), list[int](), 0
        while place < len(said):
            count = fitting(islice(sizes, place, None))
            firsts.append(self.end + 1 + place)
            segments.append(packed(said[place : place + count]))
            if unpacked(segments[-1], what="A segment that was just made") != said[place : place + count]:
                raise damaged("A segment that was just made", "it says something else")
            place += count
        self._segments += segments
        self._firsts += firsts
        self.end += len(entries)
        return Moved(self.end if self._segments else 0, len(entries), sum(sizes), sum(map(len, segments)))

    def entry(self, id: int) -> TapeEntry:
        """Return an entry."""
        number = bisect_right(self._firsts, id) - 1
        if self._opened[0] != number:
            self._opened = number, unpacked(self._segments[number], what=f"The segment of the archived entries from {self._firsts[number]} on")
        head, body = self._opened[1][id - self._firsts[number]]
        kind, date, meta = codec.decode(head)
        return TapeEntry.stored(id=id, kind=kind, payload=body, meta=codec.encode(meta), date=date)


def _said(entry: TapeEntry) -> Said:
    return codec.encode([entry.kind, entry.date, entry.meta]), codec.encode(entry.payload)
