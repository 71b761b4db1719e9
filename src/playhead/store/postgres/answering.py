"""The threads of a PostgreSQL store that answer questions and make changes to families, each on a connection of its own."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from playhead.errors import AppendOutcomeUnknown, PlayheadError, StoreError
from playhead.store.concordance.spare import Spare
from playhead.store.concurrency.hop import Job, deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.parting import Load
from playhead.store.postgres.address import Book
from playhead.store.postgres.appending import Doubt
from playhead.store.postgres.blobs import keep
from playhead.store.postgres.changing import Change, Changer, unknown
from playhead.store.postgres.doubts import settled
from playhead.store.postgres.failures import busy, typed
from playhead.store.postgres.notices import Notifier
from playhead.store.postgres.purging import purge
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.retry import retried
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Link, Prepared
from playhead.store.postgres.tapes import names_of
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.work import Rewriting, Work, Writing, prepared


@dataclass(slots=True)
class Question:
    """Something to be read, or written so that it may be written twice; `until` is the instant, by the monotonic clock, after which nobody waits for it."""

    ask: Callable[[Reading], Any]
    until: float


@dataclass(slots=True)
class Changes:
    """Changes to the family of a tape; `doubt` is what is left of an append that one statement did not make."""

    root: str
    work: Work
    doubt: Doubt | None = None


@dataclass(slots=True)
class Deed:
    """Something else that is done to the family of a tape, and the tapes that it moves."""

    root: str
    do: Callable[[Any], Any]
    makes: bool = True
    names: tuple[str, ...] = ()
    purges: tuple[str, ...] = ()


def answer(queue: Queue, *, server: Server, prepared: Prepared, book: Book, load: Load) -> None:
    """Answer the questions of a queue until it ends."""
    link = Link(server, prepared=prepared)
    try:
        for job in queue:
            _settle(job, server, partial(_answered, link, book, load, job.work))
            deliver((job,))
    finally:
        link.drop()


def _answered(link: Link, book: Book, load: Load, question: Question) -> Any:
    if time.monotonic() > question.until:
        raise busy(link.server.label, f"all its connections were in use for {link.server.timeout:g} seconds")
    return retried(link, lambda session: question.ask(Reading(session, book, link.server.tenant, load)))


class Registrar:
    """Makes the changes of a queue, one after the other, and removes what is out of use while nothing waits."""

    def __init__(self, link: Link, book: Book, *, notifier: Notifier, spare: Spare) -> None:
        self._link = link
        self._notifier = notifier
        self._spare = spare
        self._changer = Changer(link, book)
        self._horizon = Horizon()
        self._purging: set[str] = set()

    def serve(self, queue: Queue) -> None:
        """Make the changes until the queue ends."""
        try:
            for job in queue:
                if not job.ticket.done():
                    _settle(job, self._link.server, partial(self._done, job.work))
                deliver((job,))
                self._tidy(queue)
        finally:
            self._link.drop()

    def _done(self, asked: Changes | Deed) -> Any:
        if isinstance(asked, Deed):
            done = self._changer.make(Change(asked.root, asked.do, asked.makes, asked.names))
            self._purging.update(asked.purges)
            return done
        if (refusal := prepared(asked.work, limit=self._link.server.inline_limit)) is not None:
            raise refusal
        started = time.monotonic()
        done = self._made(asked)
        self._spare.wrote(sum(len(step.rows) for step in asked.work.steps if isinstance(step, Writing)), seconds=time.monotonic() - started)
        self._notifier.note(step.tape for step in asked.work.steps)
        if any(isinstance(step, Rewriting) for step in asked.work.steps):
            self._purging.add(asked.root)
        return done

    def _made(self, asked: Changes) -> Any:
        do = partial(settled, work=asked.work, doubt=asked.doubt, horizon=self._horizon)
        try:
            return self._changer.make(Change(asked.root, do, names=names_of(asked.work), first=partial(keep, steps=asked.work.steps, tenant=self._link.server.tenant)))
        except StoreError as refusal:
            if isinstance(refusal, AppendOutcomeUnknown) or (asked.doubt is not None and asked.doubt.sent is not None):
                raise unknown(refusal, self._link.server.label, work=asked.work) from refusal
            raise

    def _tidy(self, queue: Queue) -> None:
        """Tell what has moved; remove what is out of use while nothing waits."""
        self._notifier.tell(self._link)
        while self._purging and not len(queue):
            root = next(iter(self._purging))
            try:
                more = self._changer.make(Change(root, purge, makes=False))
            except PlayheadError:
                more = False
            if not more:
                self._purging.discard(root)


def _settle(job: Job, server: Server, do: Callable[[], Any]) -> None:
    try:
        job.result = do()
    except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
        job.error = typed(exc, server=server)
        if job.error is not exc:
            job.error.__cause__ = exc
        traceback.clear_frames(exc.__traceback__)
