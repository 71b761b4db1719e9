"""A whole store out of a user's: batches, heads, keys, lookups, branches, sidecars, leases, done with the methods that it has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

from anyio import to_thread

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.adapted import events
from playhead.store.adapted.family import Family
from playhead.store.adapted.making import make
from playhead.store.adapted.marks import mark_of, plain, shown
from playhead.store.adapted.moving import collect, rename_branch, rename_family
from playhead.store.adapted.resume import Leftovers, takes_one_write
from playhead.store.adapted.state import by_uids
from playhead.store.adapted.tapes import CURSORS, FAMILIES, LEASES, UserTapes
from playhead.store.change import Append, BranchRecord, Change, Lease, Reset, family_of
from playhead.store.concurrency.turnstile import Turnstiles
from playhead.store.family import FAMILY, Kin, kin_of, renaming
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.ranked.unindexed import search
from playhead.store.rules.lease import check_fence, granted, returned
from playhead.store.rules.replay import key_of

_PROMISES = frozenset({"D5", "D6"})


class AdaptedStore:
    """A user's store with the rest done on top.

    Writes to one family go one after the other, so a store that numbers entries by counting them gives each its own id. Beside
    what the store promises itself, D5 and D6 hold among those who use this one object; batches and changes are written one by
    one (no D2), and what was cut off is completed by uid when it is tried again. The store gives the ids: D3 is promised once ids
    were seen and for as long as all that were seen are dense. Ids with gaps (10, 20, 30) are fine otherwise: the head is the
    last id, `count` counts entries.

    A fork copies what the branch shows to a tape of the branch's own name. What is known of branches, leases and cursors is a log
    on the tape `<root>__family__`; the marks of a sidecar's entries are kept in their meta. What the store does itself (all of
    `apply` to `rename`, `lease` and `release`, both cursor methods) is left to it.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._tapes = UserTapes(store)
        self._has_families = self._tapes.has(*FAMILIES)
        self._has_leases = self._tapes.has(*LEASES) and self._tapes.takes("append_many", "fence")
        self._has_cursors = self._tapes.has(*CURSORS)
        self._has_lock = self._tapes.takes("lock", "tape")
        self._turns, self._locks = Turnstiles(), Turnstiles()
        self._resets: dict[str, int] = {}
        self._changing: set[str] = set()

    @property
    def promises(self) -> frozenset[str]:
        """What the store itself promises, what is done on top of it, and D3 as far as its ids bear it out."""
        found = _PROMISES | frozenset(getattr(self._store, "promises", ()))
        is_dense = self._tapes.is_dense
        return found if is_dense is None else found | {"D3"} if is_dense else found - {"D3"}

    def __repr__(self) -> str:
        return f"adapt({self._store!r})"

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that the store lists or that have an open branch, sorted; branches and sidecars are left out."""
        listed = await self._tapes.names()
        mains = [name for name in listed if kin_of(name).is_root]
        roots = {name for name in mains if not name.endswith(FAMILY)}
        others = {name.removesuffix(FAMILY) for name in mains if name.endswith(FAMILY)} - roots
        return sorted(roots | {root for root in others if any(record.is_open for record in (await self._family(root).state()).branches)})

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        return sorted({kin_of(name.removesuffix(FAMILY)).root for name in await self._tapes.names()})

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, BranchNotFound."""
        async with self._reading(query.tape) as family:
            return query.apply(shown(query.tape, await family.tapes.whole(query.tape)))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        return (await self.append_many(tape, (entry,)))[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append the entries in order and return them as stored; other writes to the family wait.

        An entry of a batch whose uid stands already was written by an earlier try and is not written again.
        Raises Conflict, KeyConflict, InvalidInput, LeaseLost, BranchClosed, BranchNotFound.
        """
        kin = self._kin(tape)
        async with self._turns.turn(kin.root):
            family = Family(self._tapes, kin.root, self._resets)
            if kin.branch is not None:
                await family.check_open(tape)
            if fence is not None and not self._has_leases and (lease := (await family.state()).leases.get(tape)) is not None:
                check_fence(tape, fence=fence, epoch=lease.epoch)
            resumes = len(entries) > 1 and any(isinstance(entry, TapeEntry) and entry.uid for entry in entries)
            left = Leftovers(await self._tapes.whole(tape)) if resumes else None
            return await family.append(Append(tape=tape, entries=entries, expected_head=expected_head), left=left, fence=fence if self._has_leases else None)

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, one by one; return for each the entries as stored.

        What would be refused is refused before anything is written. Where the store fails in the middle, the same changes, tried
        again, go on from there, where each entry has a uid or a key. None where an entry with the key of `unless` stands on its tape; then nothing is changed.
        """
        if self._has_families:
            found: tuple[tuple[TapeEntry, ...], ...] | None = await self._tapes.ask("apply", changes, unless=unless)
            return found
        root = family_of(changes, unless=unless)
        if root is None:
            return ()
        for name in (*(change.tape for change in changes), *(unless or ())[:1]):
            self._kin(name)
        async with self._turns.turn(root):
            self._changing.update([] if takes_one_write(changes) else [root])
            try:
                return await make(self._family(root), changes, unless=unless)
            finally:
                self._changing.discard(root)

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, then append `entries`; return those as stored."""
        async with self._writing(tape) as family:
            return await family.reset(Reset(tape=tape, entries=entries, expected_head=expected_head))

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; its generation counts the resets made through this object, or remembered with its branches and sidecars."""
        async with self._reading(tape) as family:
            return await family.head(tape)

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        async with self._reading(tape) as family:
            if self._tapes.has("find"):
                found: Mapping[str, TapeEntry] = await self._tapes.ask("find", tape, keys=keys, uids=uids)
                return found if kin_of(tape).sidecar is None else {name: plain(entry) for name, entry in found.items()}
            whole = shown(tape, await self._tapes.whole(tape))
            by_uid = by_uids(whole, await family.lineage(tape))
            by_key = {key: entry for entry in whole if (key := key_of(entry)) is not None}
            return {uid: by_uid[uid] for uid in uids if uid in by_uid} | {key: by_key[key] for key in keys if key in by_key}

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        if not self._tapes.has("count"):
            return len(await self.fetch_all(query))
        async with self._reading(query.tape):
            return int(await self._tapes.ask("count", query))

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries that are most about a text, the best first; unless the store searches itself, the whole tape is read."""
        async with self._reading(query.tape) as family:
            if self._tapes.takes("search", "smoothed"):
                return list(await self._tapes.ask("search", query, text, smoothed=smoothed))
            whole = shown(query.tape, await family.tapes.whole(query.tape))
            return await to_thread.run_sync(partial(search, whole, query, text, smoothed=smoothed))

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        if self._has_families:
            record: BranchRecord | None = await self._tapes.ask("branch", name)
            return record
        return (await (await self._settled(name)).state()).records.get(name)

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        return list(await self._tapes.ask("branches", tape)) if self._has_families else (await (await self._settled(tape)).state()).branches

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted."""
        if self._has_families:
            return list(await self._tapes.ask("sidecars", tape))
        family = await self._settled(tape)
        kin = kin_of(tape)
        return await family.sidecars(tape) if kin.branch is None or kin.main in (await family.state()).records else []

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        if self._has_families:
            return list(await self._tapes.ask("marks", tape, after=after))[:limit]
        async with self._reading(tape) as family:
            if kin_of(tape).sidecar is None:
                raise InvalidInput(f"Only the entries of sidecars are marked, and '{tape}' is none.")
            return [mark_of(entry) for entry in await family.tapes.whole(tape) if entry.id > after][:limit]

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove those branches of a tape's family, or that one branch, that ended before an instant and that no other was forked from; return their names."""
        if self._has_families:
            return list(await self._tapes.ask("collect", tape, before=before))
        async with self._turns.turn(self._kin(tape).root):
            return await collect(self._family(tape), tape, before)

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family.

        Copies all its tapes; tried again after a failure in the middle, it goes on from there.
        Raises NameTaken, TapeNotFound, BranchNotFound, InvalidInput.
        """
        if self._has_families:
            await self._tapes.ask("rename", tape, name)
            return
        roots = sorted({self._kin(tape).root, self._kin(name).root})
        renaming(tape, name)
        async with AsyncExitStack() as turns:
            for root in roots:
                await turns.enter_async_context(self._turns.turn(root))
            if kin_of(tape).branch is not None:
                await rename_branch(self._family(tape), tape, name)
            else:
                await rename_family(self._family(tape), self._family(name))

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld, BranchNotFound."""
        if self._has_leases:
            native: Lease = await self._tapes.ask("lease", tape, owner=owner, seconds=seconds)
            return native
        async with self._turns.turn(self._kin(tape).root):
            family = self._family(tape)
            await family.check(tape)
            lease = granted(tape, owner=owner, seconds=seconds, standing=(await family.state()).leases.get(tape))
            await family.note(events.leased(lease))
            return lease

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        if self._has_leases:
            await self._tapes.ask("release", lease)
            return
        async with self._turns.turn(self._kin(lease.tape).root):
            family = self._family(lease.tape)
            standing = (await family.state()).leases.get(lease.tape)
            if standing is not None and (after := returned(lease, standing=standing)) != standing:
                await family.note(events.leased(after))

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        if self._has_cursors:
            return Head(*await self._tapes.ask("cursor", tape, consumer))
        async with self._reading(tape) as family:
            return (await family.state()).cursors.get((tape, consumer), EMPTY)

    async def cursors(self, tape: str) -> dict[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        if self._has_cursors:
            return {}
        async with self._reading(tape) as family:
            return {consumer: head for (name, consumer), head in sorted((await family.state()).cursors.items()) if name == tape}

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        if self._has_cursors:
            await self._tapes.ask("move_cursor", tape, consumer, head)
            return
        async with self._writing(tape) as family:
            await family.check(tape)
            if (await family.state()).cursors.get((tape, consumer), EMPTY) != head:
                await family.settle(tape)
                await family.note(events.read_up_to(tape, consumer, head))

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others in this process who lock the same tape of this object; where the store has a lock of its own, that is used."""
        self._tapes.check_open()
        self._kin(tape)
        if self._has_lock:
            lock: AbstractAsyncContextManager[None] = self._store.lock(tape)
            return lock
        return self._locks.turn(tape)

    async def aclose(self) -> None:
        """Close the store where it can be closed; refuse what comes later."""
        await self._tapes.close()

    @asynccontextmanager
    async def _writing(self, tape: str) -> AsyncIterator[Family]:
        async with self._turns.turn(self._kin(tape).root):
            yield self._family(tape)

    @asynccontextmanager
    async def _reading(self, tape: str) -> AsyncIterator[Family]:
        family = await self._settled(tape)
        await family.check(tape)
        yield family

    async def _settled(self, tape: str) -> Family:
        """Return a family once no changes are half made in it."""
        root = self._kin(tape).root
        if root in self._changing:
            async with self._turns.turn(root):
                pass
        return self._family(tape)

    def _family(self, tape: str) -> Family:
        return Family(self._tapes, kin_of(tape).root, self._resets)

    def _kin(self, tape: str) -> Kin:
        kin = kin_of(tape)
        if kin.root.endswith(FAMILY):
            raise InvalidInput(f"Names that end with '{FAMILY}' are kept for what is known of a tape's branches; call the tape otherwise than '{tape}'.")
        return kin
