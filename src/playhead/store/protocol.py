"""What a store must do, what it may do besides, and the promises it can make.

A user's store needs the four methods of `TapeStore` or `AsyncTapeStore`; `playhead.store.adapt.adapt`
supplies the rest by falling back on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery

if TYPE_CHECKING:
    from playhead.store.change import BranchRecord, Change, Lease
    from playhead.store.ranked.hit import Hit

IDEMPOTENCY_KEY = "idempotency_key"
"""The meta key whose value a store accepts once per tape: the same key again returns the entry that stands."""


class Head(NamedTuple):
    """Where a tape ends: how often it was reset, and the id of its last entry (0 where it has none)."""

    generation: int
    id: int

    def __str__(self) -> str:
        return f"entry {self.id}" if self.generation == 0 else f"entry {self.id} of generation {self.generation}"


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

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose meta holds IDEMPOTENCY_KEY and whose key stands already is not written again: the
        standing entry is returned in its place (KeyConflict where kind or payload differ).
        Raises Conflict where the head is not `expected_head`, LeaseLost where the tape was leased under a higher epoch than
        `fence`, BranchClosed, BranchNotFound for the name of a branch that was never made; then nothing was written.
        """
        ...

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        `unless` is a tape and an idempotency key: where an entry with that key stands on it, nothing is changed and None returned.
        Raises what `append_many` raises, InvalidInput where the tapes are of several families.
        """
        ...

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        ...

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        ...

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted, such as `spill`."""
        ...

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        ...

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove those branches of a tape's family, or that one branch, that were closed before an instant and that no other was forked from.

        Returns their names. What a squashed branch holds stands nowhere else, so it stays.
        """
        ...

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family.

        Raises NameTaken, TapeNotFound, InvalidInput where one is a branch and the other is none.
        """
        ...

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        ...

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        ...

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        ...

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock the same tape, in every task, thread and process that the store can reach."""
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

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries of a query that are most about a text, the best first, of equal payloads one; 20 where the query has no limit.

        With `smoothed`, what was said just before and behind a hit gets a share of its score. The answer is complete, and the same
        in every store. Raises what `fetch_all` raises, InvalidInput for a query that looks for a text itself.
        """
        ...

    async def aclose(self) -> None:
        """Let go of files and connections; a closed store raises StoreUnavailable when it is used again."""
        ...
