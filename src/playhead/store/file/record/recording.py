"""A tape as its file holds it: entries in either direction from any id, and the anchors."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property, partial

from playhead.errors import StoreDamaged
from playhead.store.file.archive import CHUNK
from playhead.store.file.blobs import get
from playhead.store.file.place import Place, damaged
from playhead.store.file.record.codec import decoded
from playhead.store.file.record.lines import Line, is_anchor, put_together
from playhead.store.file.record.older import OlderPart, read_older
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import Tail, loaded, tail_behind, tail_of_older

Found = tuple[int, Line]
"""A line, behind its place in the file."""

_ID = re.compile(rb'\{"id":(\d+),')
_LONGEST_ID = 32
_NEAR = 1 << 15


class Recording:
    """Reads a snapshot up to its tail. Every line is compared with its checksum, and ids that follow each other must be neighbours.

    `shared` is how many entries come before those of the file. Raises StoreDamaged, with the place, at what is not as it was written.
    """

    def __init__(self, file: Snapshot, tail: Tail, *, place: Place, shared: int = 0) -> None:
        self.file = file
        self.tail = tail
        self.shared = shared
        self._place = place
        self._last_anchor: Found | None = None

    @cached_property
    def older(self) -> OlderPart:
        """The front of the file that another program wrote."""
        return self.tail.part or read_older(Snapshot(disk=self.file.disk, fd=self.file.fd, path=self.file.path, size=self.tail.older), self.tail.older)

    def forwards(self, first: int, last: int) -> Iterator[Found]:
        """Yield the entries with these ids and those between them."""
        offset = self.tail.older
        if self.tail.older and first < self._first_checked:
            yield from self._older_between(first, last)
        elif first > self.shared + 1:
            offset = self._place_of(first)
        for place, line in self.lines(offset) if last >= self._first_checked else ():
            if line.id > last:
                return
            if line.id >= first:
                yield place, line
            if line.id == last and place < self.file.archived:  # the next chunk may be damaged
                return

    def backwards(self, first: int, last: int) -> Iterator[Found]:
        """Yield the entries with these ids and those between them, the last one first."""
        stop = self.tail.end if last >= self.tail.id else self._place_of(last + 1)
        expected = last if last < self.tail.id else None
        for offset, raw in self.file.backwards(stop) if stop > self.tail.older else ():
            if offset < self.tail.older:
                break
            line = self._read(offset, raw, expected)
            if line.id < max(first, 1):
                return
            yield offset, line
            if line.id == first:
                return
            expected = line.id - 1
        if self.tail.older:
            yield from reversed(self._older_between(first, last))

    def lines(self, offset: int) -> Iterator[Found]:
        """Yield the entries from a place on at which a line begins."""
        if offset < self.tail.older:
            places = range(bisect_left(self.older.offsets, offset), len(self.older.offsets))
            yield from map(self.older.at, places)
            offset = self.tail.older
        expected = None if offset else self.shared + 1
        for place, raw in self.file.forwards(offset, self.tail.end) if offset < self.tail.end else ():
            line = self._read(place, raw, expected)
            if line.id:
                yield place, line
            expected = line.reach + 1

    def anchors(self, last: int) -> Iterator[Found]:
        """Yield the anchors up to an id, the newest first: each line says where the newest anchor before it stands."""
        offset = self.tail.anchor if last >= self.tail.id else None
        for place, line in self.backwards(1, last) if last < self.tail.id else ():
            offset = place if is_anchor(line.kind) else line.anchor if place >= self.tail.older else self._older_anchor(place)
            break
        while offset is not None and offset >= self.tail.older:
            line = self.at(offset)
            if not is_anchor(line.kind):
                raise damaged(self.file.path, offset, "the line that stands there is no anchor, although another one says so")
            self._last_anchor = offset, line
            yield offset, line
            offset = line.anchor
        if offset is not None:
            yield from (self.older.at(i) for i in reversed(self.older.anchors) if self.older.offsets[i] <= offset)

    def at(self, offset: int) -> Line:
        """Return the entry at a place."""
        if offset < self.tail.older:
            place = bisect_left(self.older.offsets, offset)
            if place < len(self.older.offsets) and self.older.offsets[place] == offset:
                return self.older.at(place)[1]
            raise damaged(self.file.path, offset, "no entry stands there")
        return self._read(offset, self.file.line(offset, self.tail.end), None)

    def up_to(self, id: int) -> Recording:
        """Return what stands up to an entry."""
        if id >= self.tail.id:
            return self
        if id < self._first_checked:
            part = self.older.up_to(id) if self.tail.older else None
            tail = Tail(id=id, generation=self.tail.generation) if part is None else tail_of_older(part)._replace(id=id)
        else:
            offset = self._place_of(id + 1)
            place, raw = next(self.file.backwards(offset))
            tail = tail_behind(self._read(place, raw, None), place, end=offset)._replace(size=offset)
        return Recording(self.file, tail, place=self._place, shared=self.shared)

    @cached_property
    def _first_checked(self) -> int:
        """The lowest id that stands behind the older part, the next one to come where none does."""
        if not self.tail.older:
            return self.shared + 1
        return self.tail.id + 1 if self.tail.older == self.tail.end else self.at(self.tail.older).id

    def _read(self, offset: int, raw: bytes, expected: int | None) -> Line:
        line = loaded(self.file, offset, raw)
        if expected is not None and line.id != expected and (line.id or offset):
            raise damaged(self.file.path, offset, f"entry {expected} should stand there, not {line.id}")
        if line.generation != self.tail.generation or line.older != self.tail.older or line.id > self.tail.id:
            raise damaged(self.file.path, offset, "a line of another file stands there")
        if not line.id:
            return line
        line = decoded(line, self._place.codec, path=self.file.path)
        return line if line.moved is None else put_together(line, load=partial(get, self._place), path=self.file.path)

    def _older_between(self, first: int, last: int) -> list[Found]:
        ids = self.older.ids
        return [self.older.at(place) for place in range(bisect_left(ids, first), bisect_right(ids, last))]

    def _older_anchor(self, offset: int) -> int | None:
        place = bisect_right(self.older.anchors, bisect_left(self.older.offsets, offset))
        return self.older.offsets[self.older.anchors[place - 1]] if place else None

    def _place_of(self, id: int) -> int:
        """Return where the first line behind the older part begins whose id is at least `id`.

        Behind an anchor just read nothing is to look for. Else it is looked for where it should be by its number, then by halving what
        is left. Numbers are read without their checksums there; where one misleads, the lines are read one by one, which shows the damage.
        Of what is archived a chunk that is damaged is passed over.
        """
        if self._last_anchor is not None and self._last_anchor[1].id == id - 1:
            return self._next_line(self._last_anchor[0], self.tail.end)
        low, low_id, high, high_id = self.tail.older, self._first_checked, self.tail.end, self.tail.id + 1
        if id <= low_id or low >= high:
            return low
        if id >= high_id:
            return high
        archived = self.file.archived
        if low < archived < high and (found := self._id_at(archived)) <= id:
            low, low_id = archived, found
        edge, halve = high, False
        while edge - low > _NEAR and high_id - low_id > 1:
            share = 0.5 if halve else (id - low_id) / (high_id - low_id)
            guess = low + max(1, min(int((edge - low) * share), edge - low - 1))
            halve = not halve
            place, found, is_next = self._readable(guess, high, archived)
            if place >= high:
                edge = guess
            elif found == id:
                return place
            elif found < id:
                low, low_id = place, found
            else:
                high, high_id, edge = place, found, place if is_next else guess
        near = ((place, self._id_of(place, raw)) for place, raw in self.file.forwards(low, high))
        place, found = next((at for at in near if at[1] >= id), (high, high_id))
        return place if found == id else next((place for place, line in self.lines(self.tail.older) if line.id >= id), high)

    def _readable(self, offset: int, stop: int, archived: int) -> tuple[int, int, bool]:
        """Return where the first line behind an offset that can be read begins, its id, and whether no damaged chunk lies between; `stop` where there is none."""
        for at in (offset, *range((offset // CHUNK + 1) * CHUNK, archived, CHUNK)):
            try:
                place = self._next_line(at, stop)
                return place, self._id_at(place) if place < stop else 0, at == offset
            except StoreDamaged:
                if at >= archived:
                    raise
        return stop, 0, False

    def _next_line(self, offset: int, stop: int) -> int:
        return next((place + len(raw) + 1 for place, raw in self.file.forwards(offset, stop)), stop)

    def _id_at(self, offset: int) -> int:
        return self._id_of(offset, self.file.read(offset, min(offset + _LONGEST_ID, self.tail.end)))

    def _id_of(self, offset: int, start: bytes) -> int:
        found = _ID.match(start)
        if found is None:
            raise damaged(self.file.path, offset, "no entry begins there")
        return int(found[1])
