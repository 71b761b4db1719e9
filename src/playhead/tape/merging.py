"""Merging: what a branch added comes back to the tape it was forked from, with its sidecars, all at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from playhead import clock
from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.message import Message
from playhead.errors import AppendOutcomeUnknown, BranchClosed, BranchNotFound, Conflict, InvalidInput, PlayheadError, StoreBusy, StoreUnavailable
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, BranchRecord, Change, Close, Reset
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head, WholeStore
from playhead.tape.delta import APPEND, FAST_FORWARD, SQUASH, Delta, Policy, between, check_policy, chosen, delta_of, new_to

MERGE = "merge"
"""The name of the event that ends every merge."""

_BEGUN = "merge.begun"
"""Reads a branch, as a consumer does, from its first merge on that leaves it open; MERGE reads it up to where it was merged."""

_ATTEMPTS, _UNHURRIED = 50, 8
"""How often a merge is tried where tapes move meanwhile, and how often before it no longer asks that the parent stand still."""

_NOT_THE_SIDECARS = (StoreBusy, StoreUnavailable, AppendOutcomeUnknown, BranchClosed, BranchNotFound)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What a merge did: the entries that came back as they stand on the parent, and the event behind them, None where nothing came.

    `moved` says whether the parent had changed since the fork. `failed` holds, by name, why a sidecar could not be merged; what it
    added stays readable on the closed branch. A merge that was made before reports no entries.
    """

    branch: str
    parent: str
    policy: str
    entries: tuple[TapeEntry, ...] = ()
    event: TapeEntry | None = None
    moved: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Side:
    """What a sidecar's merge comes to: a change, or why there is none; `head` is where the sidecar of the branch ends."""

    name: str
    head: Head | None = None
    change: Change | None = None
    error: str | None = None


async def merge(store: WholeStore, branch: str, *, policy: Policy = APPEND, summary: str | Message | TapeEntry | None = None, seal: bool = True, mounted: Collection[str] = ()) -> MergeReport:
    """Bring what a branch added back to the tape it was forked from, with its sidecars, and close it; again changes nothing.

    "append": behind what the parent has now, in one block. "fast-forward": only where the parent has not changed since, else
    Conflict. "squash": `summary` in place of the entries, which stay on the closed branch. A callable is given the Delta and
    returns what to append. A branch that was reset replaces what it was forked from, but nothing that came since.
    With `seal=False` the branch stays open, and its next merge brings what it adds from here on. `mounted` names sidecars that may
    get their first entry meanwhile.
    Raises BranchNotFound, BranchClosed where it was discarded, Conflict, InvalidInput for a branch that was reset and is not sealed.
    """
    check_policy(policy, summary)
    for attempt in range(_ATTEMPTS):
        record = await _record(store, branch)
        parent = await _open_parent(store, record)
        if record.state == DISCARDED:
            raise BranchClosed(branch, record.state)
        if not record.is_open:
            return await _standing(store, record, parent, policy)
        head = await store.head(branch)
        before = await _before(store, record, parent, head, is_looked_for=attempt > 0)
        delta = await delta_of(store, record, parent, head, since=before.upto, others=callable(policy))
        if policy == FAST_FORWARD and delta.moved:
            raise _gone_on(delta)
        if delta.replaces and not seal:
            raise InvalidInput(f"Branch '{branch}' was reset, so its merge replaces what it was forked from, once; merge it with seal=True.")
        waits = policy == APPEND and not delta.replaces and attempt >= _UNHURRIED
        entries = await chosen(store, delta, policy, summary, moving=waits)
        try:
            report = await _Merge(store, record, before, delta, head, policy, entries, moving=waits, seal=seal, mounted=mounted).made()
        except Conflict as conflict:
            if policy == FAST_FORWARD or not _is_passing(conflict, branch):
                raise
            continue
        if report is not None:
            return report
    raise Conflict(expected="an end", found="more entries", message=f"Branch '{branch}' or the tape it goes to kept growing while it was merged; stop those who append, then merge.")


def _gone_on(delta: Delta) -> Conflict:
    found = f"'{delta.parent}' ends with {delta.head}, not with {delta.base} as when '{delta.branch}' left it"
    return Conflict(expected=delta.base, found=delta.head, message=f"{found}; nothing was changed; merge with policy='append' to put the branch behind what came since.")


async def discard(store: WholeStore, branch: str) -> None:
    """Close a branch so that nothing of it comes back; a discarded one stays so. Raises BranchNotFound, BranchClosed where it was merged."""
    record = await _record(store, branch)
    if record.is_open:
        await store.apply([Close(tape=branch, outcome=DISCARDED)])
    elif record.state != DISCARDED:
        raise BranchClosed(branch, record.state)


async def collect_now(store: WholeStore, branch: str) -> None:
    """Remove a branch that was closed just now, unless another one was forked from it or its entries stand nowhere else."""
    await store.collect(branch, before=clock.now() + timedelta(seconds=1))


def merge_key(record: BranchRecord, number: int) -> str:
    """Return the idempotency key of a branch's merge of a number, from 1."""
    return f"{MERGE}:{record.name}:{record.created_at}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The merges of a branch so far: their events that stand on its parent, and the last of its entries that came back."""

    upto: int
    events: tuple[TapeEntry, ...] = ()

    @property
    def has_squashed(self) -> bool:
        """Whether entries of the branch stand nowhere else."""
        return any(event.payload["data"]["policy"] == SQUASH for event in self.events)


async def _before(store: WholeStore, record: BranchRecord, parent: str, head: Head, *, is_looked_for: bool) -> _Before:
    """Return the merges of a branch so far; where none has left it open they are only looked for when told."""
    base = record.base.id
    if not is_looked_for and await store.cursor(record.name, _BEGUN) == EMPTY:
        return _Before(upto=base)
    events = await _events(store, record, parent)
    marked = await store.cursor(record.name, MERGE)
    return _Before(upto=max(base, marked.id if marked.generation == head.generation else 0, *(event.payload["data"]["upto"] for event in events)), events=events)


async def _events(store: WholeStore, record: BranchRecord, parent: str) -> tuple[TapeEntry, ...]:
    """Return the events of a branch's merges that stand on the tape it goes back to, in order."""
    found: list[TapeEntry] = []
    while True:
        keys = [merge_key(record, len(found) + number) for number in range(1, 2 + len(found))]
        there = await store.find(parent, keys=keys)
        found += [there[key] for key in keys if key in there]
        if len(there) < len(keys):
            return tuple(found)


class _Merge:
    """One try to merge: the changes that it takes, made at once."""

    def __init__(
        self, store: WholeStore, record: BranchRecord, before: _Before, delta: Delta, head: Head, policy: Policy, entries: Sequence[TapeEntry], *, moving: bool, seal: bool, mounted: Collection[str]
    ) -> None:
        self._store = store
        self._record = record
        self._before = before
        self._delta = delta
        self._head = head
        self._policy = policy
        self._entries = entries
        self._moving = moving
        self._seal = seal
        self._mounted = mounted
        self._key = merge_key(record, len(before.events) + 1)

    async def made(self) -> MergeReport | None:
        """Make the changes; None where the same merge stands already. Raises Conflict where a tape has moved."""
        sides = [await self._side(name) for name in await self._store.sidecars(self._record.name)]
        if not self._seal and not self._entries and not any(side.change or side.error for side in sides):
            return MergeReport(branch=self._record.name, parent=self._delta.parent, policy=_called(self._policy), event=self._before.events[-1] if self._before.events else None)
        if not self._seal:
            await self._store.move_cursor(self._record.name, _BEGUN, Head(self._head.generation, self._head.id or 1))
        report = await self._tried(sides)
        if not self._seal and report is not None:
            await self._store.move_cursor(self._record.name, MERGE, self._head)
        return report

    async def _tried(self, sides: Sequence[_Side]) -> MergeReport | None:
        try:
            return await self._applied(sides)
        except PlayheadError as exc:
            if _is_no_fault_of_theirs(exc) or not any(side.change for side in sides):
                raise
            return await self._without_culprit(sides, exc)

    async def _without_culprit(self, sides: Sequence[_Side], error: PlayheadError) -> MergeReport | None:
        """Merge again without the sidecar that fails, or without any, where it is one of them that does."""
        able = [side for side in sides if side.change is not None]
        for culprit in able:
            with_error = [replace(side, change=None, error=str(error)) if side is culprit else side for side in sides]
            try:
                return await self._applied(with_error)
            except PlayheadError as exc:
                if _is_no_fault_of_theirs(exc):
                    raise
        if len(able) < 2:
            raise error
        return await self._applied([replace(side, change=None, error=side.error or str(error)) for side in sides])

    async def _applied(self, sides: Sequence[_Side]) -> MergeReport | None:
        failed = {side.name: side.error for side in sides if side.error is not None}
        able = [side.change for side in sides if side.change is not None]
        main = self._main(failed, is_noted=not self._seal)
        is_kept = self._policy == SQUASH or bool(failed) or self._before.has_squashed
        close = [Close(tape=self._record.name, outcome=SQUASHED if is_kept else MERGED, expected_head=self._head)] if self._seal else []
        made = await self._store.apply([*([main] if main else ()), *able, *(self._guards(sides) if self._seal else ()), *close], unless=(self._delta.parent, self._key))
        if made is None:
            return None
        stored = made[0] if main else ()
        own = stored[: len(self._entries)]
        return MergeReport(
            branch=self._record.name,
            parent=self._delta.parent,
            policy=_called(self._policy),
            entries=own,
            event=stored[-1] if stored else None,
            moved=self._delta.moved,
            failed=failed,
        )

    def _guards(self, sides: Sequence[_Side]) -> list[Append]:
        """Return what is refused where a sidecar of the branch has got more since: it would be closed with it."""
        heads = dict.fromkeys(self._mounted, EMPTY) | {side.name: side.head for side in sides}
        return [Append(tape=sidecar_name(self._record.name, name), entries=(), expected_head=head) for name, head in heads.items() if head is not None]

    def _main(self, failed: Mapping[str, str], *, is_noted: bool) -> Append | Reset | None:
        """Return what is written to the parent: the entries, what befell the sidecars, and last the event."""
        delta = self._delta
        if not self._entries and not failed and not delta.replaces and not is_noted:
            return None
        notes = [_note("sidecar.merge", {"tape": name, "status": "error", "error": error}) for name, error in failed.items()]
        facts = {
            "branch": self._record.name,
            "base": list(delta.base),
            "upto": self._head.id,
            "entries": len(self._entries),
            "policy": _called(self._policy),
            "moved": delta.moved,
        }
        last = _note(MERGE, facts, **{IDEMPOTENCY_KEY: self._key})
        if delta.replaces:
            return Reset(tape=delta.parent, entries=[*self._entries, *delta.others, *notes, last], expected_head=delta.head)
        return Append(tape=delta.parent, entries=[*self._entries, *notes, last], expected_head=None if self._moving else delta.head)

    async def _side(self, name: str) -> _Side:
        """Return what the merge of a sidecar comes to; trouble with it never stops the main tape."""
        try:
            head = await self._store.head(sidecar_name(self._record.name, name))
            return _Side(name=name, head=head, change=await self._side_change(name, head))
        except PlayheadError as exc:
            if _is_no_fault_of_theirs(exc):
                raise
            return _Side(name=name, error=str(exc))

    async def _side_change(self, name: str, head: Head) -> Change | None:
        own, target = sidecar_name(self._record.name, name), sidecar_name(self._delta.parent, name)
        record = await self._store.branch(own)
        base, there = record.base if record else EMPTY, await self._store.head(target)
        replaces = head.generation != base.generation
        entries = await between(self._store, own, after=0 if replaces else base.id, upto=head.id)
        entries = await new_to(self._store, target, entries)
        if not entries and not replaces:
            return None
        marks = await self._marks(own, entries)
        if not replaces:
            return Append(tape=target, entries=entries, marks=marks)
        others = await between(self._store, target, after=base.id if there.generation == base.generation else 0, upto=there.id)
        kept = None if marks is None else [*marks, *await self._marks_of_others(target, after=there.id - len(others))]
        return Reset(tape=target, entries=[*entries, *others], expected_head=there, marks=kept)

    async def _marks_of_others(self, target: str, *, after: int) -> list[int]:
        """Return where the main tape ends, once others' entries stand behind those of a branch that was reset, when each of a sidecar's was written."""
        delta = self._delta
        start = delta.base.id if delta.head.generation == delta.base.generation else 0
        marks = await self._store.marks(target, after=after)
        return [len(self._entries) + (max(0, mark.id - start) if mark.generation == delta.head.generation else 0) for mark in marks]

    async def _marks(self, own: str, entries: Sequence[TapeEntry]) -> list[int] | None:
        """Return how far behind the end of the main tape each entry of a sidecar will stand; None where the main entries come back otherwise."""
        if self._policy == SQUASH or callable(self._policy) or not entries:
            return None
        start = 0 if self._delta.replaces else self._delta.entries[0].id - 1 if self._delta.entries else self._head.id
        marks = await self._store.marks(own, after=entries[0].id - 1)
        generation = self._head.generation
        return [max(0, mark.id - start) if mark.generation == generation else 0 for mark in marks[: len(entries)]]


def _is_no_fault_of_theirs(error: PlayheadError) -> bool:
    """Return whether an error is one that leaving out a sidecar would not avoid."""
    return type(error) is Conflict or isinstance(error, _NOT_THE_SIDECARS)


def _is_passing(conflict: Conflict, branch: str) -> bool:
    """Return whether a merge is to be tried again: a tape moved, or somebody else merged this very branch."""
    return type(conflict) is Conflict or (isinstance(conflict, BranchClosed) and conflict.name == branch)


async def _record(store: WholeStore, branch: str) -> BranchRecord:
    kin = kin_of(branch)
    if not kin.is_branch:
        raise InvalidInput(f"'{branch}' is no branch; fork one with tape.fork().")
    record = await store.branch(branch)
    if record is None:
        raise BranchNotFound(branch)
    return record


async def _open_parent(store: WholeStore, record: BranchRecord) -> str:
    """Return where a branch goes back to: its parent, or where that one went when it was merged."""
    parent, above = record.parent, await store.branch(record.parent)
    while above is not None and not above.is_open:
        if above.state != MERGED:
            raise BranchClosed(above.name, above.state)
        parent, above = above.parent, await store.branch(above.parent)
    return parent


async def _standing(store: WholeStore, record: BranchRecord, parent: str, policy: Policy) -> MergeReport:
    """Return the report of a merge that was made before."""
    events = await _events(store, record, parent)
    return MergeReport(branch=record.name, parent=parent, policy=_called(policy), event=events[-1] if events else None)


def _called(policy: Policy) -> str:
    return policy if isinstance(policy, str) else getattr(policy, "__name__", "custom")


def _note(name: str, facts: Mapping[str, object], **meta: object) -> TapeEntry:
    return stamped(TapeEntry.event(name, facts, context=False, **meta))
