"""Lines that are going to be written: each with its place on the tape, and where the tape ends with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playhead import clock
from playhead.entry.entry import TapeEntry, format_date
from playhead.errors import Conflict
from playhead.store.file_codec import LineCodec, encoded
from playhead.store.file_lines import Body, dump, dump_header, is_anchor, marks
from playhead.store.file_names import is_cut
from playhead.store.file_tail import Tail
from playhead.store.protocol import Head
from playhead.store.replay import replay


class Draft:
    """What some appends add to a tape that ends at `tail`. Nothing is written; a refused append leaves the draft as it was."""

    def __init__(self, tail: Tail, *, tape: str, stem: str, codec: LineCodec | None, standing: Callable[[str], TapeEntry | None]) -> None:
        self._before = tail
        self._tape = tape
        self._says_name = is_cut(stem)
        self._codec = codec
        self._standing_before = standing
        self._bodies: list[Body] = []
        self._keyed: dict[str, TapeEntry] = {}

    def add(self, entries: Sequence[TapeEntry], bodies: Sequence[Body], *, expected_head: Head | None) -> tuple[TapeEntry, ...]:
        """Add those entries of an append that are new; return all as they will be stored. Raises Conflict, KeyConflict."""
        plan = replay(entries, standing=self._standing)
        if plan.fresh or not entries:
            expect(expected_head, Head(self._before.generation, self._before.id + len(self._bodies)))
        return plan.results([self._placed(bodies[i]) for i in plan.fresh])

    def lines(self) -> tuple[list[bytes], Tail]:
        """Return the lines of all that was added, marked as a batch where they are several, and where the tape ends with them."""
        if not self._bodies:
            return [], self._before
        header = [self._header()] if self._says_name and not self._before.begun else []
        return self._dumped(header, together=len(self._bodies) > 1)

    def file(self) -> tuple[list[bytes], Tail]:
        """Return all lines of a new file with what was added; it appears at once, so nothing marks a batch."""
        return self._dumped([self._header()] if self._says_name or not self._bodies else [], together=False)

    def _dumped(self, lines: list[bytes], *, together: bool) -> tuple[list[bytes], Tail]:
        before, count = self._before, len(self._bodies)
        end, anchor = before.end + sum(map(len, lines)), before.anchor
        for i, body in enumerate(self._bodies, 1):
            own = marks(batch=(i, count) if together else None, anchor=anchor, generation=before.generation, older=before.older)
            line = dump(encoded(body, self._codec), id=before.id + i, marks=own)
            lines.append(line)
            anchor = end if is_anchor(body.kind) else anchor
            end += len(line)
        return lines, Tail(end=end, id=before.id + count, generation=before.generation, anchor=anchor, older=before.older, size=end)

    def _header(self) -> bytes:
        return dump_header(tape=self._tape, generation=self._before.generation, date=format_date(clock.now()))

    def _placed(self, body: Body) -> TapeEntry:
        self._bodies.append(body)
        stored = body.stored(self._before.id + len(self._bodies))
        if body.key is not None:
            self._keyed[body.key] = stored
        return stored

    def _standing(self, key: str) -> TapeEntry | None:
        return self._keyed.get(key) or self._standing_before(key)


def expect(expected: Head | None, found: Head) -> None:
    """Raise Conflict where a tape does not end where it should."""
    if expected is not None and expected != found:
        raise Conflict(expected=expected, found=found)
