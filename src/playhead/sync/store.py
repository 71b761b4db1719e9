"""The blocking store."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from playhead.entry.entry import TapeEntry
from playhead.store.change import BranchRecord, Change, Lease
from playhead.store.protocol import Head
from playhead.store.protocol import WholeStore as AsyncWholeStore
from playhead.store.query import TapeQuery as AsyncTapeQuery
from playhead.store.ranked.hit import Hit
from playhead.sync.portal import given, wait
from playhead.sync.query import TapeQuery
from playhead.sync.scope import Scope


class WholeStore:
    """A store, as `open_store` returns it; `with` closes it.

    `asynchronous` is the store behind it.
    """

    asynchronous: AsyncWholeStore

    def __init__(self, asynchronous: AsyncWholeStore) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.aclose()

    @property
    def promises(self) -> frozenset[str]:
        """The promises this store keeps, such as `frozenset({"D1", "D2"})`."""
        return self.asynchronous.promises

    def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        return wait(self.asynchronous.list_tapes)

    def fetch_all(self, query: AsyncTapeQuery | TapeQuery) -> Sequence[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        return wait(self.asynchronous.fetch_all, given(query))

    def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose meta holds IDEMPOTENCY_KEY and whose key stands already is not written again: the
        standing entry is returned in its place (KeyConflict where kind or payload differ).
        Raises Conflict where the head is not `expected_head`, LeaseLost where the tape was leased under a higher epoch than
        `fence`, BranchClosed, BranchNotFound for the name of a branch that was never made; then nothing was written.
        """
        return wait(self.asynchronous.append_many, tape, entries, expected_head=expected_head, fence=fence)

    def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        `unless` is a tape and an idempotency key: where an entry with that key stands on it, nothing is changed and None returned.
        Raises what `append_many` raises, InvalidInput where the tapes are of several families.
        """
        return wait(self.asynchronous.apply, changes, unless=unless)

    def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        return wait(self.asynchronous.branch, name)

    def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        return wait(self.asynchronous.branches, tape)

    def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted, such as `spill`."""
        return wait(self.asynchronous.sidecars, tape)

    def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        return wait(self.asynchronous.marks, tape, after=after, limit=limit)

    def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove those branches of a tape's family, or that one branch, that were closed before an instant and that no other was forked from.

        Returns their names. What a squashed branch holds stands nowhere else, so it stays.
        """
        return wait(self.asynchronous.collect, tape, before=before)

    def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family.

        Raises NameTaken, TapeNotFound, InvalidInput where one is a branch and the other is none.
        """
        wait(self.asynchronous.rename, tape, name)

    def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld."""
        return wait(self.asynchronous.lease, tape, owner=owner, seconds=seconds)

    def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        wait(self.asynchronous.release, lease)

    def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        return wait(self.asynchronous.cursor, tape, consumer)

    def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        wait(self.asynchronous.move_cursor, tape, consumer, head)

    def lock(self, tape: str) -> Scope[None]:
        """Exclude all others who lock the same tape, in every task, thread and process that the store can reach."""
        return Scope(self.asynchronous.lock(tape))

    def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        return wait(self.asynchronous.reset, tape, entries=entries, expected_head=expected_head)

    def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return wait(self.asynchronous.head, tape)

    def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        return wait(self.asynchronous.find, tape, keys=keys, uids=uids)

    def count(self, query: AsyncTapeQuery | TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        return wait(self.asynchronous.count, given(query))

    def search(self, query: AsyncTapeQuery | TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries of a query that are most about a text, the best first, of equal payloads one; 20 where the query has no limit.

        With `smoothed`, what was said just before and behind a hit gets a share of its score. The answer is complete, and the same
        in every store. Raises what `fetch_all` raises, InvalidInput for a query that looks for a text itself.
        """
        return wait(self.asynchronous.search, given(query), text, smoothed=smoothed)

    def aclose(self) -> None:
        """Let go of files and connections; a closed store raises StoreUnavailable when it is used again."""
        wait(self.asynchronous.aclose)
