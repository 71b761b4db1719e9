"""The tape handle: append, hand off, query, read, branch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from pathlib import Path

from playhead import clock
from playhead.entry.entry import ANCHOR, TapeEntry, stamped
from playhead.entry.message import Message
from playhead.errors import BranchNotFound, Conflict, InvalidInput, PlayheadError, ReadOnly
from playhead.store.adapt import adapt
from playhead.store.archiving.age import ago
from playhead.store.archiving.retention import ArchiveReport
from playhead.store.change import BranchRecord, Fork
from playhead.store.family import branch_name, kin_of, sidecar_name
from playhead.store.protocol import IDEMPOTENCY_KEY, AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.store.query import TapeQuery
from playhead.store.urls import open_store
from playhead.tape import keeping, merging, recovery, resetting
from playhead.tape.bell import ring
from playhead.tape.comparison import TapeDiff, compared
from playhead.tape.copying import copy
from playhead.tape.delta import APPEND, Policy
from playhead.tape.following import follow
from playhead.tape.handle import Handle, tape_name
from playhead.tape.leasing import HeldLease, LeaseScope
from playhead.tape.mentions import blob_refs
from playhead.tape.merging import MergeReport
from playhead.tape.record import chat_entries, entries_of, handoff_entries
from playhead.tape.recovery import Recover, Recovered
from playhead.tape.scope import ForkScope
from playhead.view.context import TapeContext
from playhead.view.pieces import BOOTSTRAP, OWNER
from playhead.view.tokens import Counter


class Tape(Handle):
    """One tape of a store, read through one context.

    Making a handle writes nothing. Handles of the same name show the same tape. `sidecars` are mounted beside it, and beside its
    branches. `async with` closes the store at the end where the handle opened it itself (`open_tape`).
    """

    _held: HeldLease | None = None

    async def __aenter__(self) -> Tape:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def scoped(self, name: str, context: TapeContext | None = None) -> Tape:
        """Return a handle for a tape of the same store; for the name of a branch, a `Branch`."""
        kind = Branch if kin_of(tape_name(name)).is_branch else Tape
        return self._handle(kind, name, context)

    def with_context(self, context: TapeContext) -> Tape:
        """Return another handle on the same tape that reads through `context`; this one stays as it is."""
        return self._twin(context=context)

    def at(self, entry: int | TapeEntry) -> Tape:
        """Return a handle that reads the tape as it was when `entry` was its last; it cannot append."""
        return self._twin(at=_entry_id(entry))

    def fenced(self, held: HeldLease) -> Tape:
        """Return a handle whose appends are refused once another holder has leased the tape."""
        return self._twin(held=held)

    def _handle(self, kind: type[Tape], name: str, context: TapeContext | None = None) -> Tape:
        return kind(self.store, name, context=context or self.context, counter=self.counter, archives=self.archives, sidecars=self.sidecars)

    def _twin(self, *, context: TapeContext | None = None, at: int | None = None, held: HeldLease | None = None) -> Tape:
        twin = self._handle(type(self), self.name, context)
        twin._reader, twin._at, twin._held = self._reader, self._at if at is None else at, self._held if held is None else held
        return twin

    # -- writing

    async def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id.

        `key` makes it idempotent: the same key again returns the entry that stands. `meta` is added to the entry's.
        A user's message that holds both tool results and words is two entries; the last is returned.
        Raises Conflict where the tape does not end at `expected_head`, BranchClosed, LeaseLost; then nothing was written.
        """
        if key is not None:
            meta[IDEMPOTENCY_KEY] = key
        stored = await self.append_many(entries_of(item, meta), expected_head=expected_head)
        return stored[-1]

    async def append_many(self, items: Iterable[Message | TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Keep all items or none, in order, and return them as stored."""
        self._check_writable()
        entries = [stamped(e) for item in items for e in entries_of(item, {})]
        if not entries:
            return ()
        if self._held is None:
            stored = await self.store.append_many(self.name, entries, expected_head=expected_head)
        else:
            await self._held.renew_if_due()
            stored = await self.store.append_many(self.name, entries, expected_head=expected_head, fence=self._held.epoch)
        await self._committed(stored)
        return stored

    async def _committed(self, entries: Sequence[TapeEntry]) -> None:
        """Tell who follows the tape and the sidecars that listen of entries that were stored; a sidecar that fails is noted, as it cannot refuse."""
        ring(self.store, self.name)
        failed = await self.sidecars.tell(self, entries) if entries else ()
        if failed:
            with suppress(PlayheadError):  # what was to be told of stands
                await self.store.append_many(self.name, [stamped(event) for event in failed])

    async def append_event(self, name: str, data: object = None, *, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep something that happened beside the conversation; `key` as for `append`."""
        return await self.append(TapeEntry.event(name, data, **meta), key=key)

    async def record_chat(
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
        entries = chat_entries(
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
        return await self.append_many(entries)

    async def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it.

        Reading then starts behind the anchor; everything before stays. Both are written or neither.
        """
        if key is not None:
            meta[IDEMPOTENCY_KEY] = key
        anchor, event = await self.append_many(handoff_entries(name, state, meta))
        return anchor, event

    async def bootstrap(self) -> bool:
        """Give a tape without any anchor its first one, `session/start`; returns whether it wrote it. Safe to race.

        It hides nothing: where the tape holds something already, its views go on to start with its first entry.
        """
        while True:
            head = await self.head()
            if await self.store.fetch_all(TapeQuery(tape=self.name).kinds(ANCHOR).newest_first().limit(1)):
                return False
            try:
                await self.append_many(handoff_entries(BOOTSTRAP, OWNER, {}), expected_head=head)
            except Conflict:
                continue
            return True

    async def reset(self, *, archive: bool | str | Path = False) -> str:
        """Remove all entries, those of the sidecars too, and start anew; with `archive` (a directory, or True for the handle's) keep them in files first.

        Returns "ok" or "Archived: PATH". A sidecar whose archive fails is not reset, and an event says so. On a branch this is
        isolated: its parent stays as it is until the merge, which replaces what the branch was forked from, and nothing else.
        An entry that comes while the archive is written is archived too; where they never stop coming, Conflict is raised and
        nothing was removed.
        """
        self._check_writable()
        path = await resetting.reset(self.store, self.name, directory=self._directory(archive))
        ring(self.store, self.name)
        return "ok" if path is None else f"Archived: {path}"

    def _check_writable(self) -> None:
        if self._at is not None:
            raise ReadOnly(f"This handle reads tape '{self.name}' as it was at entry {self._at}; write through a handle of the tape itself.")

    def _directory(self, archive: object) -> Path | None:
        """Return where to archive to, None where that is not wanted."""
        if archive is False:
            return None
        directory = self.archives if archive is True else Path(str(archive))
        if directory is None:
            raise InvalidInput("Name the directory to archive to: reset(archive=DIRECTORY), or make the handle with archives=DIRECTORY.")
        return directory

    # -- branches

    async def fork(self, at: int | TapeEntry | None = None, *, name: str | None = None, owner: str | None = None) -> Branch:
        """Return a new branch that shows this tape up to the entry `at` (None: as it ends now) and goes on by itself.

        It costs the same at any length, is kept and listed until it is merged or discarded, and takes the sidecars with it. `name`
        is its label in the tape's family, a new one where it is left out. `owner` is who drives it (`fork_tape` sees to that).
        Raises InvalidInput for an entry that is not there, NameTaken.
        """
        place = self._at if at is None else _entry_id(at, lowest=0)
        if place is not None and self._at is not None and place > self._at:
            raise InvalidInput(f"This handle shows tape '{self.name}' up to entry {self._at}, so it is forked there or before, not at {place}.")
        branch = branch_name(self.name, name or clock.new_uid().replace("-", "")[-12:])
        await self.store.apply([Fork(tape=branch, parent=self.name, at=place, owner=owner)])
        handle = self._handle(Branch, branch)
        assert isinstance(handle, Branch)  # noqa: S101 - for type checkers
        return handle

    def fork_tape(self, *, merge_back: bool = True, policy: Policy = APPEND, name: str | None = None, at: int | TapeEntry | None = None) -> ForkScope:
        """Return a branch for the length of an `async with` block, merged at its end, however it ends; or discarded."""
        return ForkScope(self, merge_back=merge_back, policy=policy, name=name, at=None if at is None else _entry_id(at, lowest=0))

    async def branches(self) -> list[BranchRecord]:
        """Return the branches of the tape's family, those that were merged or discarded too, in the order they were made."""
        return await self.store.branches(self.name)

    async def branch(self, name: str) -> Branch:
        """Return the handle of a branch of the tape's family, by its label or its whole name. Raises BranchNotFound."""
        whole = name if kin_of(name).branch is not None else branch_name(self.name, name)
        if await self.store.branch(whole) is None:
            raise BranchNotFound(whole)
        handle = self._handle(Branch, whole)
        assert isinstance(handle, Branch)  # noqa: S101 - for type checkers
        return handle

    async def recover(self, how: Recover = "merge") -> list[Recovered]:
        """Deal with each branch whose driver died: "merge" what it wrote, "keep" it open, or "discard" it."""
        recovered = await recovery.recover(self.store, self.name, how=how)
        for report in (each.report for each in recovered if each.report is not None):
            await self._came_back(report)
        return recovered

    async def _came_back(self, report: MergeReport) -> None:
        if report.event is not None:
            await self.scoped(report.parent)._committed(report.entries)

    async def gc(self, *, older_than: timedelta = timedelta(0)) -> list[str]:
        """Remove what is left of branches that were merged or discarded so long ago and that none was forked from; return their names."""
        return await self.store.collect(kin_of(self.name).root, before=ago(older_than, what="An age"))

    async def rename(self, name: str) -> Tape:
        """Give the tape another name, its branches and sidecars with it, or a branch another label; return the handle under that name.

        Handles made before keep the old name, under which there is nothing now; a `fork_tape()` block that is inside finds its branch
        at its end. Raises NameTaken, TapeNotFound.
        """
        kin = kin_of(self.name)
        whole = branch_name(self.name, name) if kin.branch is not None and kin_of(name).branch is None else name
        await self.store.rename(self.name, whole)
        return self._handle(type(self), whole)

    async def archive(self, *, below: str | int | TapeEntry | None = None, older_than: timedelta | None = None) -> ArchiveReport:
        """Compress the entries before an anchor or entry, or those older than a time, and those of its sidecars by then; return what was moved.

        They stay in the store, and every read reaches them as before. What the tape shares with another one is left to that.
        Raises InvalidInput unless exactly one of both is given, AnchorNotFound, StoreError where the store does not archive.
        """
        self._check_writable()
        return await keeping.archive(self.store, self.name, below=below, older_than=older_than)

    async def copy(self, name: str, *, store: TapeStore | AsyncTapeStore | WholeStore | None = None) -> Tape:
        """Copy what the tape shows, and its sidecars, to a tape of its own, in this store or another; return its handle.

        Raises TapeNotFound, NameTaken.
        """
        target = self.store if store is None else adapt(store)
        await copy(self.store, self.name, target=target, name=name)
        return Tape(target, name, context=self.context, counter=self.counter, archives=self.archives, sidecars=self.sidecars)

    # -- sidecars

    def mount(self, sidecar: object) -> None:
        """Mount an ability beside the tape: anything with a `name`. Raises InvalidInput where one of that name is mounted."""
        self.sidecars.mount(sidecar)

    def unmount(self, name: str) -> None:
        """Take an ability away; what its tape holds stays."""
        self.sidecars.unmount(name)

    def get_sidecar(self, name: str) -> object | None:
        """Return the ability mounted under a name, None where there is none."""
        return self.sidecars.get(name)

    def sidecar_tape_name(self, name: str) -> str:
        """Return the name of the tape behind a mounted sidecar. Raises KeyError where none of that name is mounted."""
        return self.sidecars.tape_name(self.name, name)

    def sidecar(self, name: str) -> Tape:
        """Return the handle of the tape behind a sidecar, mounted or not."""
        return Tape(self.store, sidecar_name(self.name, name), counter=self.counter, archives=self.archives)

    async def archive_sidecar(self, name: str, *, reason: str = "manual", directory: str | Path | None = None) -> TapeEntry:
        """Keep what a mounted sidecar holds in a file, and return the event that records it on the tape, also where it failed."""
        self.sidecar_tape_name(name)
        return await resetting.archive_sidecar(self.store, self.name, name, directory=self._directory(directory or True), reason=reason)

    async def reset_sidecar(self, name: str, *, archive: bool | str | Path = False, reason: str = "gc") -> tuple[TapeEntry, ...]:
        """Empty a mounted sidecar, and return the events that record it on the tape; where its archive fails nothing is removed."""
        self.sidecar_tape_name(name)
        return await resetting.reset_sidecar(self.store, self.name, name, directory=self._directory(archive), reason=reason)

    # -- together with others

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock this tape, in every task, thread and process, inside `async with tape.lock():`."""
        return self.store.lock(self.name)

    def lease(self, seconds: float = 30.0, *, owner: str | None = None) -> LeaseScope:
        """Lease the tape for the length of an `async with` block, whose handle can append until another holder has come.

        Appends keep the lease alive. It passes to another `seconds` after the last one, should this process stop. Raises LeaseHeld.
        """
        return LeaseScope(self, seconds=seconds, owner=owner)

    def blob_refs(self) -> AsyncIterator[str]:
        """Yield the digests of the blobs that the entries of the tape and of its sidecars refer to, each once, whether they are kept or not."""
        return blob_refs(self.store, self.query())

    def follow(self, consumer: str | None = None, *, after: int | None = None, pause: float = 0.2) -> AsyncIterator[TapeEntry]:
        """Yield entries as they come, without end: those behind the place where `consumer` was, or behind `after`, or new ones.

        Each is seen at least once by a named consumer, whatever it dies of. `pause` is the longest time between two looks, in seconds.
        """
        return follow(self.store, self.query(), consumer=consumer, after=after, pause=pause)


class Branch(Tape):
    """A tape that was forked from another: it shows what that one held then, and goes on by itself until it is merged or discarded."""

    async def record(self) -> BranchRecord:
        """Return what is known of the branch: its parent, where it left it, its state. Raises BranchNotFound."""
        record = await self.store.branch(self.name)
        if record is None:
            raise BranchNotFound(self.name)
        return record

    async def delta(self) -> Sequence[TapeEntry]:
        """Return the entries that the branch has added."""
        record, head = await self.record(), await self.head()
        query = self.query() if head.generation != record.base.generation else self.query().after(record.base.id)
        return [entry async for entry in query]

    async def merge(self, policy: Policy = APPEND, *, summary: str | Message | TapeEntry | None = None, seal: bool = True) -> MergeReport:
        """Bring what the branch added back to the tape it was forked from, sidecars too, all at once, and close it; again changes nothing.

        "append": behind what the parent has now, in one block. "fast-forward": only where the parent has not changed since, else
        Conflict. "squash": `summary` in place of the entries, which stay readable here. A function is given the Delta and returns what
        to append. With `seal=False` the branch stays open, and its next merge brings what it adds from here on.
        Raises BranchClosed where it was discarded, InvalidInput where it was reset and is not sealed.
        """
        report = await merging.merge(self.store, self.name, policy=policy, summary=summary, seal=seal, mounted=self.sidecars)
        await self._came_back(report)
        return report

    async def discard(self) -> None:
        """Close the branch so that nothing of it comes back; again changes nothing. Raises BranchClosed where it was merged."""
        await merging.discard(self.store, self.name)


async def diff(first: Tape, second: Tape) -> TapeDiff:
    """Return what two tapes share, such as a tape and its branch, and what one alone has; printing it shows the entries."""
    return await compared(first.query(), second.query())


async def copy_tape(tape: Tape, name: str, *, store: TapeStore | AsyncTapeStore | WholeStore | None = None) -> Tape:
    """Copy what a tape shows, and its sidecars, to a tape of its own; see `Tape.copy`."""
    return await tape.copy(name, store=store)


def open_tape(
    store: str | Path | TapeStore | AsyncTapeStore | WholeStore,
    name: str,
    *,
    context: TapeContext | None = None,
    counter: Counter | None = None,
    sidecars: Iterable[object] = (),
) -> Tape:
    """Return a handle for a tape of a store, given as one or by its URL; a store opened by URL is closed with the handle."""
    tape_name(name)
    kind = Branch if kin_of(name).is_branch else Tape
    if not isinstance(store, (str, Path)):
        return kind(store, name, context=context, counter=counter, sidecars=sidecars)
    tape = kind(open_store(str(store)), name, context=context, counter=counter, sidecars=sidecars)
    tape._owns_store = True
    return tape


def _entry_id(entry: int | TapeEntry, *, lowest: int = 1) -> int:
    id = entry.id if isinstance(entry, TapeEntry) else entry
    if not isinstance(id, int) or isinstance(id, bool) or id < lowest:
        raise InvalidInput(f"A tape is read or forked at an entry's id, a whole number from {lowest}, not {id!r}.")
    return id
