"""Lines that are going to be written: each with its place on the tape, and where the tape ends with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, islice

from playhead.entry.entry import ANCHOR, TapeEntry
from playhead.errors import Conflict
from playhead.store.file.record.codec import LineCodec, encoded
from playhead.store.file.record.header import Header
from playhead.store.file.record.lines import Body, dump, marks
from playhead.store.file.record.tail import Tail
from playhead.store.protocol import Head
from playhead.store.rules.replay import replay

Standing = Callable[[str], TapeEntry | None]
"""Returns the entry that has an idempotency key, None where none has it."""


class Draft:
    """What some appends add to a tape that ends at `tail`. Nothing is written; a refused append leaves the draft as it was.

    `header` is the first line of a file that is not begun, None where it needs none; `standing` tells which entry of the tape has a key.
    """

    __slots__ = ("_bodies", "_codec", "_header", "_keyed", "_standing_before", "_tail")

    def __init__(self, tail: Tail, *, header: Header | None, codec: LineCodec | None, standing: Standing) -> None:
        self._tail = tail
        self._header = header
        self._codec = codec
        self._standing_before = standing
        self._bodies: list[Body] = []
        self._keyed: dict[str, TapeEntry] = {}

    @property
    def head(self) -> Head:
        """Where the tape ends with what was added."""
        return Head(self._tail.generation, self._tail.id + len(self._bodies))

    @property
    def count(self) -> int:
        """How many entries were added."""
        return len(self._bodies)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """What was added."""
        return tuple(self._bodies)

    @property
    def marks(self) -> list[tuple[int, int] | None]:
        """The marks of what was added."""
        return [body.mark for body in self._bodies]

    def add(self, entries: Sequence[TapeEntry], bodies: Sequence[Body], *, expected_head: Head | None) -> tuple[TapeEntry, ...]:
        """Add those entries of an append that are new; return all as they will be stored. Raises Conflict, KeyConflict."""
        if all(body.key is None for body in bodies):
            self.expect(expected_head)
            return tuple(map(self._placed, bodies))
        plan = replay(entries, standing=self.standing)
        if plan.fresh:
            self.expect(expected_head)
        return plan.results([self._placed(bodies[i]) for i in plan.fresh])

    def expect(self, expected: Head | None) -> None:
        """Raise Conflict where the tape does not end where it should."""
        if expected is not None and expected != self.head:
            raise Conflict(expected=expected, found=self.head)

    def standing(self, key: str) -> TapeEntry | None:
        """Return the entry that has a key, also of those that were added."""
        return self._keyed.get(key) or self._standing_before(key)

    def lines(self) -> tuple[list[bytes], Tail]:
        """Return the lines of all that was added, marked as a batch where they are several, and where the tape ends with them."""
        header = [] if self._tail.begun or self._header is None else [self._header.dump()]
        return self._dumped(header, batch=len(self._bodies))

    def places(self, lines: Sequence[bytes]) -> dict[str, int]:
        """Return where each key that was added stands, given the lines."""
        if not self._keyed:
            return {}
        first = len(lines) - len(self._bodies)
        starts = accumulate(map(len, lines), initial=self._tail.end)
        return {body.key: place for body, place in zip(self._bodies, islice(starts, first, None), strict=False) if body.key is not None}

    def file(self, header: Header | None) -> list[bytes]:
        """Return all lines of a new file with what was added; it appears at once, so nothing marks a batch."""
        return self._dumped([] if header is None else [header.dump()], batch=1)[0]

    def _dumped(self, lines: list[bytes], *, batch: int) -> tuple[list[bytes], Tail]:
        before = self._tail
        end, anchor = before.end + sum(map(len, lines)), before.anchor
        for place, body in enumerate(self._bodies, 1):
            own = marks(batch=(place, batch) if batch > 1 else None, anchor=anchor, generation=before.generation, older=before.older, mark=body.mark)
            line = dump(body if self._codec is None else encoded(body, self._codec), id=before.id + place, marks=own)
            lines.append(line)
            if body.kind == ANCHOR:
                anchor = end
            end += len(line)
        return lines, Tail(end=end, id=before.id + len(self._bodies), generation=before.generation, anchor=anchor, older=before.older, size=end)

    def _placed(self, body: Body) -> TapeEntry:
        self._bodies.append(body)
        stored = body.stored(self._tail.id + len(self._bodies))
        if body.key is not None:
            self._keyed[body.key] = stored
        return stored
