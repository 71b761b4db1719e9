"""What became of an append that one statement did not make, or whose answer was lost."""

from __future__ import annotations

from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown
from playhead.store.postgres.appending import Doubt
from playhead.store.postgres.family import Family
from playhead.store.postgres.keys import columns
from playhead.store.postgres.tapes import Tapes
from playhead.store.rows.row import written
from playhead.store.rows.statements import statements
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.making import Making, Written
from playhead.store.rules.work import Work, Writing


def settled(family: Family, *, work: Work, doubt: Doubt | None, horizon: Horizon) -> tuple[Written, ...] | None:
    """Make changes to a family that is held, unless they were made already; return for each the entries as stored."""
    if doubt is not None and doubt.sent is not None and isinstance(work.steps[0], Writing):
        landed = _landed(family, work.steps[0], doubt)
        if landed is not None:
            return (landed,)
    return Making(Tapes(family, horizon=horizon)).make(work)


def _landed(family: Family, step: Writing, doubt: Doubt) -> tuple[TapeEntry, ...] | None:
    """Return the entries of an append that was kept after all, None where it was not; from here on it cannot be any more.

    The row of the tape is waited for, so that a statement that is under way ends first, and then moved so that none that comes later fits it.
    """
    address, sql = doubt.sent, statements("postgres/append")
    if address is None:
        return None
    where = {"root": address.root_id, "tape": address.tape_no}
    if not family.session.rows(sql["next_turn"], where):
        raise AppendOutcomeUnknown(
            f"The connection to {family.label} was lost during an append to '{step.tape}', and the tape was reset or removed before the server could be asked; read the tape to see what it holds.",
            store=family.label,
        )
    family.touched.add(step.tape)
    wanted = columns(step.rows)
    rows = family.session.rows(sql["landed"], {**where, "after": doubt.seen, "uids": wanted["uids"]})
    signs = list(zip(wanted["uids"], wanted["digests"], strict=True))
    for start in range(len(rows) - len(signs) + 1):
        run = rows[start : start + len(signs)]
        if [(uid, digest) for _, uid, digest in run] == signs and run[-1][0] - run[0][0] == len(signs) - 1:
            return tuple(written(entry, row, id) for id, (entry, row) in enumerate(zip(step.entries, step.rows, strict=True), run[0][0]))
    return None
