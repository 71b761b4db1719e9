"""A whole store out of any store: what it lacks is done with the four methods it has."""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any, cast
from weakref import WeakValueDictionary

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, StoreError, StoreUnavailable
from playhead.store.caller import Caller
from playhead.store.intake import taken
from playhead.store.names import checked_name
from playhead.store.protocol import EMPTY, AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.store.query import TapeQuery
from playhead.store.replay import key_of, keyed, replay, same_fact
from playhead.store.turnstile import Turnstile

_FOUR = ("list_tapes", "reset", "fetch_all", "append")
_REST = ("append_many", "head", "find", "count", "aclose")
_PROMISES = frozenset({"D5", "D6"})


def adapt(store: TapeStore | AsyncTapeStore | WholeStore) -> WholeStore:
    """Return a store that has all that the handles use: the given one where it is whole, else one that falls back on its methods.

    Raises InvalidInput where one of the four methods is missing.
    """
    if isinstance(store, type) or not all(callable(getattr(store, name, None)) for name in _FOUR):
        raise InvalidInput(f"A store has the methods {', '.join(_FOUR)}; {store!r} does not.")
    return cast(WholeStore, store) if _is_whole(store) else AdaptedStore(store)


def _is_whole(store: object) -> bool:
    methods = (getattr(store, name, None) for name in ("list_tapes", "reset", "fetch_all", *_REST))
    return isinstance(getattr(store, "promises", None), frozenset) and all(map(inspect.iscoroutinefunction, methods))


class AdaptedStore:
    """A user's store with the rest done on top: batches, expected heads, idempotency keys, lookups, counts.

    Appends to one tape go one after the other, so a store that numbers entries by counting them gives each its own id;
    the store is only ever asked for whole tapes, so it need not filter. Beside what the store promises itself, D5 and D6
    hold among those who use this one object; a batch is written one by one (no D2), and one that was cut off is completed
    by uid when it is tried again. The store gives the ids: D3 is promised once ids were seen and for as long as all that
    were seen are dense. Ids with gaps (10, 20, 30) are fine otherwise: the head is the last id, `count` counts entries.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._call = {name: Caller(store, name) for name in (*_FOUR, *_REST) if callable(getattr(store, name, None))}
        self._lock = threading.Lock()
        self._turnstiles: WeakValueDictionary[str, Turnstile] = WeakValueDictionary()
        self._resets: Counter[str] = Counter()
        self._dense: bool | None = None
        self._closed = False

    @property
    def promises(self) -> frozenset[str]:
        """What the store itself promises, what is done on top of it, and D3 as far as its ids bear it out."""
        found = _PROMISES | frozenset(getattr(self._store, "promises", ()))
        return found if self._dense is None else found | {"D3"} if self._dense else found - {"D3"}

    def __repr__(self) -> str:
        return f"adapt({self._store!r})"

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        return sorted(await self._asked("list_tapes"))

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        return query.apply(await self._whole(query.tape))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        return (await self.append_many(tape, (entry,)))[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Append the entries in order and return them as stored; other appends to the tape wait.

        An entry of a batch whose uid stands already was written by an earlier try and is not written again.
        """
        async with self._turn(tape):
            return await self._append(tape, taken(entries), expected_head, resuming=len(entries) > 1 and any(entry.uid for entry in entries))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, then append `entries`; return those as stored."""
        kept = taken(entries)
        async with self._turn(tape):
            await self._expect(tape, expected_head)
            replay(kept, standing=_nothing_stands)
            known = await self._head(tape) != EMPTY
            await self._asked("reset", tape)
            if known or kept:
                self._resets[tape] += 1
            return await self._append(tape, kept, None, resuming=False)

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; its generation counts the resets made through this object."""
        return await self._head(tape)

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        if "find" in self._call:
            found: Mapping[str, TapeEntry] = await self._asked("find", checked_name(tape), keys=keys, uids=uids)
            return found
        whole = await self._whole(tape)
        by_uid, by_key = _by_uid(whole), _by_key(whole)
        return {uid: by_uid[uid] for uid in uids if uid in by_uid} | {key: by_key[key] for key in keys if key in by_key}

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        if "count" in self._call:
            return int(await self._asked("count", query))
        return len(await self.fetch_all(query))

    async def aclose(self) -> None:
        """Close the store where it can be closed; refuse what comes later."""
        if not self._closed:
            self._closed = True
            if "aclose" in self._call:
                await self._call["aclose"]()

    def _turn(self, tape: str) -> AbstractAsyncContextManager[None]:
        with self._lock:
            turnstile = self._turnstiles.get(checked_name(tape)) or Turnstile()
            self._turnstiles[tape] = turnstile
            return turnstile.turn()

    async def _asked(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self._closed:
            raise StoreUnavailable(f"The store {self._store!r} is closed; open it again.")
        return await self._call[name](*args, **kwargs)

    async def _whole(self, tape: str) -> list[TapeEntry]:
        """Return all entries of a tape, after a look at what the store calls entries."""
        found = await self._asked("fetch_all", TapeQuery(tape=checked_name(tape)))
        entries = [self._checked(entry, "fetch_all") for entry in found or ()]
        if any(one.id >= other.id for one, other in pairwise(entries)):
            raise StoreError(f"{type(self._store).__name__}.fetch_all returned entries whose ids do not rise; return them in the order they were appended, with ids from 1.")
        self._note(entries)
        return entries

    def _note(self, entries: Sequence[TapeEntry]) -> None:
        """Remember whether all ids seen so far are dense; of rising ones the last tells."""
        if entries:
            self._dense = self._dense is not False and entries[-1].id == len(entries)

    async def _head(self, tape: str) -> Head:
        if "head" in self._call:
            return Head(*await self._asked("head", checked_name(tape)))
        whole = await self._whole(tape)
        return Head(self._resets[tape], whole[-1].id if whole else 0)

    async def _expect(self, tape: str, expected: Head | None) -> None:
        if expected is not None and (found := await self._head(tape)) != expected:
            raise Conflict(expected=expected, found=found)

    async def _append(self, tape: str, entries: Sequence[TapeEntry], expected: Head | None, *, resuming: bool) -> tuple[TapeEntry, ...]:
        standing = _by_key(await self._whole(tape)) if keyed(entries) else {}
        tried = _by_uid(await self._whole(tape)) if resuming else {}
        plan = replay(entries, standing=standing.get)
        fresh = [entries[i] for i in plan.fresh]
        tried = {e.uid: found for e in fresh if (found := tried.get(e.uid)) is not None and same_fact(e, found)}
        unwritten = [entry for entry in fresh if entry.uid not in tried]
        if unwritten or not entries:
            await self._expect(tape, expected)
        written = iter(await self._written(tape, unwritten, expected))
        return plan.results([tried.get(entry.uid) or next(written) for entry in fresh])

    async def _written(self, tape: str, entries: Sequence[TapeEntry], expected: Head | None) -> list[TapeEntry]:
        """Append entries and return them as stored, read back where the store does not say."""
        returned = await self._handed_over(tape, entries, expected)
        if len(returned) == len(entries) and all(_is_stored(found, entry) for found, entry in zip(returned, entries, strict=True)):
            return returned
        stored = {entry.uid: entry for entry in await self._whole(tape)}
        lost = [entry for entry in entries if entry.uid not in stored]
        if lost:
            raise StoreError(f"{type(self._store).__name__} did not keep {len(lost)} of {len(entries)} entries with their meta; keep kind, payload, meta and date as they are given.")
        return [stored[entry.uid] for entry in entries]

    async def _handed_over(self, tape: str, entries: Sequence[TapeEntry], expected: Head | None) -> list[Any]:
        many = self._call.get("append_many")
        if many is None or not entries:
            return [await self._asked("append", tape, entry) for entry in entries]
        condition = {"expected_head": expected} if expected is not None and many.takes_expected_head else {}
        return list(await self._asked("append_many", tape, entries, **condition) or ())

    def _checked(self, entry: object, method: str) -> TapeEntry:
        if not isinstance(entry, TapeEntry):
            raise StoreError(f"{type(self._store).__name__}.{method} returned {type(entry).__name__} instead of TapeEntry; return entries as they were appended, with their ids.")
        if entry.id < 1:
            raise StoreError(f"{type(self._store).__name__}.{method} returned an entry with id {entry.id}; number the entries of a tape from 1 when they are appended.")
        return entry


def _is_stored(found: object, entry: TapeEntry) -> bool:
    return isinstance(found, TapeEntry) and found.id > 0 and found.uid == entry.uid


def _by_uid(entries: Sequence[TapeEntry]) -> dict[str, TapeEntry]:
    """Return entries by uid, the first of each."""
    return {entry.uid: entry for entry in reversed(entries)}


def _by_key(entries: Sequence[TapeEntry]) -> dict[str, TapeEntry]:
    """Return those entries that have an idempotency key by it."""
    return {key: entry for entry in entries if (key := key_of(entry)) is not None}


def _nothing_stands(key: str) -> None:
    del key
