"""Changes to families: each is a transaction that holds its family, tried again where a failure passes, and looked for where its commit was not heard of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from playhead.errors import AppendOutcomeUnknown, PlayheadError
from playhead.store.postgres.address import Book
from playhead.store.postgres.failures import is_lost
from playhead.store.postgres.family import Family, mains, new_id
from playhead.store.postgres.keys import Texts, name_key
from playhead.store.postgres.retry import Patience
from playhead.store.postgres.session import Link, Session
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.rows.statements import statements
from playhead.store.rules.work import Work, Writing


@dataclass(slots=True)
class Change:
    """Something to do to the family of a tape; `root` is the name of its first tape. Where there is no such family it is made, or, unless `makes`, `do` is given None.

    `names` are the tapes that are looked at, as far as it is known before; `first` is what is written before the family is held.
    """

    root: str
    do: Callable[[Any], Any]
    makes: bool = True
    names: Sequence[str] = ()
    first: Callable[[Session], None] | None = None


class _Tried(NamedTuple):
    """A piece of work that was committed as far as we know: its family, its id there, and what came of it."""

    root_id: UUID
    work: UUID
    result: Any
    known: Any


class Changer:
    """Makes changes on one connection."""

    def __init__(self, link: Link, book: Book) -> None:
        self._link = link
        self._book = book
        self._sql = statements("postgres/family")
        self._ends = statements("postgres/connection")
        self._tried: _Tried | None = None
        self._commits = False

    def make(self, change: Change) -> Any:
        """Make a change and return what came of it. Raises what it is refused with; AppendOutcomeUnknown where nobody can say whether it was made."""
        self._tried = None
        patience = Patience(self._link)
        while True:
            self._commits = False
            try:
                return self._attempt(self._link.session(), change)
            except psycopg.Error as exc:
                if self._commits and not is_lost(exc):
                    self._tried = None
                try:
                    patience.wait(exc)
                except PlayheadError as refusal:
                    if self._tried is None:
                        raise
                    raise unknown(refusal, self._link.server.label) from exc

    def _attempt(self, session: Session, change: Change) -> Any:
        with session.undone(), session.pipeline():
            session.send(self._ends["begin"])
            landed = self._landed(session)
            family = None if landed else self._begun_with(session, change)
            landed = landed or self._landed_here(family)
            if landed is not None:
                session.send(self._ends["rollback"])
                self._note(landed.known)
                return landed.result
            self._tried = None
            result = change.do(family)
            known = None if family is None else (family.root_id, change.root, set(family.touched), family.known())
            self._finish(session, family, result, known)
        self._note(known)
        return result

    def _finish(self, session: Session, family: Family | None, result: Any, known: Any) -> None:
        if family is None:
            session.send(self._ends["rollback"])
            return
        family.finish()
        self._tried = _Tried(family.root_id, self._work, result, known)
        self._commits = True
        session.send(self._ends["commit"])

    def _landed(self, session: Session) -> _Tried | None:
        """Return the work that was tried before where it was committed after all; waits until it is no more under way."""
        tried = self._tried
        if tried is None:
            return None
        found = session.send(self._sql["works"], {"root": tried.root_id}).fetchone()
        return tried if found is not None and tried.work in found[0] else None

    def _landed_here(self, family: Family | None) -> _Tried | None:
        """Return the work that was tried before where it made the family that is held."""
        tried = self._tried
        return tried if tried is not None and family is not None and family.root_id == tried.root_id and tried.work in self._works else None

    def _begun_with(self, session: Session, change: Change) -> Family | None:
        if change.first is not None:
            change.first(session)
        return self._held(session, change)

    def _held(self, session: Session, change: Change) -> Family | None:
        """Hold the family of a change, made where there is none."""
        key = name_key(change.root)
        self._work, self._works = new_id(), list[UUID]()
        known = self._book.roots.get(change.root)
        family = None if known is None else self._hold(session, known, key, change.names)
        while family is None:
            found = self._find(session, key)
            if found is None:
                if known is not None:
                    self._link.check_tables(session)
                if not change.makes:
                    return None
                family = self._begun(session, change)
            else:
                family = self._hold(session, found, key, change.names)
        return family

    def _find(self, session: Session, key: bytes) -> UUID | None:
        found = session.send(self._sql["find_family"], {"tenant": self._link.server.tenant, "name": key}).fetchone()
        return None if found is None else found[0]

    def _hold(self, session: Session, root_id: UUID, key: bytes, names: Sequence[str]) -> Family | None:
        """Hold a family and see where its tapes end, None where it is not the one of that name any more."""
        held = session.send(self._sql["hold_family"], {"root": root_id, "name": key, "work": self._work})
        wanted = mains(names)
        members = session.send(self._sql["members"], {"root": root_id, "names": Texts(map(name_key, wanted))}) if wanted else None
        found = held.fetchone()
        if found is None:
            return None
        self._works, last_no = found[0] or [], found[1]
        family = self._family(session, root_id, last_no)
        if members is not None:
            family.loaded(wanted, members.fetchall())
        return family

    def _begun(self, session: Session, change: Change) -> Family | None:
        """Make a family, None where somebody else did meanwhile."""
        root_id, key = new_id(), name_key(change.root)
        taken = session.send(self._sql["take_name"], {"tenant": self._link.server.tenant, "key": key, "name": change.root, "root": root_id}).fetchone()
        if taken is None:
            return None
        session.send(self._sql["begin_family"], {"root": root_id, "name": key, "work": self._work})
        family = self._family(session, root_id, 0)
        family.loaded(mains(change.names), ())
        return family

    def _family(self, session: Session, root_id: UUID, last_no: int) -> Family:
        return Family(session, root_id=root_id, last_no=last_no, tenant=self._link.server.tenant, label=self._link.server.label)

    def _note(self, known: Any) -> None:
        if known is None:
            return
        root_id, root, touched, tails = known
        self._book.forget(*touched)
        self._book.roots[root] = root_id
        for name, tail in tails.items():
            self._book.note(name, (root_id, tail.tape_no, tail.generation, tail.before, tail.lineage, tail.turn))
            self._book.seen[name] = tail.seq


def unknown(refusal: PlayheadError, label: str, *, work: Work | None = None) -> AppendOutcomeUnknown:
    """Return the error of a commit of which nobody can say whether it was kept, with what to ask for: the uids and keys of the entries."""
    written = [step for step in work.steps if isinstance(step, Writing)] if work is not None else []
    uids = [meta["uid"] for step in written for meta in step.metas]
    keys = [meta[IDEMPOTENCY_KEY] for step in written for meta in step.metas if IDEMPOTENCY_KEY in meta]
    return AppendOutcomeUnknown(
        f"The connection to {label} was lost while something was committed, and the server could not be asked whether it was kept ({refusal.message}); "
        "once it answers, look with store.find(tape, uids=..., keys=...) for the entries that this error's details name, or do the same again where they have idempotency keys.",
        store=label,
        uids=uids,
        keys=keys,
    )
