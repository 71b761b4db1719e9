"""The tapes of a user's store: whole tapes out, entries in, and a look at what the store calls entries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreError, StoreUnavailable
from playhead.store.concurrency.caller import Caller
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery

FOUR = ("list_tapes", "reset", "fetch_all", "append")
FAMILIES = ("apply", "branch", "branches", "sidecars", "marks", "collect", "rename")
LEASES = ("lease", "release")
CURSORS = ("cursor", "move_cursor")
REST = ("append_many", "head", "find", "count", "search", "aclose", "lock", *FAMILIES, *LEASES, *CURSORS)


class UserTapes:
    """Asks a user's store, by the methods it has; the store is only ever asked for whole tapes, so it need not filter."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.is_dense: bool | None = None
        self._call = {name: Caller(store, name) for name in (*FOUR, *REST) if callable(getattr(store, name, None))}
        self._closed = False

    def has(self, *names: str) -> bool:
        """Return whether the store has all these methods."""
        return all(name in self._call for name in names)

    def takes(self, name: str, argument: str) -> bool:
        """Return whether a method of the store has an argument of that name."""
        return name in self._call and argument in self._call[name].takes

    def check_open(self) -> None:
        """Raise StoreUnavailable where the store was closed."""
        if self._closed:
            raise StoreUnavailable(f"The store {self.store!r} is closed; open it again.")

    async def ask(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the store. Raises StoreUnavailable once it was closed, StoreError where it fails."""
        self.check_open()
        return await self._call[name](*args, **kwargs)

    async def close(self) -> None:
        """Close the store where it can be closed; refuse what comes later."""
        if not self._closed:
            self._closed = True
            if "aclose" in self._call:
                await self._call["aclose"]()

    async def names(self) -> list[str]:
        """Return the names of all tapes that the store lists, sorted."""
        return sorted(await self.ask("list_tapes"))

    async def whole(self, tape: str) -> list[TapeEntry]:
        """Return all entries of a tape as the store keeps them. Raises StoreError for what is no tape."""
        found = await self.ask("fetch_all", TapeQuery(tape=tape))
        entries = [self._checked(entry, "fetch_all") for entry in found or ()]
        if any(one.id >= other.id for one, other in pairwise(entries)):
            raise StoreError(f"{self._called}.fetch_all returned entries whose ids do not rise; return them in the order they were appended, with ids from 1.")
        if entries:
            self.is_dense = self.is_dense is not False and entries[-1].id == len(entries)
        return entries

    async def write(self, tape: str, entries: Sequence[TapeEntry], *, expected: Head | None = None, fence: int | None = None) -> list[TapeEntry]:
        """Append entries and return them as stored, read back where the store does not say."""
        returned = await self._handed_over(tape, entries, expected_head=expected, fence=fence)
        if len(returned) == len(entries) and all(_is_stored(found, entry) for found, entry in zip(returned, entries, strict=True)):
            return returned
        whole = await self.whole(tape)
        stored = {entry.uid: entry for entry in whole}
        lost = [entry for entry in entries if entry.uid not in stored]
        if lost:
            raise StoreError(self._why_lost(len(lost), len(entries), returned=returned, has_bare="" in stored))
        return [stored[entry.uid] for entry in entries]

    async def clear(self, tape: str) -> None:
        """Remove every entry of a tape."""
        await self.ask("reset", tape)

    async def _handed_over(self, tape: str, entries: Sequence[TapeEntry], **conditions: Any) -> list[Any]:
        if "append_many" not in self._call or not entries:
            return [await self.ask("append", tape, entry) for entry in entries]
        given = {name: value for name, value in conditions.items() if value is not None and self.takes("append_many", name)}
        return list(await self.ask("append_many", tape, entries, **given) or ())

    def _why_lost(self, lost: int, count: int, *, returned: Sequence[object], has_bare: bool) -> str:
        """Return what to mend where entries cannot be read back: `returned` is what appending gave, `has_bare` whether entries without meta were read."""
        bare = next((entry for entry in returned if isinstance(entry, TapeEntry) and entry.id < 1), None)
        if bare is not None:
            return (
                f"{self._called}.append returned an entry with id {bare.id}, and fetch_all none with its uid; number the entries of a tape from 1 when they are appended, and keep them with that id."
            )
        kept = f"{self._called} did not keep {lost} of {count} entries"
        if has_bare:
            return f"{kept} with their meta; keep kind, payload, meta and date as they are given."
        return f"{kept} so that fetch_all returns them; return all entries of a tape, each with an id, from 1, and with kind, payload, meta and date as they were given."

    def _checked(self, entry: object, method: str) -> TapeEntry:
        if not isinstance(entry, TapeEntry):
            raise StoreError(f"{self._called}.{method} returned {type(entry).__name__} instead of TapeEntry; return entries as they were appended, with their ids.")
        if entry.id < 1:
            raise StoreError(f"{self._called}.{method} returned an entry with id {entry.id}; number the entries of a tape from 1 when they are appended.")
        return entry

    @property
    def _called(self) -> str:
        return type(self.store).__name__


def _is_stored(found: object, entry: TapeEntry) -> bool:
    return isinstance(found, TapeEntry) and found.id > 0 and found.uid == entry.uid
