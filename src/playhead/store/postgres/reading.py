"""Where a reader of a PostgreSQL store reads: its session, and the addresses of tapes, proved with every first statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from playhead.errors import BranchNotFound
from playhead.store.archiving import archived
from playhead.store.archiving.packing import Said
from playhead.store.family import kin_of
from playhead.store.parting import Load
from playhead.store.postgres.address import Address, Book
from playhead.store.postgres.archived import segments_of
from playhead.store.postgres.keys import name_key
from playhead.store.postgres.session import Row, Session
from playhead.store.rows.row import RawRow
from playhead.store.rows.statements import statements


class Moved(Exception):
    """A tape was reset, renamed or removed since its address was noted."""


class Reading(NamedTuple):
    """A session and what it needs to find tapes, and the parts of payloads, which are read apart."""

    session: Session
    book: Book
    tenant: str
    load: Load

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""
        return self.session.rows(statements("postgres/read")[statement], values)

    def at(self, address: Address, statement: str, **values: Any) -> list[Row]:
        """Run a statement on the family of a tape and return its rows."""
        return self.rows(statement, root=address.root_id, **values)

    def proved(self, address: Address, statement: str, **values: Any) -> list[Row]:
        """Run a statement that proves an address and return its rows. Raises Moved."""
        found = self.at(address, statement, tape=address.tape_no, name=address.name_key, **values)
        if not found:
            raise Moved
        return found

    def filled(self, address: Address, rows: Sequence[Row], *, tape_no: int) -> Iterator[RawRow]:
        """Yield rows of one of the tapes that a tape shows with what their entries say, wherever that is kept. Raises Moved where it went with the tape."""
        segments = segments_of(self.session, rows, root_id=address.root_id, tape_no=tape_no)

        def said(place: int) -> Said | None:
            found = segments.said(place)
            if found is None:
                self.proved(address, "end")
            return found

        return archived.filled(rows, said)

    def address(self, tape: str) -> Address | None:
        """Return where a tape is, None where it was never written. Raises BranchNotFound where it belongs to a branch that was never made."""
        found = located(self.session, self.book, tape, tenant=self.tenant)
        kin = kin_of(tape)
        if found is None and kin.branch is not None and (kin.is_branch or located(self.session, self.book, kin.main, tenant=self.tenant) is None):
            raise BranchNotFound(kin.main)
        return found


def located(session: Session, book: Book, tape: str, *, tenant: str) -> Address | None:
    """Return where a tape is, as it was noted or as the server says; None where it was never written."""
    known = book.get(tape)
    if known is not None:
        return known
    found = session.rows(statements("postgres/read")["tape"], {"tenant": tenant, "root_name": name_key(kin_of(tape).root), "name": name_key(tape)})
    if not found:
        return None
    root_id, tape_no, generation, before, lineage, turn, *_ = found[0]
    return book.note(tape, (root_id, tape_no, generation, before, lineage, turn))
