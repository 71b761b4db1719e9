"""A strip: the entries that one tape keeps itself in one generation, and where to find them without going through all."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import MAXYEAR, UTC, datetime
from heapq import merge
from itertools import chain

from playhead.entry.entry import ANCHOR, TapeEntry, event_name, parse_date
from playhead.store.archiving.retention import Moved
from playhead.store.memory.archive import Archive
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.words import Words
from playhead.store.rows.row import microseconds
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.replay import key_of

_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime(MAXYEAR, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


class Strip:
    """Entries with dense ids from `before` + 1 on; on a sidecar each with a mark, the head that its main tape had then."""

    def __init__(self, *, before: int) -> None:
        self.before = before
        self.keys: dict[str, int] = {}
        self.uids: dict[str, int] = {}
        self.marks: list[Head] = []
        self.words = Words(before=before)
        self._entries: list[TapeEntry] = []
        self._archive = Archive(before=before)
        self._kinds: defaultdict[str, list[int]] = defaultdict(list)
        self._anchors: defaultdict[str | None, list[int]] = defaultdict(list)
        self._horizon = Horizon()
        self._peaks: list[datetime] = []
        self._strays: list[int] = []

    @property
    def end(self) -> int:
        """The id of the last entry, that of the one before the first where there is none."""
        return self._archive.end + len(self._entries)

    def entry(self, id: int) -> TapeEntry:
        """Return an entry."""
        return self._entries[id - self._archive.end - 1] if id > self._archive.end else self._archive.entry(id)

    def run(self, first: int, count: int) -> list[TapeEntry]:
        """Return so many entries from an id on, fewer at the end."""
        return [self.entry(id) for id in range(first, min(first + count, self.end + 1))]

    def mark(self, id: int) -> Head:
        """Return the mark of an entry of a sidecar."""
        return self.marks[id - self.before - 1]

    def add(self, entry: TapeEntry, mark: Head | None) -> TapeEntry:
        """Keep an entry that has the next id, and return it."""
        date = parse_date(entry.date)
        peak = self._peak(date)
        self._entries.append(entry)
        self._peaks.append(peak)
        if mark is not None:
            self.marks.append(mark)
        if date != peak:
            self._strays.append(entry.id)
        self._kinds[entry.kind].append(entry.id)
        self.uids.setdefault(entry.uid, entry.id)
        if (key := key_of(entry)) is not None:
            self.keys[key] = entry.id
        if entry.kind == ANCHOR:
            self._anchors[None].append(entry.id)
            self._anchors[event_name(entry)].append(entry.id)
        return entry

    def cut(self, end: int) -> None:
        """Undo what was added behind the entry `end`."""
        for entry in reversed(self._entries[end - self._archive.end :]):
            ids = [self._kinds[entry.kind], self._strays]
            if entry.kind == ANCHOR:
                ids += [self._anchors[None], self._anchors[event_name(entry)]]
            for places in ids:
                if places and places[-1] == entry.id:
                    places.pop()
            if self.uids.get(entry.uid) == entry.id:
                del self.uids[entry.uid]
            if (key := key_of(entry)) is not None:
                del self.keys[key]
        del self._entries[end - self._archive.end :]
        for column in (self._peaks, self.marks):
            del column[end - self.before :]

    def archive(self, upto: int) -> Moved:
        """Compress the entries up to an id; they are found as before."""
        count = max(0, min(upto, self.end) - self._archive.end)
        moved = self._archive.add(self._entries[:count])
        del self._entries[:count]
        return moved

    def newest_anchor(self, name: str | None, within: range) -> int | None:
        """Return the id of the newest anchor of a name (None: of any) in a range of ids."""
        found = _part(self._anchors.get(name, []), within)
        return found[-1] if found else None

    def first_anchor(self, name: str, within: range) -> int | None:
        """Return the id of the first anchor of a name in a range of ids."""
        found = _part(self._anchors.get(name, []), within)
        return found[0] if found else None

    def take_in(self, stop: int, *, most: int) -> int:
        """Take the words of at most so many entries up to the id `stop` into the index; return how many that were."""
        first = self.words.end + 1
        ids = range(first, min(stop + 1, first + most))
        for id in ids:
            self.words.add(self.entry(id))
        return len(ids)

    def matching(self, query: TapeQuery, within: range) -> Iterator[TapeEntry]:
        """Yield the entries of a range of ids that pass a query's filters, in its order, going only through what kinds and dates leave."""
        return (entry for id in self._ids(query, within) if query.admits(entry := self.entry(id)))

    def _peak(self, date: datetime) -> datetime:
        """Return the newest date so far, with one more entry of this date."""
        peak = self._peaks[-1] if self._peaks else _EARLIEST
        return peak if date <= peak or self._horizon.hides(microseconds(date)) else date

    def _ids(self, query: TapeQuery, within: range) -> Iterator[int]:
        if query.since is None and query.until is None:
            return self._of_kinds(query, within)
        first = self.before + bisect_left(self._peaks, query.since or _EARLIEST) + 1
        behind = self.before + bisect_right(self._peaks, query.until or _LATEST) + 1
        on_time = range(max(within.start, first), min(within.stop, behind))
        early = _part(self._strays, range(within.start, min(within.stop, on_time.start)))
        late = _part(self._strays, range(max(within.start, behind), within.stop))
        if query.descending:
            return chain(reversed(late), self._of_kinds(query, on_time), reversed(early))
        return chain(early, self._of_kinds(query, on_time), late)

    def _of_kinds(self, query: TapeQuery, within: range) -> Iterator[int]:
        if query.only is None:
            return iter(reversed(within) if query.descending else within)
        lists = [_part(self._kinds.get(kind, []), within) for kind in dict.fromkeys(query.only)]
        return merge(*map(reversed, lists), reverse=True) if query.descending else merge(*lists)


def _part(ids: list[int], within: range) -> list[int]:
    return ids[bisect_left(ids, within.start) : bisect_left(ids, within.stop)]
