"""Tapes in a PostgreSQL database: many tasks, threads, processes and machines may use it at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, cast, get_args
from weakref import finalize

from anyio import to_thread

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, ReadOnly, StoreUnavailable
from playhead.store.archiving.retention import ArchiveReport, archived_in_steps
from playhead.store.blobs import Blob, BlobNames, weighed
from playhead.store.change import BranchRecord, Change, Lease, Reset
from playhead.store.concurrency.timeout import checked_timeout
from playhead.store.parting import INLINE, checked_limit
from playhead.store.postgres.server import Server, label_of
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.rows.connection import Durability, SearchBy
from playhead.store.rules.names import checked_name
from playhead.store.rules.work import Work, appended, changed

Result = TypeVar("Result")

_LONGEST = 63


class PostgresTapeStore:
    """Keeps tapes in a PostgreSQL database (15 or newer), reached at the first use; also an async context manager that lets go of it.

    `conninfo` is a URL or what else libpq takes. The tables stand in `schema`, which is made where it is missing; tapes of another `tenant` are
    not seen. `durability` says what an acknowledged append survives: "disk" a loss of power at the server, "process" the end of this process.
    `timeout` is for how many seconds it waits for others and for a server that is away; `connections` is how many questions are answered at once.
    `search` says whether an index of words is kept beside the entries ("index"), or a search reads its whole tape ("scan").
    Of a payload with more than `inline_limit` bytes of JSON the large values are kept as blobs (None: of none); entries are read back whole.
    With `read_only` nothing is written or made. Works under asyncio and trio, in any number of tasks and threads; a fork of the process may go on using it.
    All promises hold (D1 to D8). Needs `playhead[postgres]`.
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "playhead",
        tenant: str = "",
        durability: Durability = "disk",
        timeout: float = 30.0,
        connections: int = 4,
        search: SearchBy = "index",
        read_only: bool = False,
        inline_limit: int | None = INLINE,
    ) -> None:
        server = Server(
            conninfo=conninfo,
            label=label_of(conninfo),
            schema=_checked_schema(schema),
            tenant=tenant,
            durability=durability,
            timeout=checked_timeout(timeout),
            read_only=read_only,
            search=search,
            inline_limit=checked_limit(inline_limit),
        )
        _check(server, connections=connections)
        from playhead.store.postgres.lanes import Lanes  # noqa: PLC0415 - needs the driver

        self._server = server
        self._lanes = Lanes(server, connections=connections)
        self._closed = False
        finalize(self, self._lanes.let_go)

    @property
    def durability(self) -> Durability:
        """What an acknowledged append survives."""
        return self._server.durability

    def __repr__(self) -> str:
        return f"PostgresTapeStore({self._server.label!r}, schema={self._server.schema!r}, durability={self._server.durability!r})"

    async def __aenter__(self) -> PostgresTapeStore:
        """Reach the server, so that what is wrong shows here."""
        try:
            await self._read(_nothing)
        except BaseException:
            self._lanes.let_go()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
        return await self._read(self._lanes.records.names)

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        return await self._read(self._lanes.records.families)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, BranchNotFound."""
        checked_name(query.tape)
        return await self._read(partial(self._lanes.reader.fetch, query=query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        ((stored,),) = await self._append(appended(tape, (entry,)))
        return stored

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared. A lost connection is opened again
        and the entries looked for by their uids; AppendOutcomeUnknown, where the server does not come back in time, names them.
        Raises Conflict, KeyConflict, LeaseLost, BranchClosed, BranchNotFound, InvalidInput, StoreError.
        """
        (stored,) = await self._append(appended(tape, entries, expected_head=expected_head, fence=fence))
        return stored

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        change = Reset(tape=tape, entries=entries, expected_head=expected_head)
        (stored,) = await self._change(changed([change], unless=None, at=clock.now()))
        return cast("tuple[TapeEntry, ...]", stored)

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        None where an entry with the key of `unless` stands on its tape; then nothing is changed. It is one transaction.
        """
        self._check_writable()
        if not changes:
            return ()
        written: tuple[tuple[TapeEntry, ...], ...] | None = await self._change(changed(changes, unless=unless, at=clock.now()))
        return written

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        return await self._read(partial(self._lanes.records.branch, name=checked_name(name)))

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        return await self._read(partial(self._lanes.records.branches, tape=checked_name(tape)))

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted."""
        return await self._read(partial(self._lanes.records.sidecars, tape=checked_name(tape)))

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        return await self._read(partial(self._lanes.records.marks, tape=checked_name(tape), after=after, limit=limit))

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove the branches of a tape's family that were closed before an instant and that no branch was forked from; return their names."""
        return await self._do(tape, partial(self._lanes.collect, tape=tape, before=before), makes=False, purges=True)

    async def forget(self, tape: str) -> None:
        """Let go of a sidecar that holds nothing, or of a tape whose whole family holds nothing, as if it had never been; nothing else is changed."""
        await self._do(tape, partial(self._lanes.forget, tape=checked_name(tape)), makes=False, purges=True)

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family."""
        await self._do(tape, partial(self._lanes.rename, tape=checked_name(tape), name=checked_name(name)), makes=False, purges=True)

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist, by the server's clock; who holds it already gets it longer, under the same epoch. Raises LeaseHeld."""
        return await self._do(tape, partial(self._lanes.leases.take_lease, tape=tape, owner=owner, seconds=seconds))

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        await self._do(lease.tape, partial(self._lanes.leases.give_back, lease=lease), makes=False)

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        return await self._read(partial(self._lanes.records.cursor, tape=checked_name(tape), consumer=consumer))

    async def cursors(self, tape: str) -> dict[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        return await self._read(partial(self._lanes.records.cursors, tape=checked_name(tape)))

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        await self._do(tape, partial(self._lanes.leases.move_cursor, tape=tape, consumer=consumer, head=head))

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock the same tape, in every task, thread, process and machine that uses this schema, inside `async with`."""
        self._check_writable()
        return self._lanes.locks.turn(checked_name(tape))

    def hear(self, tape: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake`, in another thread, soon after somebody else may have written to a tape; return what ends that. A hint may get lost."""
        self._check_open()
        return self._lanes.hear(checked_name(tape), wake)

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return await self._read(partial(self._lanes.reader.head, tape=checked_name(tape)))

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        return await self._read(partial(self._lanes.reader.find, tape=checked_name(tape), keys=tuple(keys), uids=tuple(uids)))

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        checked_name(query.tape)
        return await self._read(partial(self._lanes.reader.count, query=query))

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries of what a query leaves that are most about a text, the best first. Raises what a query raises."""
        checked_name(query.tape)
        self._check_open()
        return await self._lanes.search(query, text, smoothed=smoothed)

    async def put_blob(self, data: bytes, *, mime: str | None = None) -> Blob:
        """Keep bytes and return what they are called by; the same bytes again are kept once, under the type that was said first."""
        kept, blob = await weighed(data, mime=mime)
        self._check_writable()
        return await self._read(partial(self._lanes.blobs.put, blob=blob, data=kept, at=clock.now()))

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged where they are not those that were put."""
        return await self._read(partial(self._lanes.blobs.got, digest=digest, path=self._server.label))

    async def blobs(self) -> list[Blob]:
        """Return what is kept, by digest."""
        return await self._read(self._lanes.blobs.listed)

    async def archive(self, tape: str, *, upto: int) -> ArchiveReport:
        """Compress those entries up to an id that the tape itself keeps in this generation; their rows stay, what they say goes to segments.

        Each segment is written, read back and taken out of its rows in one transaction; others append meanwhile. Raises StoreDamaged, BranchNotFound.
        """
        checked_name(tape)
        self._check_writable()
        return await archived_in_steps(tape, partial(self._lanes.archive, tape, upto=upto))

    async def compact(self) -> None:
        """Give the room that was freed back to the server's disk: the tables are written anew, which takes as much room again meanwhile; others who use them wait."""
        self._check_writable()
        await self._lanes.compact()

    async def idle_blobs(self, *, since: datetime) -> list[Blob]:
        """Return the blobs that were not put since an instant, and that no append named since."""
        return await self._read(partial(self._lanes.blobs.idle, since=since))

    async def named_blobs(self) -> AsyncGenerator[BlobNames, None]:
        """Yield, a part at a time, every digest that a row names, of whatever tape and generation. Raises StoreDamaged at one that is not as it was written."""
        total, done = await self._read(self._lanes.marking.number), 0
        place: Any = self._lanes.marking.BEGINNING
        while place is not None:
            part = await self._read(partial(self._lanes.marking.marked, behind=place))
            done, place = done + part.rows, part.last
            yield BlobNames(digests=part.digests, done=done, total=done if place is None else max(done, total))

    async def drop_blobs(self, digests: Iterable[str], *, idle_since: datetime) -> list[str]:
        """Remove blobs in one transaction, each only if it was neither put nor named by an append since an instant, nor is at this moment; return those that were removed."""
        self._check_writable()
        return await self._read(partial(self._lanes.blobs.drop, digests=tuple(digests), idle_since=idle_since))

    async def aclose(self) -> None:
        """Finish what waits and let go of the server; closing twice is fine."""
        self._closed = True
        await to_thread.run_sync(self._lanes.close)

    async def _append(self, work: Work) -> tuple[tuple[TapeEntry, ...], ...]:
        self._check_writable()
        return cast("tuple[tuple[TapeEntry, ...], ...]", await self._lanes.append(work))

    async def _change(self, work: Work) -> Any:
        self._check_writable()
        return await self._lanes.change(work)

    async def _do(self, tape: str, do: Callable[[Any], Result], *, makes: bool = True, purges: bool = False) -> Result:
        """Have something done to the family of a tape, by the clock of the task that asks for it."""
        self._check_writable()
        context = copy_context()
        done: Result = await self._lanes.do(tape, lambda family: context.run(do, family), makes=makes, purges=purges)
        return done

    async def _read(self, ask: Callable[[Any], Result]) -> Result:
        self._check_open()
        answer: Result = await self._lanes.ask(ask)
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store at {self._server.label} is closed; open it again with PostgresTapeStore(conninfo).")

    def _check_writable(self) -> None:
        self._check_open()
        if self._server.read_only:
            raise ReadOnly(f"The store at {self._server.label} was opened to be read only; open it without read_only to write.")


def _nothing(_: object) -> None:
    """Do nothing, for which the server is reached."""


def _check(server: Server, *, connections: int) -> None:
    if server.durability not in get_args(Durability):
        raise InvalidInput(f"A store's durability is 'disk' or 'process', not {server.durability!r}.")
    if server.search not in get_args(SearchBy):
        raise InvalidInput(f"A store is searched by 'index' or by 'scan', not by {server.search!r}.")
    if not isinstance(connections, int) or connections < 1:
        raise InvalidInput(f"A store answers over at least one connection, not {connections!r}.")
    if server.tenant:
        _checked_word(server.tenant, "tenant")


def _checked_schema(schema: str) -> str:
    if _checked_word(schema, "schema") == "information_schema" or schema.startswith("pg_"):
        raise InvalidInput(f"The schema {schema!r} is PostgreSQL's own; keep tapes in one of another name, such as 'playhead', which is made where it is missing.")
    return schema


def _checked_word(word: str, what: str) -> str:
    if not isinstance(word, str) or not word or "\0" in word or len(word.encode("utf-8", "surrogatepass")) > _LONGEST or not word.isprintable():
        raise InvalidInput(f"A store's {what} is a printable text of at most {_LONGEST} bytes, not {word!r}.")
    return word
