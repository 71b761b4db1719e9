"""A rehearsal: changes are made to a sketch of the tapes first, so that what would be refused is refused before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from playhead.entry.entry import TapeEntry, placed
from playhead.errors import BranchClosed, BranchNotFound, Conflict, NameTaken
from playhead.store.adapted.marks import check_marks, marked, marked_up_to, marks_for
from playhead.store.change import OPEN, Append, Change, Close, Fork, Reset, check_close, check_cuts, cut_point, fork_names, fork_point
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import Head
from playhead.store.rules.intake import taken
from playhead.store.rules.replay import Replay, key_of, replay


@dataclass(slots=True)
class Sketch:
    """A tape as it would be."""

    generation: int = 0
    entries: list[TapeEntry] = field(default_factory=list)

    @property
    def head(self) -> Head:
        """Where it would end."""
        return Head(self.generation, self.entries[-1].id if self.entries else 0)

    def expect(self, head: Head | None) -> None:
        """Raise Conflict where it would not end there."""
        if head is not None and head != self.head:
            raise Conflict(expected=head, found=self.head)

    def cut(self, last: int) -> Sketch:
        """Return the sketch of a fork that shares the entries up to an id."""
        return Sketch(self.generation, [entry for entry in self.entries if entry.id <= last])


class Rehearsal:
    """Sketches of a family's tapes and the states of its branches, changed in place of the family."""

    def __init__(self, tapes: dict[str, Sketch], states: dict[str, str]) -> None:
        self._tapes = tapes
        self._states = states
        self._starts = {name: sketch.head for name, sketch in tapes.items()}

    def play(self, change: Change) -> None:
        """Make a change to the sketches. Raises what the change would be refused with."""
        match change:
            case Append():
                self._append(change)
            case Reset():
                self._reset(change)
            case Fork():
                self._fork(change)
            case Close():
                self._close(change)

    def _append(self, change: Append) -> None:
        entries = self._taken(change)
        sketch = self._open(change.tape)
        standing = {key: entry for entry in sketch.entries if (key := key_of(entry)) is not None}
        plan = replay(entries, standing=standing.get)
        if plan.fresh or not entries:
            sketch.expect(change.expected_head)
        self._write(change, sketch, entries, plan)

    def _reset(self, change: Reset) -> None:
        entries = self._taken(change)
        sketch = self._open(change.tape)
        sketch.expect(change.expected_head)
        sketch.generation, sketch.entries = sketch.generation + 1, []
        self._starts[change.tape] = sketch.head
        self._write(change, sketch, entries, replay(entries, standing=lambda _: None))

    def _write(self, change: Append | Reset, sketch: Sketch, entries: Sequence[TapeEntry], plan: Replay) -> None:
        fresh = [entries[place] for place in plan.fresh]
        kin = kin_of(change.tape)
        if kin.sidecar is not None:
            main = self._tape(kin.main).head
            marks = marks_for(change.marks, plan.fresh, main=main, start=self._starts.get(kin.main, main))
            fresh = [marked(entry, mark) for entry, mark in zip(fresh, marks, strict=True)]
        end = sketch.head.id
        sketch.entries += [placed(entry, id=end + n) for n, entry in enumerate(fresh, 1)]

    def _fork(self, change: Fork) -> None:
        fork_names(change)
        parent = self._readable(change.parent)
        end = parent.head.id
        at = fork_point(change, end=end)
        if change.tape in self._states:
            raise NameTaken(change.tape)
        self._states[change.tape] = OPEN
        self._tapes[change.tape] = parent.cut(at)
        kins = ((kin_of(name), sketch) for name, sketch in self._tapes.items() if sketch.entries)
        sketches = {kin.sidecar: sketch for kin, sketch in kins if kin.main == change.parent and kin.sidecar is not None}
        check_cuts(change, sketches)
        for name, sketch in sketches.items():
            last = cut_point(change, name, end=sketch.head.id, marked_up_to=partial(marked_up_to, sketch.entries, Head(parent.generation, at)))
            if last is not None:
                self._tapes[sidecar_name(change.tape, name)] = sketch.cut(last)

    def _close(self, change: Close) -> None:
        check_close(change)
        self._open(change.tape).expect(change.expected_head)
        self._states[change.tape] = change.outcome

    def _taken(self, change: Append | Reset) -> list[TapeEntry]:
        check_marks(change.tape, change.marks, len(change.entries))
        return taken(change.entries)

    def _readable(self, tape: str) -> Sketch:
        kin = kin_of(tape)
        if kin.branch is not None and kin.main not in self._states:
            raise BranchNotFound(kin.main)
        return self._tape(tape)

    def _open(self, tape: str) -> Sketch:
        sketch = self._readable(tape)
        state = self._states.get(kin_of(tape).main, OPEN)
        if state != OPEN:
            raise BranchClosed(kin_of(tape).main, state)
        return sketch

    def _tape(self, tape: str) -> Sketch:
        return self._tapes.setdefault(tape, Sketch())
