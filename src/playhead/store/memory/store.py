"""Tapes in the memory of this process: for tests, scripts, and a first look."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from types import TracebackType

from anyio.lowlevel import checkpoint

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.archiving.retention import ArchiveReport
from playhead.store.blobs import Blob, BlobNames, weighed
from playhead.store.change import Append, BranchRecord, Change, Close, Fork, Lease, Reset, family_of
from playhead.store.concurrency.turnstile import Turnstiles
from playhead.store.family import kin_of
from playhead.store.memory.blobs import Blobs, named
from playhead.store.memory.leases import Leases
from playhead.store.memory.shelf import Shelf
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.rules.intake import taken

_PART = 500
"""How many entries are looked through for the blobs that they name at a time."""

SLICE = 128
"""How many entries a search takes into its index before it lets others run."""


class InMemoryTapeStore:
    """Keeps tapes for as long as it lives; for any number of tasks and threads, under asyncio, trio or neither.

    A query costs what it returns, as in the stores that keep files; a fork costs the same at any length. Promises D1 at the
    level `memory`, D2 to D6; it has nothing to tear (D7) or to leave open (D8).
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})
    durability = "memory"

    def __init__(self) -> None:
        self._mutex = threading.RLock()
        self._shelf = Shelf()
        self._leases = Leases()
        self._cursors: dict[tuple[str, str], Head] = {}
        self._blobs = Blobs()
        self._turnstiles = Turnstiles()
        self._closed = False

    def __repr__(self) -> str:
        return f"InMemoryTapeStore({len(self._shelf)} tapes)"

    async def __aenter__(self) -> InMemoryTapeStore:
        """Return the store itself."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
        with self._use():
            return self._shelf.roots()

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        with self._use():
            return self._shelf.families()

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, BranchNotFound."""
        with self._use():
            return list(self._shelf.roll(query.tape).matching(query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        return (await self.append_many(tape, (entry,)))[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, InvalidInput, LeaseLost, BranchClosed, BranchNotFound.
        """
        kept = taken(entries)
        with self._use():
            self._leases.check(tape, fence)
            self._blobs.use(kept)
            return self._shelf.append(Append(tape=tape, entries=kept, expected_head=expected_head))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        kept = taken(entries)
        with self._use():
            self._blobs.use(kept)
            return self._shelf.reset(Reset(tape=tape, entries=kept, expected_head=expected_head))

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        None where an entry with the key of `unless` stands on its tape; then nothing is changed.
        """
        if family_of(changes, unless=unless) is None:
            return ()
        work = [self._work(change) for change in changes]
        with self._use():
            if unless is not None and self._shelf.roll(unless[0]).keyed(unless[1]) is not None:
                return None
            self._blobs.use(entry for change in changes if isinstance(change, Append | Reset) for entry in change.entries)
            with self._shelf.undone_on_error():
                return tuple(do() for do in work)

    def _work(self, change: Change) -> Callable[[], tuple[TapeEntry, ...]]:
        match change:
            case Append(tape=tape, entries=entries, expected_head=head, marks=marks):
                append = Append(tape=tape, entries=taken(entries), expected_head=head, marks=marks)
                return lambda: self._shelf.append(append)
            case Reset(tape=tape, entries=entries, expected_head=head, marks=marks):
                reset = Reset(tape=tape, entries=taken(entries), expected_head=head, marks=marks)
                return lambda: self._shelf.reset(reset)
            case Fork():
                return lambda: self._shelf.fork(change)
            case Close():
                return lambda: self._shelf.close(change)

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        with self._use():
            return self._shelf.roll(tape).head

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        with self._use():
            roll = self._shelf.roll(tape)
            by_uid = {uid: found for uid in uids if (found := roll.with_uid(uid)) is not None}
            return by_uid | {key: found for key in keys if (found := roll.keyed(key)) is not None}

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        with self._use():
            return self._shelf.roll(query.tape).number(query)

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries that are most about a text, the best first.

        The index is made by searches, of what came since the last one: an append never waits for it. Raises what `fetch_all` raises, InvalidInput.
        """
        while True:
            with self._use():
                roll = self._shelf.roll(query.tape)
                if roll.take_in(SLICE):
                    return roll.search(query, text, smoothed=smoothed)
            await _let_others_run()

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        with self._use():
            return self._shelf.records.get(kin_of(name).name)

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        with self._use():
            return self._shelf.branches(tape)

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted."""
        with self._use():
            return self._shelf.sidecars(tape)

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        with self._use():
            roll = self._shelf.roll(tape)
            if kin_of(tape).sidecar is None:
                raise InvalidInput(f"Only the entries of sidecars are marked, and '{tape}' is none.")
            return roll.marks(after, limit)

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove the branches of a tape's family that were closed before an instant and that no branch was forked from; return their names."""
        with self._use():
            gone = self._shelf.collect(tape, before)
            self._forget(gone)
            return [name for name in gone if kin_of(name).sidecar is None]

    async def forget(self, tape: str) -> None:
        """Let go of a sidecar that holds nothing, or of a tape whose whole family holds nothing, as if it had never been; nothing else is changed."""
        with self._use():
            gone = self._shelf.forget(tape)
            self._cursors = {key: head for key, head in self._cursors.items() if key[0] not in gone}

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family."""
        with self._use():
            renamed = self._shelf.rename(tape, name)
            self._leases.rename(renamed)
            self._cursors = {(renamed.get(tape, tape), consumer): head for (tape, consumer), head in self._cursors.items()}

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld."""
        with self._use():
            self._shelf.roll(tape)
            return self._leases.take(tape, owner=owner, seconds=seconds)

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        with self._use():
            self._leases.release(lease)

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        with self._use():
            self._shelf.roll(tape)
            return self._cursors.get((tape, consumer), EMPTY)

    async def cursors(self, tape: str) -> dict[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        with self._use():
            self._shelf.roll(tape)
            return {consumer: head for (name, consumer), head in sorted(self._cursors.items()) if name == tape}

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        with self._use():
            self._shelf.roll(tape)
            self._cursors[tape, consumer] = head

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock the same tape of this store inside `async with`."""
        self._use()
        return self._turnstiles.turn(tape)

    async def put_blob(self, data: bytes, *, mime: str | None = None) -> Blob:
        """Keep bytes and return what they are called by; the same bytes again are kept once, under the type that was said first."""
        kept, blob = await weighed(data, mime=mime)
        with self._use():
            return self._blobs.put(blob, kept)

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound."""
        with self._use():
            return self._blobs.get(digest)

    async def blobs(self) -> list[Blob]:
        """Return what is kept, by digest."""
        with self._use():
            return self._blobs.listed()

    async def idle_blobs(self, *, since: datetime) -> list[Blob]:
        """Return the blobs that were not put since an instant, and that no append named since."""
        with self._use():
            return self._blobs.idle(since)

    async def named_blobs(self) -> AsyncGenerator[BlobNames, None]:
        """Yield, a part at a time, every digest that an entry names which any tape shows."""
        with self._use():
            strips = self._shelf.strips()
            total, done = sum(strip.end - strip.before for strip in strips), 0
        for strip in strips:
            for first in range(strip.before + 1, strip.end + 1, _PART):
                with self._use():
                    entries = strip.run(first, _PART)
                done += len(entries)
                yield BlobNames(digests=named(entries), done=done, total=total)
                await checkpoint()

    async def drop_blobs(self, digests: Iterable[str], *, idle_since: datetime) -> list[str]:
        """Remove blobs, each only if it was neither put nor named by an append since an instant; return those that were removed."""
        with self._use():
            return self._blobs.drop(digests, idle_since)

    async def archive(self, tape: str, *, upto: int) -> ArchiveReport:
        """Compress those entries up to an id that the tape itself keeps in this generation. Raises BranchNotFound."""
        with self._use():
            moved = self._shelf.roll(tape).archive(upto)
            return ArchiveReport(tape=tape, **moved._asdict())

    async def compact(self) -> None:
        """Do nothing: what was compressed is free at once."""
        self._use()

    async def aclose(self) -> None:
        """Refuse what comes later; closing twice is fine."""
        self._closed = True

    def _use(self) -> threading.RLock:
        if self._closed:
            raise StoreUnavailable("This store in memory is closed; its tapes are gone.")
        return self._mutex

    def _forget(self, names: Sequence[str]) -> None:
        gone = frozenset(names)
        self._leases.forget(gone)
        self._cursors = {key: head for key, head in self._cursors.items() if key[0] not in gone}


async def _let_others_run() -> None:
    with suppress(RuntimeError):  # driven without an event loop there are no others
        await checkpoint()
