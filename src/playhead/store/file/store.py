"""Tapes in a directory, one file of JSON lines each: to be read by eye, and by any number of tasks, threads and processes at once."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from contextvars import copy_context
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, get_args
from weakref import finalize
from zlib import crc32

from anyio import to_thread

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, ReadOnly, StoreUnavailable
from playhead.store.archiving.retention import ArchiveReport
from playhead.store.blobs import Blob, BlobNames, weighed
from playhead.store.change import BranchRecord, Change, Lease, Reset, family_of
from playhead.store.concordance.patience import Behind, hits
from playhead.store.concurrency.hop import deliver
from playhead.store.concurrency.lane import Lane, Queue, stop_and_wait
from playhead.store.concurrency.timeout import checked_timeout
from playhead.store.concurrency.turns import Turns
from playhead.store.condition.failures import typed
from playhead.store.condition.health import Health
from playhead.store.family import kin_of, renaming
from playhead.store.file import blobs, listing, marking, reader
from playhead.store.file.archive import ArchivedDisk
from playhead.store.file.disk import Disk
from playhead.store.file.family.archiving import pack, settle, sweep
from playhead.store.file.family.collecting import collect
from playhead.store.file.family.family import Family
from playhead.store.file.family.forgetting import forget_family, forget_sidecar
from playhead.store.file.family.household import Household
from playhead.store.file.family.intake import taken_in
from playhead.store.file.family.ledger import Cursors
from playhead.store.file.family.making import make
from playhead.store.file.family.opened import answered, settled
from playhead.store.file.family.renaming import rename_branch, rename_tape
from playhead.store.file.findings import Finding, Findings
from playhead.store.file.place import Place
from playhead.store.file.record.codec import LineCodec
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.lines import body_of
from playhead.store.file.words.searching import Search
from playhead.store.file.writer import Alone, Apart, Appending, Writer
from playhead.store.parting import INLINE, checked_limit
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.rows.connection import Durability, SearchBy
from playhead.store.rules.lease import granted
from playhead.store.rules.names import checked_name

Result = TypeVar("Result")

ATTEMPTS = 5
"""How often a file is compressed anew because it became another one meanwhile, before that is given up."""

_READERS = 4
_WRITERS = 4


class FileTapeStore:
    """Keeps tapes in a directory, one file of JSON lines each, `demo-user.jsonl` for the tape `demo-user`.

    `durability` says what an acknowledged append survives: "disk" a power loss, "process" the end of the process. `timeout` is how
    many seconds it waits for other processes before StoreBusy. `on_finding` hears of what was amiss in a file and mended; without it
    that is logged, `findings` has the newest. `codec` keeps payload and meta in another form, compressed or enciphered. `disk` makes
    the calls to the system. Of a payload with more than `inline_limit` bytes of JSON the large values are kept as blobs (None: of none);
    entries are read back whole. Entries are searched by an index that is filled behind them, while there is time; with `search="scan"`, or a
    codec, there is none, and a search reads all of its tape. With `read_only` nothing is written, locked or mended, and what would write raises ReadOnly.

    Usable as constructed, or with `async with`; works under asyncio and trio, and a fork of the process may
    go on using it. All promises hold (D1 to D8). Not for network file systems, which do not keep locks.
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "disk",
        timeout: float = 30.0,
        on_finding: Callable[[Finding], None] | None = None,
        codec: LineCodec | None = None,
        disk: Disk | None = None,
        search: SearchBy = "index",
        read_only: bool = False,
        inline_limit: int | None = INLINE,
    ) -> None:
        if durability not in get_args(Durability):
            raise InvalidInput(f"A store's durability is 'disk' or 'process', not {durability!r}.")
        if search not in get_args(SearchBy):
            raise InvalidInput(f"A store is searched by 'index' or by 'scan', not by {search!r}.")
        directory = _checked_path(path)
        place = Place(
            directory=directory,
            durability=durability,
            timeout=checked_timeout(timeout),
            disk=ArchivedDisk(Disk() if disk is None else disk, directory),
            findings=Findings(on_finding),
            health=Health(),
            codec=codec,
            read_only=read_only,
            inline_limit=checked_limit(inline_limit),
            search=search,
        )
        self._place = place
        self._writing = [Lane(lambda queue: Writer(place).serve(queue), size=1, name="playhead file writer") for _ in range(_WRITERS)]
        self._reading = Lane(partial(_serve_reads, place), size=_READERS, name="playhead file reader")
        self._turns = Turns(f"{place.hidden}/turns")
        self._closed = False
        finalize(self, _let_go, *self._writing, self._reading)

    @property
    def durability(self) -> Durability:
        """What an acknowledged append survives."""
        return self._place.durability

    @property
    def path(self) -> Path:
        """Where the directory is."""
        return Path(self._place.directory)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was amiss in the files, the newest hundred, the oldest of them first."""
        return self._place.findings.newest

    def __repr__(self) -> str:
        return f"FileTapeStore({self._place.directory!r}, durability={self._place.durability!r})"

    async def __aenter__(self) -> FileTapeStore:
        """Make the directory where it is missing, so that what is wrong with it shows here; a store that only reads must find it."""
        try:
            await (self.list_tapes() if self._place.read_only else self._write("", None))
        except BaseException:
            _let_go(*self._writing, self._reading)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
        return await self._read(listing.tapes)

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        return await self._read(listing.families)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, BranchNotFound, StoreDamaged."""
        return await self._ask(query.tape, partial(reader.fetch, query=query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        kin = kin_of(tape)
        stored: tuple[TapeEntry, ...] = await self._write(kin.root, Appending(kin, (entry,), (body_of(entry, limit=self._place.inline_limit),), None, None))
        return stored[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, InvalidInput, LeaseLost, BranchClosed, BranchNotFound, StoreError; AppendOutcomeUnknown where nobody can say.
        """
        kin = kin_of(tape)
        stored: tuple[TapeEntry, ...] = await self._write(kin.root, Appending(kin, entries, [body_of(entry, limit=self._place.inline_limit) for entry in entries], expected_head, fence))
        return stored

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        stored = await self.apply([Reset(tape=tape, entries=entries, expected_head=expected_head)])
        return stored[0] if stored else ()

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        None where an entry with the key of `unless` stands on its tape; then nothing is changed. Raises what `append_many` raises, NameTaken.
        """
        root = family_of(changes, unless=unless)
        if root is None:
            return ()
        works = [taken_in(change, limit=self._place.inline_limit) for change in changes]
        stored: tuple[tuple[TapeEntry, ...], ...] | None = await self._alone(root, lambda household: make(household, works, unless=unless))
        return stored

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return await self._ask(tape, lambda lineage: lineage.tail.head)

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        return await self._ask(tape, lambda lineage: lineage.find(keys=keys, uids=uids))

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        return await self._ask(query.tape, partial(reader.count, query=query))

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries of what a query leaves that are most about a text, the best first. Raises what a query raises."""
        uses_volumes = self._place.keeps_words

        def search(patience: int | None) -> Awaitable[list[Hit] | Behind[str]]:
            return self._ask(query.tape, Search(place=self._place, query=query, text=text, smoothed=smoothed, uses_volumes=uses_volumes, patience=patience))

        return await hits(search, catch_up=partial(self._write, kin_of(query.tape).root) if uses_volumes and not self._place.read_only else None)

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        kin = kin_of(name)
        return await self._known(kin.root, lambda family: family.record(kin) if kin.branch is not None else None)

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        return await self._known(kin_of(tape).root, Family.records)

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted."""
        kin = kin_of(tape)
        return await self._known(kin.root, lambda family: family.sidecars(kin.branch) if kin.branch is None or family.is_made(kin.branch) else [])

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        marks = await self._ask(tape, lambda lineage: lineage.marks(after, limit))
        if kin_of(tape).sidecar is None:
            raise InvalidInput(f"Only the entries of sidecars are marked, and '{tape}' is none.")
        return marks

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove those branches of a tape's family, or that one branch, that were closed before an instant and that no other was forked from.

        Returns their names. What a squashed branch holds stands nowhere else, so it stays.
        """
        kin = kin_of(tape)
        names: list[str] = await self._alone(kin.root, lambda household: collect(household, kin.branch, before))
        return names

    async def forget(self, tape: str) -> None:
        """Let go of a sidecar that holds nothing, or of a tape whose whole family holds nothing, as if it had never been; nothing else is changed."""
        kin = kin_of(tape)
        if not kin.is_branch:
            await self._write(kin.root, Apart(kin.root, partial(forget_family, self._place, kin.root)) if kin.is_root else Alone(kin.root, partial(forget_sidecar, kin=kin)))

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family.

        Raises NameTaken, TapeNotFound, BranchNotFound, InvalidInput where one is a branch and the other is none.
        """
        old, new = renaming(tape, name)
        await self._write(old.root, Apart(old.root, partial(rename_tape, self._place, old.root, new.root)) if old.branch is None else Alone(old.root, partial(rename_branch, old=old, new=new)))

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld, BranchNotFound."""
        kin = kin_of(tape)
        context = copy_context()

        def take(household: Household) -> Lease:
            return household.known(kin).leases.take(kin, lambda standing: context.run(lambda: granted(tape, owner=owner, seconds=seconds, standing=standing)))

        lease: Lease = await self._alone(kin.root, take)
        return lease

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        kin = kin_of(lease.tape)
        await self._alone(kin.root, lambda household: household.leases.release(kin, lease))

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did. Raises BranchNotFound."""
        kin = kin_of(tape)
        return await self._known(kin.root, lambda family: Cursors(self._place, family.known(kin).stem).get(kin, consumer))

    async def cursors(self, tape: str) -> dict[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        kin = kin_of(tape)
        return await self._known(kin.root, lambda family: Cursors(self._place, family.known(kin).stem).of(kin))

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape. Raises BranchNotFound."""
        kin = kin_of(tape)
        await self._alone(kin.root, lambda household: household.known(kin).cursors.move(kin, consumer, head))

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock the same tape, in every task, thread and process, inside `async with`."""
        self._check_writable()
        return self._turns.turn(checked_name(tape))

    async def put_blob(self, data: bytes, *, mime: str | None = None) -> Blob:
        """Keep bytes and return what they are called by; the same bytes again are kept once, under the type that was said first."""
        self._check_writable()
        kept, blob = await weighed(data, mime=mime)
        return await self._read(partial(blobs.put, blob=blob, data=kept, at=clock.now()))  # it changes no tape, so it need not wait for those who do

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged where they are not those that were put."""
        return await self._read(lambda place: blobs.get(place, digest))

    async def blobs(self) -> list[Blob]:
        """Return what is kept, by digest."""
        return await self._read(blobs.listed)

    async def idle_blobs(self, *, since: datetime) -> list[Blob]:
        """Return the blobs that were not put since an instant, and that no append named since."""
        return await self._read(lambda place: blobs.idle(place, since))

    async def named_blobs(self) -> AsyncGenerator[BlobNames, None]:
        """Yield, a part at a time, every digest that a file of the directory names. Raises StoreDamaged where one is not as it was written."""
        with closing(marking.marked(self._place)) as parts:
            while (part := await self._read(lambda _: next(parts, None))) is not None:
                yield part

    async def drop_blobs(self, digests: Iterable[str], *, idle_since: datetime) -> list[str]:
        """Remove blobs, each only if it was neither put nor named by an append since an instant; return those that were removed."""
        self._check_writable()
        names = tuple(digests)
        return await self._read(lambda place: blobs.drop(place, names, idle_since))

    async def archive(self, tape: str, *, upto: int) -> ArchiveReport:
        """Compress what the tape's own file holds up to an id, but for its newest line; the chunks stand in the hidden directory.

        That is done while others write; then the front of the file is taken out in one step. Raises StoreDamaged, BranchNotFound, Conflict where the tape is reset all the time.
        """
        self._check_writable()
        kin = kin_of(tape)
        for _ in range(ATTEMPTS):
            found = await self._ask(tape, partial(pack, self._place, upto=upto))
            if found.cut is None:
                return ArchiveReport(tape=tape, upto=found.upto)
            if await self._alone(kin.root, partial(settle, kin=kin, packed=found)):
                return ArchiveReport(tape=tape, upto=found.upto, entries=found.entries, before=found.before, after=found.after)
        raise Conflict(expected="the same file", found="another", message=f"'{tape}' was reset, or archived by another one, each time it was compressed; try again later.")

    async def compact(self) -> None:
        """Remove archived chunks that no file names any more, as a writer left them that died a day ago or longer."""
        self._check_writable()
        await self._read(partial(sweep, before=_nanoseconds(clock.now() - timedelta(days=1))))

    async def aclose(self) -> None:
        """Finish what waits and let go of the files; closing twice is fine."""
        self._closed = True
        await to_thread.run_sync(partial(stop_and_wait, *self._writing, self._reading))

    def _write(self, root: str, work: Appending | Alone | Apart | Behind[str] | None) -> Awaitable[Any]:
        """Hand work to the writer that does all of a family's; not itself a coroutine, as each one costs an append time."""
        self._check_writable()
        return self._writing[crc32(root.encode()) % _WRITERS].run(work)

    def _alone(self, root: str, do: Callable[[Household], Any]) -> Awaitable[Any]:
        return self._write(root, Alone(root, do))

    async def _ask(self, tape: str, question: Callable[[Lineage], Result]) -> Result:
        kin = kin_of(tape)
        return await self._read(partial(answered, kin=kin, question=question))

    async def _known(self, root: str, question: Callable[[Family], Result]) -> Result:
        return await self._read(lambda place: question(settled(place, root)))

    async def _read(self, question: Callable[[Place], Result]) -> Result:
        self._check_open()
        answer: Result = await self._reading.run(question)
        return answer

    def _check_writable(self) -> None:
        self._check_open()
        if self._place.read_only:
            raise ReadOnly(f"The store '{self._place.directory}' was opened to be read only; open it without read_only=True to write to it.")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store '{self._place.directory}' is closed; open it again with FileTapeStore(path).")


def _serve_reads(place: Place, queue: Queue) -> None:
    """Answer questions, each from the files as they are then."""
    for job in queue:
        try:
            place.check_there()
            place.health.check()
            job.result = job.work(place)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            job.error = typed(exc, path=place.directory)
            job.error.__cause__ = None if job.error is exc else exc
        deliver((job,))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000


def _let_go(*lanes: Lane) -> None:
    for lane in lanes:
        lane.stop()


def _checked_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"A store's path is a non-empty text or Path, not {path!r}.")
    return str(Path(text).absolute())
