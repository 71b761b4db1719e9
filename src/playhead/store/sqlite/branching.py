"""Making, closing and removing the branches of a family."""

from __future__ import annotations

import json
from bisect import bisect_left
from datetime import datetime
from functools import partial

from playhead.errors import NameTaken
from playhead.store.change import OPEN, BranchRecord, Close, Fork, check_close, check_cuts, collectable, cut_point, fork_names, fork_point
from playhead.store.condition.damage import missing
from playhead.store.family import SIDECAR, kin_of
from playhead.store.protocol import Head
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, date_text, eid, microseconds
from playhead.store.rows.statements import statements
from playhead.store.rules.lineage import cut
from playhead.store.rules.tails import expect, main_of, writable
from playhead.store.sqlite.records import between
from playhead.store.sqlite.tails import Branching, Tail, Tails


def fork(tails: Tails, change: Fork, *, at: datetime) -> None:
    """Make a branch, and one of each sidecar that shows something. Raises InvalidInput, BranchNotFound, NameTaken, StoreDamaged."""
    fork_names(change)
    parent = main_of(tails, change.parent)
    last = fork_point(change, end=0 if parent is None else parent.seq)
    if tails.tail(change.tape) is not None:
        raise NameTaken(change.tape)
    head = Head(parent.generation if parent else 0, last)
    sidecars = _sidecars(tails, change.parent)
    check_cuts(change, (str(kin_of(name).sidecar) for name, _ in sidecars))
    beside = [_forked(change, name, tail, end, at) for name, tail in sidecars if (end := _end(tails, change, name, tail, head)) is not None]
    main = _forked(change, change.parent, parent or tails.begin(change.parent), last, at)
    for branch in (main, *beside):
        tails.branch_off(branch)


def close(tails: Tails, change: Close, *, at: datetime) -> None:
    """End a branch and its sidecars. Raises InvalidInput, BranchNotFound, BranchClosed, Conflict."""
    check_close(change)
    tail = writable(tails, change.tape)
    expect(change.expected_head, tail)
    names = [change.tape, *_members(tails, change.tape + SIDECAR)]
    tails.execute_many(statements("family")["close"], [(change.outcome, microseconds(at), name) for name in names])
    if tail is not None:
        tail.closed = change.outcome


def collect(tails: Tails, tape: str, before: datetime) -> list[str]:
    """Remove the branches of a family (or only the one that `tape` names) that were closed before an instant and that none was forked from.

    Return their names, the newest first; those that are kept as they hold what stands nowhere else are left alone.
    """
    sql = statements("family")
    gone = collectable(tails.execute(sql["branches"], (kin_of(tape).root,)).fetchall(), tape=tape, before=microseconds(before))
    for name in gone:
        for member in (name, *_members(tails, name + SIDECAR)):
            remove(tails, member)
            for statement in ("forget_lease", "forget_cursors"):
                tails.execute(sql[statement], (member,))
    tails.forget()
    return gone


def remove(tails: Tails, name: str) -> None:
    """Take a name away; what it stood for goes once nobody reads through it."""
    tail = tails.tail(name)
    if tail is not None:
        tails.execute(statements("family")["forget_name"], (name,))
        tails.execute(statements("write")["retire_tape"], (tail.tape_no,))
        del tails.known[name]


def _forked(change: Fork, parent: str, tail: Tail, end: int, at: datetime) -> Branching:
    """Return what is made of the parent, or of a sidecar of it, that is shown up to an id."""
    lineage = cut(_lineage(tail), end)
    name = kin_of(change.tape)._replace(sidecar=kin_of(parent).sidecar).name
    record = BranchRecord(name=name, parent=parent, base=Head(tail.generation, end), state=OPEN, owner=change.owner, created_at=date_text(microseconds(at)))
    return Branching(record, tail.root_no, json.dumps(lineage, separators=(",", ":")), lineage[-1][0] if lineage else None, microseconds(at))


def _end(tails: Tails, change: Fork, name: str, tail: Tail, head: Head) -> int | None:
    """Return the last id of a sidecar that a branch takes with it, None where it takes none of it."""
    return cut_point(change, str(kin_of(name).sidecar), end=tail.seq, marked_up_to=partial(_marked_up_to, tails, name, tail, head))


def _sidecars(tails: Tails, tape: str) -> list[tuple[str, Tail]]:
    found = ((name, tails.tail(name)) for name in _members(tails, tape + SIDECAR) if kin_of(name).main == tape)
    return [(name, tail) for name, tail in found if tail is not None and tail.seq]


def _members(tails: Tails, prefix: str) -> list[str]:
    return [name for (name,) in tails.execute(statements("family")["members"], between(prefix))]


def _marked_up_to(tails: Tails, tape: str, tail: Tail, head: Head) -> int:
    """Return the id of the last entry of a sidecar that was written when its main tape ended at a head or before, by halving: marks rise."""
    lineage, wanted = _lineage(tail), head.generation << SEQ_BITS | head.id
    ends = [last for _, last in lineage]
    low, high = 0, tail.seq
    while low < high:
        middle = (low + high + 1) // 2
        place = eid(lineage[bisect_left(ends, middle)][0], middle)
        found = tails.execute(statements("family")["mark"], (place,)).fetchone()
        if found is None or found[0] is None:
            raise missing(tape, place & LAST_SEQ, place & LAST_SEQ)
        low, high = (middle, high) if found[0] <= wanted else (low, middle - 1)
    return low


def _lineage(tail: Tail) -> list[list[int]]:
    """Return the numbers that a tape shows, each with its last id, its own at the end."""
    return [*json.loads(tail.lineage), [tail.tape_no, tail.seq]]
