"""The blocking tape, and the blocking branch."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.store.archiving.retention import ArchiveReport
from playhead.store.change import BranchRecord
from playhead.store.protocol import AsyncTapeStore, Head, TapeStore
from playhead.store.protocol import WholeStore as AsyncWholeStore
from playhead.store.ranked.answering import LIMIT
from playhead.store.ranked.hit import Hit
from playhead.sync.portal import given, wait
from playhead.sync.query import TapeQuery
from playhead.sync.scope import Scope, each, entered
from playhead.sync.store import WholeStore
from playhead.tape.delta import APPEND, Policy
from playhead.tape.leasing import HeldLease
from playhead.tape.merging import MergeReport
from playhead.tape.recovery import Recover, Recovered
from playhead.tape.sidecar import Mounts
from playhead.tape.summary import AnchorSummary, TapeInfo
from playhead.tape.tape import Branch as AsyncBranch
from playhead.tape.tape import Tape as AsyncTape
from playhead.view.amends import Amends
from playhead.view.context import AnchorChoice, TapeContext
from playhead.view.plan import Units
from playhead.view.tokens import Counter
from playhead.view.units import Unit


class Tape:
    """One tape of a store, read through one context; `with` closes the store where `open_tape` opened it.

    `asynchronous` is the handle behind it.
    """

    asynchronous: AsyncTape

    def __init__(
        self,
        store: TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore,
        name: str | None = None,
        *,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        archives: str | Path | None = None,
        sidecars: Iterable[object] = (),
    ) -> None:
        self.asynchronous = AsyncTape(given(store), name, context=context, counter=counter, archives=archives, sidecars=sidecars)

    @classmethod
    def of(cls, asynchronous: AsyncTape) -> Self:
        """Return the twin of what is there already; of a branch, a `Branch`."""
        kind: Any = Branch if isinstance(asynchronous, AsyncBranch) else cls
        twin: Self = kind.__new__(kind)
        twin.asynchronous = asynchronous
        return twin

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    @property
    def store(self) -> WholeStore:
        """The store behind it."""
        return WholeStore(self.asynchronous.store)

    @property
    def context(self) -> TapeContext:
        """How the handle reads."""
        return self.asynchronous.context

    @property
    def counter(self) -> Counter:
        """What counts tokens."""
        return self.asynchronous.counter

    @property
    def archives(self) -> Path | None:
        """Where `reset(archive=True)` writes."""
        return self.asynchronous.archives

    @property
    def sidecars(self) -> Mounts:
        """The abilities that are mounted beside it, by name."""
        return self.asynchronous.sidecars

    def aclose(self) -> None:
        """Close the store where this handle opened it."""
        wait(self.asynchronous.aclose)

    @property
    def name(self) -> str:
        """The tape's name. Raises TapeNotScoped on a handle without one."""
        return self.asynchronous.name

    def head(self) -> Head:
        """Return where the tape ends: its generation and the id of its last entry; for a handle of the past, where that ends."""
        return wait(self.asynchronous.head)

    @property
    def states(self) -> dict[str, object]:
        """What strategies want to be told at their next compile of this tape, by name; it lives as long as this handle and its twins."""
        return self.asynchronous.states

    def query(self) -> TapeQuery:
        """Return the query for all entries, to narrow by chaining."""
        return TapeQuery(self.asynchronous.query())

    def search(
        self,
        text: str,
        *,
        kinds: Iterable[str] | None = None,
        after_anchor: AnchorChoice = None,
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = LIMIT,
        smoothed: bool = False,
    ) -> list[Hit]:
        """Return the entries that are most about a text, the best first, of equally good ones the newest; of equal payloads one.

        Words count in any form and order, the rarer the more; one that stands nowhere is looked for with a typo or two.
        `after_anchor` is an anchor's name or LAST_ANCHOR, `since` and `until` are both included, a bare date is its whole day.
        With `smoothed` what was said just before and behind a hit gets a share of its score: answers that do not repeat the
        words of their question are found too. None for a text without words.
        Raises NoAnchors, AnchorNotFound, InvalidDate, InvalidInput.
        """
        return wait(self.asynchronous.search, text, kinds=kinds, after_anchor=after_anchor, since=since, until=until, limit=limit, smoothed=smoothed)

    def anchors(self, limit: int = 20) -> list[AnchorSummary]:
        """Return the last `limit` anchors, oldest first; none for 0."""
        return wait(self.asynchronous.anchors, limit)

    def info(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        return wait(self.asynchronous.info)

    def read(self, *, tail_tokens: int | None = None, head_tokens: int = 0, folded: Iterable[tuple[int, int]] = ()) -> Units:
        """Load the view as units, priced: its tail up to `tail_tokens` (None: all), its first `head_tokens`, its lead.

        `folded` are runs of entries, first and last id, that need not be loaded: those inside the view become gaps. A selector of
        the user's own is given the whole view all the same.
        """
        return wait(self.asynchronous.read, tail_tokens=tail_tokens, head_tokens=head_tokens, folded=folded)

    def read_range(self, first: int, last: int) -> tuple[Unit, ...]:
        """Load the units of the entries `first` to `last` as the context shows them, also where its view starts behind them.

        Ready-made selectors see these units alone; of what a selector of the user's own makes of the whole view, the units whose
        entries all lie there are returned.
        """
        return wait(self.asynchronous.read_range, first, last)

    def amends(self) -> Amends:
        """Return which entries change earlier ones, as the tape is now, also for a handle of the past; costs what came since the last look."""
        return wait(self.asynchronous.amends)

    def boundary(self) -> TapeEntry | None:
        """Return the anchor that reading starts behind, None where the view starts with the tape. Raises AnchorNotFound."""
        return wait(self.asynchronous.boundary)

    def read_messages(self) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        return wait(self.asynchronous.read_messages)

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

    def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id.

        `key` makes it idempotent: the same key again returns the entry that stands. `meta` is added to the entry's.
        A user's message that holds both tool results and words is two entries; the last is returned.
        Raises Conflict where the tape does not end at `expected_head`, BranchClosed, LeaseLost; then nothing was written.
        """
        return wait(self.asynchronous.append, item, expected_head=expected_head, key=key, **meta)

    def append_many(self, items: Iterable[Message | TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Keep all items or none, in order, and return them as stored."""
        return wait(self.asynchronous.append_many, items, expected_head=expected_head)

    def append_event(self, name: str, data: object = None, *, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep something that happened beside the conversation; `key` as for `append`."""
        return wait(self.asynchronous.append_event, name, data, key=key, **meta)

    def record_chat(
        self,
        *,
        run_id: str,
        system_prompt: str | None = None,
        context_error: Exception | None = None,
        new_messages: Iterable[Message | TapeEntry] = (),
        tool_calls: Iterable[Mapping[str, object]] = (),
        tool_results: Iterable[object] | None = None,
        error: Exception | None = None,
        response_text: str | None = None,
        usage: Mapping[str, object] | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> tuple[TapeEntry, ...]:
        """Keep what one call of a model was and gave, all of it or nothing: see `chat_entries` for the order."""
        return wait(
            self.asynchronous.record_chat,
            run_id=run_id,
            system_prompt=system_prompt,
            context_error=context_error,
            new_messages=new_messages,
            tool_calls=tool_calls,
            tool_results=tool_results,
            error=error,
            response_text=response_text,
            usage=usage,
            provider=provider,
            model=model,
        )

    def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it.

        Reading then starts behind the anchor; everything before stays. Both are written or neither.
        """
        return wait(self.asynchronous.handoff, name, state, key=key, **meta)

    def bootstrap(self) -> bool:
        """Give a tape without any anchor its first one, `session/start`; returns whether it wrote it. Safe to race.

        It hides nothing: where the tape holds something already, its views go on to start with its first entry.
        """
        return wait(self.asynchronous.bootstrap)

    def reset(self, *, archive: bool | str | Path = False) -> str:
        """Remove all entries, those of the sidecars too, and start anew; with `archive` (a directory, or True for the handle's) keep them in files first.

        Returns "ok" or "Archived: PATH". A sidecar whose archive fails is not reset, and an event says so. On a branch this is
        isolated: its parent stays as it is until the merge, which replaces what the branch was forked from, and nothing else.
        An entry that comes while the archive is written is archived too; where they never stop coming, Conflict is raised and
        nothing was removed.
        """
        return wait(self.asynchronous.reset, archive=archive)

    def fork(self, at: int | TapeEntry | None = None, *, name: str | None = None, owner: str | None = None) -> Branch:
        """Return a new branch that shows this tape up to the entry `at` (None: as it ends now) and goes on by itself.

        It costs the same at any length, is kept and listed until it is merged or discarded, and takes the sidecars with it. `name`
        is its label in the tape's family, a new one where it is left out. `owner` is who drives it (`fork_tape` sees to that).
        Raises InvalidInput for an entry that is not there, NameTaken.
        """
        return Branch.of(wait(self.asynchronous.fork, at, name=name, owner=owner))

    def fork_tape(self, *, merge_back: bool = True, policy: Policy = APPEND, name: str | None = None, at: int | TapeEntry | None = None) -> Scope[Branch]:
        """Return a branch for the length of a `with` block, merged at its end, however it ends; or discarded."""
        return Scope(self.asynchronous.fork_tape(merge_back=merge_back, policy=policy, name=name, at=at), Branch.of)

    def branches(self) -> list[BranchRecord]:
        """Return the branches of the tape's family, those that were merged or discarded too, in the order they were made."""
        return wait(self.asynchronous.branches)

    def branch(self, name: str) -> Branch:
        """Return the handle of a branch of the tape's family, by its label or its whole name. Raises BranchNotFound."""
        return Branch.of(wait(self.asynchronous.branch, name))

    def recover(self, how: Recover = "merge") -> list[Recovered]:
        """Deal with each branch whose driver died: "merge" what it wrote, "keep" it open, or "discard" it."""
        return wait(self.asynchronous.recover, how)

    def gc(self, *, older_than: timedelta = timedelta(0)) -> list[str]:
        """Remove what is left of branches that were merged or discarded so long ago and that none was forked from; return their names."""
        return wait(self.asynchronous.gc, older_than=older_than)

    def rename(self, name: str) -> Tape:
        """Give the tape another name, its branches and sidecars with it, or a branch another label; return the handle under that name.

        Handles made before keep the old name, under which there is nothing now; a `fork_tape()` block that is inside finds its branch
        at its end. Raises NameTaken, TapeNotFound.
        """
        return Tape.of(wait(self.asynchronous.rename, name))

    def archive(self, *, below: str | int | TapeEntry | None = None, older_than: timedelta | None = None) -> ArchiveReport:
        """Compress the entries before an anchor or entry, or those older than a time, and those of its sidecars by then; return what was moved.

        They stay in the store, and every read reaches them as before. What the tape shares with another one is left to that.
        Raises InvalidInput unless exactly one of both is given, AnchorNotFound, StoreError where the store does not archive.
        """
        return wait(self.asynchronous.archive, below=below, older_than=older_than)

    def copy(self, name: str, *, store: TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore | None = None) -> Tape:
        """Copy what the tape shows, and its sidecars, to a tape of its own, in this store or another; return its handle.

        Raises TapeNotFound, NameTaken.
        """
        return Tape.of(wait(self.asynchronous.copy, name, store=given(store)))

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

    def archive_sidecar(self, name: str, *, reason: str = "manual", directory: str | Path | None = None) -> TapeEntry:
        """Keep what a mounted sidecar holds in a file, and return the event that records it on the tape, also where it failed."""
        return wait(self.asynchronous.archive_sidecar, name, reason=reason, directory=directory)

    def reset_sidecar(self, name: str, *, archive: bool | str | Path = False, reason: str = "gc") -> tuple[TapeEntry, ...]:
        """Empty a mounted sidecar, and return the events that record it on the tape; where its archive fails nothing is removed."""
        return wait(self.asynchronous.reset_sidecar, name, archive=archive, reason=reason)

    def lock(self) -> Scope[None]:
        """Exclude all others who lock this tape, in every task, thread and process, inside `with tape.lock():`."""
        return Scope(self.asynchronous.lock())

    def lease(self, seconds: float = 30.0, *, owner: str | None = None) -> Scope[Tape]:
        """Lease the tape for the length of a `with` block, whose handle can append until another holder has come.

        Appends keep the lease alive. It passes to another `seconds` after the last one, should this process stop. Raises LeaseHeld.
        """
        return Scope(self.asynchronous.lease(seconds, owner=owner), Tape.of)

    def blob_refs(self) -> Iterator[str]:
        """Yield the digests of the blobs that the entries of the tape and of its sidecars refer to, each once, whether they are kept or not."""
        return each(self.asynchronous.blob_refs())

    def follow(self, consumer: str | None = None, *, after: int | None = None, pause: float = 0.2) -> Iterator[TapeEntry]:
        """Yield entries as they come, without end: those behind the place where `consumer` was, or behind `after`, or new ones.

        Each is seen at least once by a named consumer, whatever it dies of. `pause` is the longest time between two looks, in seconds.
        """
        return each(self.asynchronous.follow(consumer, after=after, pause=pause))


class Branch(Tape):
    """A tape that was forked from another, to be merged or discarded."""

    asynchronous: AsyncBranch

    def record(self) -> BranchRecord:
        """Return what is known of the branch: its parent, where it left it, its state. Raises BranchNotFound."""
        return wait(self.asynchronous.record)

    def delta(self) -> Sequence[TapeEntry]:
        """Return the entries that the branch has added."""
        return wait(self.asynchronous.delta)

    def merge(self, policy: Policy = APPEND, *, summary: str | Message | TapeEntry | None = None, seal: bool = True) -> MergeReport:
        """Bring what the branch added back to the tape it was forked from, sidecars too, all at once, and close it; again changes nothing.

        "append": behind what the parent has now, in one block. "fast-forward": only where the parent has not changed since, else
        Conflict. "squash": `summary` in place of the entries, which stay readable here. A function is given the Delta and returns what
        to append. With `seal=False` the branch stays open, and its next merge brings what it adds from here on.
        Raises BranchClosed where it was discarded, InvalidInput where it was reset and is not sealed.
        """
        return wait(self.asynchronous.merge, policy, summary=summary, seal=seal)

    def discard(self) -> None:
        """Close the branch so that nothing of it comes back; again changes nothing. Raises BranchClosed where it was merged."""
        wait(self.asynchronous.discard)
