"""Tapes in the memory of this process: for tests, scripts, and a first look."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, UTC, datetime
from heapq import merge
from itertools import chain, islice
from types import TracebackType

from playhead.entry.entry import ANCHOR, TapeEntry, event_name, parse_date, placed
from playhead.errors import AnchorNotFound, Conflict, NoAnchors, StoreUnavailable
from playhead.store.horizon import Horizon
from playhead.store.intake import taken
from playhead.store.names import checked_name
from playhead.store.protocol import Head
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.replay import key_of, replay
from playhead.store.row import microseconds

_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime(MAXYEAR, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


class InMemoryTapeStore:
    """Keeps tapes for as long as it lives; for any number of tasks and threads, under asyncio, trio or neither.

    A query costs what it returns, as in the stores that keep files. Promises D1 at the level `memory`, D2 to D6;
    it has nothing to tear (D7) or to leave open (D8).
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})
    durability = "memory"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tapes: dict[str, _Tape] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"InMemoryTapeStore({len(self._tapes)} tapes)"

    async def __aenter__(self) -> InMemoryTapeStore:
        """Return the store itself."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something, sorted."""
        with self._use():
            return sorted(name for name, tape in self._tapes.items() if tape.entries)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        with self._use():
            return list(self._tape(query.tape).matching(query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        return (await self.append_many(tape, (entry,)))[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, InvalidInput.
        """
        kept = taken(entries)
        with self._use():
            there = self._tape(tape)
            plan = replay(kept, standing=there.keys.get)
            if plan.fresh or not kept:
                there.expect(expected_head)
            if plan.fresh:
                self._tapes[tape] = there
            return plan.results(there.add(kept[i] for i in plan.fresh))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        kept = taken(entries)
        with self._use():
            there = self._tape(tape)
            there.expect(expected_head)
            fresh = _Tape(generation=there.generation + 1)
            plan = replay(kept, standing=fresh.keys.get)
            written = plan.results(fresh.add(kept[i] for i in plan.fresh))
            if tape in self._tapes or written:
                self._tapes[tape] = fresh
            return written

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        with self._use():
            return self._tape(tape).head

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        with self._use():
            there = self._tape(tape)
            by_uid = {uid: there.uids[uid] for uid in uids if uid in there.uids}
            return by_uid | {key: there.keys[key] for key in keys if key in there.keys}

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        with self._use():
            return self._tape(query.tape).number(query)

    async def aclose(self) -> None:
        """Refuse what comes later; closing twice is fine."""
        self._closed = True

    def _use(self) -> threading.RLock:
        if self._closed:
            raise StoreUnavailable("This store in memory is closed; its tapes are gone.")
        return self._lock

    def _tape(self, name: str) -> _Tape:
        """Return a tape, an empty one where there is none of that name."""
        return self._tapes.get(checked_name(name)) or _Tape(generation=0)


class _Tape:
    """The entries of one generation of a tape, and where to find them without going through all."""

    def __init__(self, *, generation: int) -> None:
        self.generation = generation
        self.entries: list[TapeEntry] = []
        self.keys: dict[str, TapeEntry] = {}
        self.uids: dict[str, TapeEntry] = {}
        self._kinds: defaultdict[str, list[int]] = defaultdict(list)
        self._anchors: defaultdict[str | None, list[int]] = defaultdict(list)
        self._horizon = Horizon()
        self._peaks: list[datetime] = []
        self._strays: list[int] = []

    @property
    def head(self) -> Head:
        return Head(self.generation, len(self.entries))

    def expect(self, head: Head | None) -> None:
        if head is not None and head != self.head:
            raise Conflict(expected=head, found=self.head)

    def add(self, entries: Iterable[TapeEntry]) -> list[TapeEntry]:
        return [self._add(entry) for entry in [placed(e, id=len(self.entries) + n) for n, e in enumerate(entries, 1)]]

    def _add(self, entry: TapeEntry) -> TapeEntry:
        date = parse_date(entry.date)
        peak = self._peak(date)
        self.entries.append(entry)
        self._peaks.append(peak)
        if date != peak:
            self._strays.append(entry.id)
        self._kinds[entry.kind].append(entry.id)
        self.uids.setdefault(entry.uid, entry)
        if (key := key_of(entry)) is not None:
            self.keys[key] = entry
        if entry.kind == ANCHOR:
            self._anchors[None].append(entry.id)
            self._anchors[event_name(entry)].append(entry.id)
        return entry

    def _peak(self, date: datetime) -> datetime:
        """Return the newest date so far, with one more entry of this date."""
        peak = self._peaks[-1] if self._peaks else _EARLIEST
        return peak if date <= peak or self._horizon.hides(microseconds(date)) else date

    def matching(self, query: TapeQuery) -> Iterator[TapeEntry]:
        """Yield what a query keeps, going only through what its window, kinds and dates leave."""
        ids = self._ids(query, self._within(query))
        return islice((entry for id in ids if query.admits(entry := self.entries[id - 1])), query.count)

    def number(self, query: TapeQuery) -> int:
        """Return how many entries a query keeps."""
        if query.only is None and query.text is None and query.since is None and query.until is None:
            within = len(self._within(query))
            return within if query.count is None else min(within, query.count)
        return sum(1 for _ in self.matching(query))

    def _within(self, query: TapeQuery) -> range:
        """Return the ids that a query's window, cursor and bounds leave."""
        end = len(self.entries) if query.ceiling is None else min(len(self.entries), max(0, query.ceiling))
        low, high = self._window(query, end)
        return range(max(low, query.cursor + 1, 1), (high if query.stop is None else min(high, query.stop - 1)) + 1)

    def _window(self, query: TapeQuery, end: int) -> tuple[int, int]:
        match query.window:
            case None:
                return 1, end
            case AfterAnchor(name):
                return self._newest_anchor(name, end) + 1, end
            case BetweenAnchors(start, stop):
                low = self._newest_anchor(start, end) + 1
                named = self._anchors.get(stop, [])
                place = bisect_left(named, low)
                if place == len(named) or named[place] > end:
                    raise AnchorNotFound(stop)
                return low, named[place] - 1

    def _newest_anchor(self, name: str | None, end: int) -> int:
        named = self._anchors.get(name, [])
        place = bisect_right(named, end)
        if not place:
            raise NoAnchors if name is None else AnchorNotFound(name)
        return named[place - 1]

    def _ids(self, query: TapeQuery, within: range) -> Iterator[int]:
        """Yield the ids that may match, in the query's order."""
        if query.since is None and query.until is None:
            return self._of_kinds(query, within)
        first = bisect_left(self._peaks, query.since or _EARLIEST) + 1
        behind = bisect_right(self._peaks, query.until or _LATEST) + 1
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
