"""Lines that are going to be written: each with its place on the tape, and where the tape ends with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playhead import clock
from playhead.entry.entry import ANCHOR, TapeEntry, format_date
from playhead.errors import Conflict
from playhead.store.file.codec import LineCodec, encoded
from playhead.store.file.lines import Body, dump, dump_header, marks
from playhead.store.file.names import is_cut
from playhead.store.file.tail import Tail
from playhead.store.protocol import Head
from playhead.store.replay import replay

Standing = Callable[[str], TapeEntry | None]
"""Returns the entry that has an idempotency key, None where none has it."""


class Draft:
    """What some appends add to a tape that ends at `tail`. Nothing is written; a refused append leaves the draft as it was.

    `standing` tells which entry of the tape has a key.
    """

    __slots__ = ("_bodies", "_codec", "_keyed", "_standing_before", "_stem", "_tail", "_tape")

    def __init__(self, tail: Tail, *, tape: str, stem: str, codec: LineCodec | None, standing: Standing) -> None:
        self._tail = tail
        self._tape = tape
        self._stem = stem
        self._codec = codec
        self._standing_before = standing
        self._bodies: list[Body] = []
        self._keyed: dict[str, TapeEntry] = {}

    def add(self, entries: Sequence[TapeEntry], bodies: Sequence[Body], *, expected_head: Head | None) -> tuple[TapeEntry, ...]:
        """Add those entries of an append that are new; return all as they will be stored. Raises Conflict, KeyConflict."""
        if all(body.key is None for body in bodies):
            self._expect(expected_head)
            return tuple(map(self._placed, bodies))
        plan = replay(entries, standing=self._standing)
        if plan.fresh:
            self._expect(expected_head)
        return plan.results([self._placed(bodies[i]) for i in plan.fresh])

    def lines(self) -> tuple[list[bytes], Tail]:
        """Return the lines of all that was added, marked as a batch where they are several, and where the tape ends with them."""
        if not self._bodies:
            return [], self._tail
        header = [] if self._tail.begun or not is_cut(self._stem) else [self._header()]
        return self._dumped(header, batch=len(self._bodies))

    def file(self) -> tuple[list[bytes], Tail]:
        """Return all lines of a new file with what was added; it appears at once, so nothing marks a batch."""
        return self._dumped([self._header()] if is_cut(self._stem) or not self._bodies else [], batch=1)

    def _dumped(self, lines: list[bytes], *, batch: int) -> tuple[list[bytes], Tail]:
        before = self._tail
        end, anchor = before.end + sum(map(len, lines)), before.anchor
        for place, body in enumerate(self._bodies, 1):
            own = marks(batch=(place, batch) if batch > 1 else None, anchor=anchor, generation=before.generation, older=before.older)
            line = dump(body if self._codec is None else encoded(body, self._codec), id=before.id + place, marks=own)
            lines.append(line)
            if body.kind == ANCHOR:
                anchor = end
            end += len(line)
        return lines, Tail(end=end, id=before.id + len(self._bodies), generation=before.generation, anchor=anchor, older=before.older, size=end)

    def _header(self) -> bytes:
        return dump_header(tape=self._tape, generation=self._tail.generation, date=format_date(clock.now()))

    def _placed(self, body: Body) -> TapeEntry:
        self._bodies.append(body)
        stored = body.stored(self._tail.id + len(self._bodies))
        if body.key is not None:
            self._keyed[body.key] = stored
        return stored

    def _expect(self, expected: Head | None) -> None:
        if expected is not None:
            expect(expected, Head(self._tail.generation, self._tail.id + len(self._bodies)))

    def _standing(self, key: str) -> TapeEntry | None:
        return self._keyed.get(key) or self._standing_before(key)


def expect(expected: Head | None, found: Head) -> None:
    """Raise Conflict where a tape does not end where it should."""
    if expected is not None and expected != found:
        raise Conflict(expected=expected, found=found)
