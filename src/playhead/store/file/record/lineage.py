"""What a tape shows: the entries of its own file, behind those of the files that it was forked from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice

from playhead.entry.entry import TapeEntry
from playhead.store.file.family.family import Family
from playhead.store.file.index.finder import find
from playhead.store.file.index.index import Index
from playhead.store.file.record.header import Origin
from playhead.store.file.record.lines import Line
from playhead.store.file.record.recording import Found, Recording
from playhead.store.file.record.stretch import Stretch
from playhead.store.file.record.tail import Tail
from playhead.store.protocol import EMPTY, Head


class Lineage:
    """Reads a tape over its fork points. Of the files it was forked from one is open at a time, and only where it is reached.

    Raises StoreDamaged, with the place, at what is not as it was written.
    """

    def __init__(self, family: Family, newest: Stretch, *, sidecar: str | None = None) -> None:
        self._family = family
        self._sidecar = sidecar
        self._newest = newest
        self._origins: list[Origin | None] = [newest.origin]

    @property
    def tail(self) -> Tail:
        """Where the tape ends."""
        return self._newest.recording.tail

    @property
    def newest(self) -> Recording:
        """Its newest file."""
        return self._newest.recording

    @property
    def path(self) -> str:
        """The file of its newest entries."""
        return self._newest.recording.file.path

    @property
    def is_dense(self) -> bool:
        """Whether no id is missing, as may be where another program wrote entries."""
        return not any(stretch.recording.tail.older for stretch in self.stretches())

    def forwards(self, first: int, last: int) -> Iterator[Found]:
        """Return the entries with these ids and those between them, each behind its place in its file."""
        return self._newest.recording.forwards(first, last) if self._is_alone else self._forwards(first, last)

    def backwards(self, first: int, last: int) -> Iterator[Found]:
        """Return the entries with these ids and those between them, the last one first."""
        return self._newest.recording.backwards(first, last) if self._is_alone else self._backwards(first, last)

    def anchors(self, last: int) -> Iterator[Found]:
        """Return the anchors up to an id, the newest first."""
        return self._newest.recording.anchors(last) if self._is_alone else self._anchors(last)

    def find(self, *, keys: Sequence[str], uids: Sequence[str]) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries that have one of these: of several with one uid the first of the newest file."""
        if not set(keys).isdisjoint(uids):
            return {**self.find(keys=(), uids=uids), **self.find(keys=keys, uids=())}
        found: dict[str, TapeEntry] = {}
        for stretch in self.stretches():
            wanted = [[name for name in names if name not in found] for names in (keys, uids)]
            if not any(wanted):
                break
            its = find(stretch.whole(), Index(self._family.place, stretch.stem), keys=wanted[0], uids=wanted[1])
            found |= {name: entry for name, entry in its.items() if entry.id <= stretch.recording.tail.id}
        return {name: found[name] for name in (*uids, *keys) if name in found}

    def marks(self, after: int, limit: int | None) -> list[Head]:
        """Return the marks of the entries of a sidecar behind an id, of all or the first few."""
        return [_mark_of(line) for _, line in islice(self.forwards(max(after, 0) + 1, self.tail.id), limit)] if after < self.tail.id else []

    def marked_up_to(self, head: Head) -> int:
        """Return the id of the last entry of a sidecar that was written when its main tape ended at `head` or before; marks rise."""
        for recording in self._recordings():
            first, last = recording.shared + 1, recording.tail.id
            if first <= last and _mark_at(recording, first) <= head:
                return first - 1 + bisect_right(range(first, last + 1), head, key=lambda id: _mark_at(recording, id))
        return 0

    @property
    def _is_alone(self) -> bool:
        return self._origins[0] is None

    def _forwards(self, first: int, last: int) -> Iterator[Found]:
        depth = next((depth for depth, recording in enumerate(self._recordings()) if recording.shared < first), 0)
        for number in range(depth, -1, -1):
            with self._at(number) as stretch:
                recording = stretch.recording
                if recording.shared < last:
                    yield from recording.forwards(max(first, recording.shared + 1), min(last, recording.tail.id))

    def _backwards(self, first: int, last: int) -> Iterator[Found]:
        for recording in self._recordings():
            if recording.shared < last:
                yield from recording.backwards(max(first, recording.shared + 1), min(last, recording.tail.id))
            if recording.shared < first:
                return

    def _anchors(self, last: int) -> Iterator[Found]:
        for recording in self._recordings():
            if recording.shared < last:
                yield from recording.anchors(min(last, recording.tail.id))

    def _recordings(self) -> Iterator[Recording]:
        return (stretch.recording for stretch in self.stretches())

    def stretches(self) -> Iterator[Stretch]:
        """Yield the files, the newest first, each open until the next is asked for."""
        yield self._newest
        depth = 0
        while self._origins[depth] is not None:
            depth += 1
            with self._at(depth) as stretch:
                if depth == len(self._origins):
                    self._origins.append(stretch.origin)
                yield stretch

    def _at(self, depth: int) -> AbstractContextManager[Stretch]:
        origin = self._origins[depth - 1] if depth else None
        return nullcontext(self._newest) if origin is None else self._family.older(origin, self._sidecar)


def _mark_of(line: Line) -> Head:
    """Return where the main tape ended when an entry of a sidecar was written; what has no mark was written before all."""
    return EMPTY if line.mark is None else Head(*line.mark)


def _mark_at(recording: Recording, id: int) -> Head:
    return next((_mark_of(line) for _, line in recording.forwards(id, id)), EMPTY)
