"""What a store must do, what it may do besides, and the promises it can make.

A user's store needs the four methods of `TapeStore` or `AsyncTapeStore`; `playhead.store.adapt.adapt`
supplies the rest by falling back on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery

IDEMPOTENCY_KEY = "idempotency_key"
"""The meta key whose value a store accepts once per tape: the same key again returns the entry that stands."""


class Head(NamedTuple):
    """Where a tape ends: how often it was reset, and the id of its last entry (0 where it has none)."""

    generation: int
    id: int


EMPTY = Head(0, 0)


@runtime_checkable
class TapeStore(Protocol):
    """Keeps tapes, one blocking call at a time."""

    def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        ...

    def reset(self, tape: str) -> None:
        """Remove every entry of a tape; an unknown tape is fine."""
        ...

    def fetch_all(self, query: TapeQuery) -> Iterable[TapeEntry]:
        """Return the entries a query asks for; `query.apply(entries)` filters them."""
        ...

    def append(self, tape: str, entry: TapeEntry) -> TapeEntry | None:
        """Keep one entry at the end of a tape and give it the next id; may return the stored entry."""
        ...


@runtime_checkable
class AsyncTapeStore(Protocol):
    """Keeps tapes; the same four methods, awaited."""

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        ...

    async def reset(self, tape: str) -> None:
        """Remove every entry of a tape; an unknown tape is fine."""
        ...

    async def fetch_all(self, query: TapeQuery) -> Iterable[TapeEntry]:
        """Return the entries a query asks for."""
        ...

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry | None:
        """Keep one entry at the end of a tape and give it the next id; may return the stored entry."""
        ...


class WholeStore(Protocol):
    """All that the handles use; every store of ours is one, `adapt` makes one of any other.

    `promises` names which of D1-D8 hold (docs/reference/stores.md).
    """

    @property
    def promises(self) -> frozenset[str]:
        """The promises this store keeps, such as `frozenset({"D1", "D2"})`."""
        ...

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        ...

    async def fetch_all(self, query: TapeQuery) -> Sequence[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        ...

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose meta holds IDEMPOTENCY_KEY and whose key stands already is not written again: the
        standing entry is returned in its place (KeyConflict where kind or payload differ).
        Raises Conflict where the head is not `expected_head`; then nothing was written.
        """
        ...

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        ...

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        ...

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        ...

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections; a closed store raises StoreUnavailable when it is used again."""
        ...
