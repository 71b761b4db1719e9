"""What a PostgreSQL store says of its tapes and their families: names, branches, sidecars, marks, cursors."""

from __future__ import annotations

from functools import partial

from playhead.errors import InvalidInput
from playhead.store.change import OPEN, BranchRecord
from playhead.store.condition.damage import missing
from playhead.store.family import kin_of
from playhead.store.postgres.address import Address
from playhead.store.postgres.keys import name_key, text_key
from playhead.store.postgres.reader import ask_of
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.session import Row
from playhead.store.protocol import EMPTY, Head
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, date_text, text


def names(reading: Reading) -> list[str]:
    """Return the names of the tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
    return sorted(name for (name,) in reading.rows("names", tenant=reading.tenant))


def families(reading: Reading) -> list[str]:
    """Return the names of the tapes of which anything is there, sorted; branches and sidecars are left out."""
    return sorted(name for (name,) in reading.rows("families", tenant=reading.tenant))


def branch(reading: Reading, *, name: str) -> BranchRecord | None:
    """Return what is known of a branch, or of a sidecar that was forked with one."""
    found = reading.rows("branch", tenant=reading.tenant, root_name=name_key(kin_of(name).root), name=name_key(name))
    return _record(found[0]) if found else None


def branches(reading: Reading, *, tape: str) -> list[BranchRecord]:
    """Return the branches of a tape's family, in the order they were made."""
    return [_record(row) for row in reading.rows("branches", tenant=reading.tenant, root_name=name_key(kin_of(tape).root))]


def sidecars(reading: Reading, *, tape: str) -> list[str]:
    """Return the names of the sidecars of a tape or branch that show something, sorted."""
    found = reading.rows("sidecars", tenant=reading.tenant, root_name=name_key(kin_of(tape).root), name=name_key(tape))
    return sorted(str(kin_of(name).sidecar) for (name,) in found)


def marks(reading: Reading, *, tape: str, after: int, limit: int | None) -> list[Head]:
    """Return for each entry of a sidecar behind an id, of all or the first few, where its main tape ended when it was written.

    Raises InvalidInput where the tape is no sidecar, StoreDamaged where an entry is missing, BranchNotFound.
    """
    reading.address(tape)
    if kin_of(tape).sidecar is None:
        raise InvalidInput(f"Only the entries of sidecars are marked, and '{tape}' is none.")
    return ask_of(reading, tape, partial(_marks, reading, tape, after, limit), none=[])


def cursor(reading: Reading, *, tape: str, consumer: str) -> Head:
    """Return how far a consumer has read a tape, EMPTY where it never did. Raises BranchNotFound."""
    found = reading.rows("cursor", tenant=reading.tenant, root_name=name_key(kin_of(tape).root), name=name_key(tape), consumer=text_key(consumer))
    if not found:
        reading.address(tape)
        return EMPTY
    return Head(*found[0])


def cursors(reading: Reading, *, tape: str) -> dict[str, Head]:
    """Return how far each consumer has read a tape, in the order of their names. Raises BranchNotFound."""
    reading.address(tape)
    found = reading.rows("cursors", tenant=reading.tenant, root_name=name_key(kin_of(tape).root), name=name_key(tape))
    return dict(sorted((text(consumer), Head(generation, id)) for consumer, generation, id in found))


def _marks(reading: Reading, tape: str, after: int, limit: int | None, address: Address) -> list[Head]:
    ((end,),) = reading.proved(address, "end")
    ids = range(max(after, 0) + 1, end + 1)[:limit]
    rows = [row for tape_no, low, high in address.pieces(ids, head=end) for row in reading.at(address, "marks", tape=tape_no, low=low, high=high)]
    for id, (seq, mark) in zip(ids, rows, strict=False):
        if seq != id or mark is None:
            raise missing(tape, id, id)
    if len(rows) < len(ids):
        raise missing(tape, ids[len(rows)], end)
    return [Head(mark >> SEQ_BITS, mark & LAST_SEQ) for _, mark in rows]


def _record(row: Row) -> BranchRecord:
    name, parent, generation, id, outcome, owner, created_at, closed_at = row
    return BranchRecord(
        name=name,
        parent=parent,
        base=Head(generation, id),
        state=outcome or OPEN,
        owner=None if owner is None else text(owner),
        created_at=date_text(created_at),
        closed_at=None if closed_at is None else date_text(closed_at),
    )
