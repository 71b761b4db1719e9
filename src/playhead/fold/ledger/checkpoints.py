"""Checkpoints: the ledger written down beside what it follows from, so that opening need not read all of it again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf

import msgspec

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.fold.forest import Cut, Outcome, Pin
from playhead.fold.ledger.entries import CHECKPOINT
from playhead.fold.ledger.known import Known
from playhead.fold.ledger.numbering import Numbering
from playhead.fold.ledger.reading import Readings, side_by_side
from playhead.fold.ledger.reduction import placed_pin, span_of
from playhead.fold.ledger.state import Ledger, is_gapless
from playhead.fold.node import Node
from playhead.tape.reduction import Ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A ledger to read on from, and by uid the summaries that a snapshot of it holds; `checkpoint` is the entry id of the newest checkpoint, 0 without one."""

    ledger: Ledger = field(default_factory=Ledger)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    checkpoint: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A ledger with uids in place of summaries; all entry ids of the main tape in it are looked up anew.

    `main` is the id of the last entry of the main tape when it was written. `runs` are the uids of the roots in order, those that
    follow each other without a gap together; `below` those of the other summaries that a snapshot holds. `failed` are the outcomes,
    each with how many entry ids its span has.
    """

    main: int
    runs: tuple[tuple[str, ...], ...]
    below: tuple[str, ...]
    cut: Cut | None
    pins: tuple[Pin, ...]
    locks: tuple[str, ...]
    failed: tuple[tuple[Outcome, int], ...]
    counter: int
    shifts: tuple[tuple[int, int], ...]
    pin_counter: int
    factor: float
    factor_epoch: str
    last_written: datetime | None
    counts: Mapping[int, int]
    ignored: Mapping[str, int]

    @property
    def nodes(self) -> frozenset[str]:
        """The summaries to look up."""
        return frozenset(self.below).union(*self.runs)

    def places(self, found: Readings) -> frozenset[str]:
        """Return the entries of the main tape to look up, once the summaries were read: the ends of each run, and what is pinned, locked or failed."""
        runs = [(found[run[0]].draft.first_uid, found[run[-1]].draft.last_uid) for run in self.runs if run and run[0] in found and run[-1] in found]
        pins = [(pin.first_uid, pin.last_uid) for pin in self.pins]
        failed = [(outcome.first_uid, outcome.last_uid) for outcome, _ in self.failed]
        return frozenset(self.locks).union(*runs, *pins, *failed)

    @property
    def numbering(self) -> Numbering:
        """How the summaries are numbered."""
        return Numbering(counter=self.counter, shifts=self.shifts)

    @property
    def is_sound(self) -> bool:
        """Whether a ledger can have such numbers: a finite factor above 0, levels from 1, and nothing counted below 0."""
        counted = (self.main, self.counter, self.pin_counter, *self.counts.values(), *self.ignored.values(), *(number for shift in self.shifts for number in shift))
        levels = (*self.counts, *(outcome.level for outcome, _ in self.failed), *(length for _, length in self.failed))
        pinned = [level for pin in self.pins for level in (pin.level, pin.max_level) if level is not None]
        return 0 < self.factor < inf and min(counted) >= 0 and min(levels, default=1) >= 1 and min(pinned, default=0) >= 0

    def opened(self, entry: TapeEntry, found: Readings, known: Known) -> Opened | None:
        """Return the ledger that the entry of this checkpoint stands for, with the summaries that a snapshot holds.

        None where something of it is not on the tapes as it was.
        """
        roots = self._roots(found, known)
        below = None if roots is None else self._below(roots, found)
        locks = {uid: known.place(uid) for uid in self.locks}
        if roots is None or below is None or not all(locks.values()):
            return None
        try:
            outcomes = tuple(_placed(outcome, length, known) for outcome, length in self.failed)
        except Ignored:
            return None
        ledger = Ledger(
            roots=roots,
            cut=self.cut,
            pins=tuple(placed_pin(pin, known) for pin in self.pins),
            locks=locks,
            outcomes=outcomes,
            numbering=self.numbering,
            pin_counter=self.pin_counter,
            factor=self.factor,
            factor_epoch=self.factor_epoch,
            last_written=self.last_written,
            counts=self.counts,
            ignored=self.ignored,
            upto=entry.id,
            last=entry.uid,
        )
        return Opened(ledger=ledger, nodes={node.uid: node for node in (*roots, *below)}, checkpoint=entry.id)

    def _roots(self, found: Readings, known: Known) -> tuple[Node, ...] | None:
        roots: list[Node] = []
        for run in self.runs:
            if not run or not found.keys() >= set(run):
                return None
            first, last = known.place(found[run[0]].draft.first_uid), known.place(found[run[-1]].draft.last_uid)
            nodes = side_by_side(run, found, self.numbering, first=first, last=last)
            if nodes is None or first <= (roots[-1].last if roots else 0):
                return None
            roots += nodes
        return tuple(roots)

    def _below(self, roots: Sequence[Node], found: Readings) -> list[Node] | None:
        wanted, below, level = frozenset(self.below), list[Node](), list(roots)
        while level:
            parents = [node for node in level if node.children and wanted.issuperset(node.children)]
            level = [child for node in parents for child in side_by_side(node.children, found, self.numbering, first=node.first, last=node.last) or ()]
            below += level
        return below if len(below) == len(wanted) else None


def checkpoint_entry(ledger: Ledger, *, held: Collection[str], main: int) -> TapeEntry:
    """Return the checkpoint to write right behind the entries that a ledger is made of.

    `held` are the uids of the summaries that a snapshot of it holds, roots or not, `main` is the id of the last entry of the main
    tape, which must still be the last when it is written.
    """
    runs: list[list[Node]] = []
    for root in ledger.roots:
        if runs and is_gapless([runs[-1][-1], root]):
            runs[-1].append(root)
        else:
            runs.append([root])
    state = Checkpoint(
        main=main,
        runs=tuple(tuple(root.uid for root in run) for run in runs),
        below=tuple(sorted(frozenset(held).difference(root.uid for root in ledger.roots))),
        cut=ledger.cut,
        pins=ledger.pins,
        locks=tuple(ledger.locks),
        failed=tuple((outcome, outcome.last - outcome.first + 1) for outcome in ledger.outcomes),
        counter=ledger.numbering.counter,
        shifts=ledger.numbering.shifts,
        pin_counter=ledger.pin_counter,
        factor=ledger.factor,
        factor_epoch=ledger.factor_epoch,
        last_written=ledger.last_written,
        counts=ledger.counts,
        ignored=ledger.ignored,
    )
    return TapeEntry(0, CHECKPOINT, freeze_dict({"upto": ledger.upto, "state": msgspec.to_builtins(state, str_keys=True)}))


def is_in_place(entry: TapeEntry) -> bool:
    """Whether an entry is a checkpoint right behind what it was made of.

    One that came with a branch stands further back where its tape had got other entries meanwhile, and so counts for nothing.
    """
    return entry.kind == CHECKPOINT and entry.payload.get("upto") == entry.id - 1


def checkpoint_of(entry: TapeEntry) -> Checkpoint | None:
    """Return what a checkpoint's entry holds; None for one that is not in its place, cannot be read, or says what no ledger comes to."""
    if not is_in_place(entry):
        return None
    try:
        state = msgspec.convert(entry.payload.get("state"), Checkpoint, str_keys=True)
    except msgspec.ValidationError:
        return None
    return state if state.is_sound else None


def _placed(outcome: Outcome, length: int, known: Known) -> Outcome:
    first, last = span_of(known.place(outcome.first_uid), known.place(outcome.last_uid), length)
    return replace(outcome, first=first, last=last)
