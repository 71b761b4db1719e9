"""The blocking tape, and the blocking branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Self, cast

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.store.retention import ArchiveReport
from playhead.sync.portal import blocking, wait
from playhead.sync.query import TapeQuery
from playhead.sync.scope import Scope, each
from playhead.tape import tape as tapes
from playhead.tape.delta import APPEND, Policy
from playhead.tape.leasing import HeldLease
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


class Tape:
    """One tape of a store, read through one context; `with` closes the store where `open_tape` opened it.

    `asynchronous` is the handle behind it.
    """

    def __init__(
        self,
        store: TapeStore | AsyncTapeStore | WholeStore,
        name: str | None = None,
        *,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        archives: str | Path | None = None,
        sidecars: Iterable[object] = (),
    ) -> None:
        self.asynchronous = tapes.Tape(store, name, context=context, counter=counter, archives=archives, sidecars=sidecars)

    @staticmethod
    def of(tape: tapes.Tape) -> Tape:
        """Return the blocking twin of a handle."""
        kind = Branch if isinstance(tape, tapes.Branch) else Tape
        twin = kind.__new__(kind)
        twin.asynchronous = tape
        return twin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.aclose()

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    @property
    def name(self) -> str:
        """The tape's name. Raises TapeNotScoped on a handle without one."""
        return self.asynchronous.name

    @property
    def store(self) -> WholeStore:
        """The store behind it, whose methods are to be awaited."""
        return self.asynchronous.store

    @property
    def context(self) -> TapeContext:
        """How the handle reads."""
        return self.asynchronous.context

    @property
    def states(self) -> dict[str, object]:
        """What strategies want to be told at their next compile of this tape, by name."""
        return self.asynchronous.states

    def scoped(self, name: str, context: TapeContext | None = None) -> Tape:
        """Return a handle for a tape of the same store; for the name of a branch, a `Branch`."""
        return Tape.of(self.asynchronous.scoped(name, context))

    def with_context(self, context: TapeContext) -> Tape:
        """Return another handle on the same tape that reads through `context`; this one stays as it is."""
        return Tape.of(self.asynchronous.with_context(context))

    def at(self, entry: int | TapeEntry) -> Tape:
        """Return a handle that reads the tape as it was when `entry` was its last; it cannot append."""
        return Tape.of(self.asynchronous.at(entry))

    def fenced(self, held: HeldLease) -> Tape:
        """Return a handle whose appends are refused once another holder has leased the tape."""
        return Tape.of(self.asynchronous.fenced(held))

    def query(self) -> TapeQuery:
        """Return the query for all entries, to narrow by chaining."""
        return TapeQuery(self.asynchronous.query())

    # Sidecars are mounted and named without waiting for a store.

    def mount(self, sidecar: object) -> None:
        """Mount an ability beside the tape: anything with a `name`. Raises InvalidInput where one of that name is mounted."""
        self.asynchronous.mount(sidecar)

    def unmount(self, name: str) -> None:
        """Take an ability away; what its tape holds stays."""
        self.asynchronous.unmount(name)

    def get_sidecar(self, name: str) -> object | None:
        """Return the ability mounted under a name, None where there is none."""
        return self.asynchronous.get_sidecar(name)

    def sidecar_tape_name(self, name: str) -> str:
        """Return the name of the tape behind a mounted sidecar. Raises KeyError where none of that name is mounted."""
        return self.asynchronous.sidecar_tape_name(name)

    def sidecar(self, name: str) -> Tape:
        """Return the handle of the tape behind a sidecar, mounted or not."""
        return Tape.of(self.asynchronous.sidecar(name))

    # What returns another handle returns its twin.

    def fork(self, at: int | TapeEntry | None = None, *, name: str | None = None, owner: str | None = None) -> Branch:
        """Return a new branch that shows this tape up to the entry `at` (None: as it ends now) and goes on by itself."""
        return cast(Branch, Tape.of(wait(self.asynchronous.fork, at, name=name, owner=owner)))

    def branch(self, name: str) -> Branch:
        """Return the handle of a branch of the tape's family, by its label or its whole name. Raises BranchNotFound."""
        return cast(Branch, Tape.of(wait(self.asynchronous.branch, name)))

    def rename(self, name: str) -> Tape:
        """Give the tape another name, its branches and sidecars with it, or a branch another label; return the handle under that name."""
        return Tape.of(wait(self.asynchronous.rename, name))

    def archive(self, *, below: str | int | TapeEntry | None = None, older_than: timedelta | None = None) -> ArchiveReport:
        """Compress the entries before an anchor or entry, or those older than a time, and those of its sidecars by then; return what was moved."""
        return wait(self.asynchronous.archive, below=below, older_than=older_than)

    def copy(self, name: str, *, store: TapeStore | AsyncTapeStore | WholeStore | None = None) -> Tape:
        """Copy what the tape shows, and its sidecars, to a tape of its own, in this store or another; return its handle."""
        return Tape.of(wait(self.asynchronous.copy, name, store=store))

    def fork_tape(self, *, merge_back: bool = True, policy: Policy = APPEND, name: str | None = None, at: int | TapeEntry | None = None) -> AbstractContextManager[Branch]:
        """Return a branch for the length of a `with` block, merged at its end, however it ends; or discarded."""
        return Scope(self.asynchronous.fork_tape(merge_back=merge_back, policy=policy, name=name, at=at), lambda branch: cast(Branch, Tape.of(branch)))

    def lock(self) -> AbstractContextManager[None]:
        """Exclude all others who lock this tape, in every task, thread and process, inside `with tape.lock():`."""
        return Scope(self.asynchronous.lock(), lambda nothing: nothing)

    def lease(self, seconds: float = 30.0, *, owner: str | None = None) -> AbstractContextManager[Tape]:
        """Lease the tape for the length of a `with` block, whose handle can append until another holder has come."""
        return Scope(self.asynchronous.lease(seconds, owner=owner), Tape.of)

    def blob_refs(self) -> Iterator[str]:
        """Yield the digests of the blobs that the entries of the tape and of its sidecars refer to, each once, whether they are kept or not."""
        return each(self.asynchronous.blob_refs(), at_a_time=100)

    def follow(self, consumer: str | None = None, *, after: int | None = None, pause: float = 0.2) -> Iterator[TapeEntry]:
        """Yield entries as they come, without end: those behind the place where `consumer` was, or behind `after`, or new ones."""
        return each(self.asynchronous.follow(consumer, after=after, pause=pause))

    # Written out: a checker cannot carry over the parameters of a method that takes any `**meta`.

    def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id."""
        return wait(self.asynchronous.append, item, expected_head=expected_head, key=key, **meta)

    def append_event(self, name: str, data: object = None, *, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep something that happened beside the conversation; `key` as for `append`."""
        return wait(self.asynchronous.append_event, name, data, key=key, **meta)

    def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it."""
        return wait(self.asynchronous.handoff, name, state, key=key, **meta)

    aclose = blocking(tapes.Tape.aclose)
    append_many = blocking(tapes.Tape.append_many)
    bootstrap = blocking(tapes.Tape.bootstrap)
    record_chat = blocking(tapes.Tape.record_chat)
    reset = blocking(tapes.Tape.reset)
    head = blocking(tapes.Tape.head)
    branches = blocking(tapes.Tape.branches)
    recover = blocking(tapes.Tape.recover)
    gc = blocking(tapes.Tape.gc)
    archive_sidecar = blocking(tapes.Tape.archive_sidecar)
    reset_sidecar = blocking(tapes.Tape.reset_sidecar)
    search = blocking(tapes.Tape.search)
    anchors = blocking(tapes.Tape.anchors)
    info = blocking(tapes.Tape.info)
    read = blocking(tapes.Tape.read)
    amends = blocking(tapes.Tape.amends)
    read_messages = blocking(tapes.Tape.read_messages)
    read_range = blocking(tapes.Tape.read_range)
    boundary = blocking(tapes.Tape.boundary)


class Branch(Tape):
    """A tape that was forked from another, to be merged or discarded."""

    record = blocking(tapes.Branch.record)
    delta = blocking(tapes.Branch.delta)
    merge = blocking(tapes.Branch.merge)
    discard = blocking(tapes.Branch.discard)
