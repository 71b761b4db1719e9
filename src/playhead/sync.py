"""The same names without `await`: blocking twins, served by one event loop in a thread of its own.

The loop starts with the first call and serves them all, from whichever thread they come, also from one that runs an
event loop itself. It ends with the process; a forked child starts its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast, overload

import anyio
from anyio.from_thread import BlockingPortal

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.errors import InvalidInput
from playhead.importers import driver
from playhead.importers.report import ImportReport, Progress
from playhead.prompt import compile as compiler
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.store import query as queries
from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.tape import tape as tapes
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter

__all__ = ["Tape", "TapeQuery", "compile", "import_file", "open_tape", "wait"]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class _Portal:
    """The event loop that blocking calls run on, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None

    def get(self) -> BlockingPortal:
        """Return the running loop's portal."""
        with self._lock:
            if self._portal is None:
                self._portal = self._start()
            return self._portal

    def _start(self) -> BlockingPortal:
        started: Future[BlockingPortal] = Future()

        async def serve() -> None:
            async with BlockingPortal() as portal:
                started.set_result(portal)
                await portal.sleep_until_stopped()

        # A daemon: a program that ends does not wait for it, and what was not acknowledged by then was not promised.
        threading.Thread(target=anyio.run, args=(serve,), name="playhead-sync", daemon=True).start()
        return started.result()

    def forget(self) -> None:
        """Start anew in a forked child, where the loop's thread does not live on."""
        self._lock, self._portal = threading.Lock(), None


_PORTAL = _Portal()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PORTAL.forget)


def wait(function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an async function to its end on the loop of the blocking twins and return its result.

    Raises InvalidInput where it is called on that loop itself (in a selector or a store that a blocking call runs).
    """
    portal = _PORTAL.get()
    call: Callable[[], Coroutine[Any, Any, R]] = partial(function, *args, **kwargs)
    try:
        future: Future[R] = portal.start_task_soon(call)
    except RuntimeError as exc:
        raise InvalidInput(f"A blocking call cannot be made from inside another one: {exc}; use the async form there.") from exc
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class _Bound(Protocol[P, R_co]):
    """A method to type checkers: keeps the parameters of the async one."""

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Any, P], R_co]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Callable[P, R_co]: ...


def _blocking(method: Callable[Concatenate[tapes.Tape, P], Coroutine[Any, Any, R]]) -> _Bound[P, R]:
    """Return the blocking twin of an async method of a tape."""

    @wraps(method)
    def call(tape: Tape, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return wait(method, tape.asynchronous, *args, **kwargs)

    return cast(_Bound[P, R], call)


def _narrowed(method: Callable[Concatenate[queries.TapeQuery, P], queries.TapeQuery]) -> _Bound[P, TapeQuery]:
    """Return a query's method as one of the blocking query."""

    @wraps(method)
    def call(query: TapeQuery, /, *args: P.args, **kwargs: P.kwargs) -> TapeQuery:
        return TapeQuery(method(query.asynchronous, *args, **kwargs))

    return cast("_Bound[P, TapeQuery]", call)


class TapeQuery:
    """Which entries of one tape, in which order, and how many; iterate it, or call `all()`."""

    def __init__(self, query: queries.TapeQuery) -> None:
        self.asynchronous = query

    after_anchor = _narrowed(queries.TapeQuery.after_anchor)
    last_anchor = _narrowed(queries.TapeQuery.last_anchor)
    between_anchors = _narrowed(queries.TapeQuery.between_anchors)
    between_dates = _narrowed(queries.TapeQuery.between_dates)
    kinds = _narrowed(queries.TapeQuery.kinds)
    query = _narrowed(queries.TapeQuery.query)
    limit = _narrowed(queries.TapeQuery.limit)
    after = _narrowed(queries.TapeQuery.after)
    before = _narrowed(queries.TapeQuery.before)
    up_to = _narrowed(queries.TapeQuery.up_to)
    newest_first = _narrowed(queries.TapeQuery.newest_first)

    def all(self) -> list[TapeEntry]:
        """Run the query and return its entries."""
        return wait(_all, self.asynchronous)

    def __iter__(self) -> Iterator[TapeEntry]:
        entries = aiter(self.asynchronous)
        while page := wait(_page, entries):
            yield from page

    def __repr__(self) -> str:
        return repr(self.asynchronous)


async def _all(query: queries.TapeQuery) -> list[TapeEntry]:
    return [entry async for entry in query]


async def _page(entries: AsyncIterator[TapeEntry]) -> list[TapeEntry]:
    """Return the next entries, as many as the query reads at a time."""
    page: list[TapeEntry] = []
    while len(page) < queries.PAGE:
        try:
            page.append(await anext(entries))
        except StopAsyncIteration:
            break
    return page


class Tape:
    """One tape of a store, read through one context; `with` closes the store where `open_tape` opened it.

    `asynchronous` is the handle behind it.
    """

    def __init__(
        self,
        store: TapeStore | AsyncTapeStore | WholeStore,
        name: str | None = None,
        *,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        archives: str | Path | None = None,
    ) -> None:
        self.asynchronous = tapes.Tape(store, name, context=context, counter=counter, archives=archives)

    @classmethod
    def of(cls, tape: tapes.Tape) -> Tape:
        """Return the blocking twin of a handle."""
        twin = cls.__new__(cls)
        twin.asynchronous = tape
        return twin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.aclose()

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    @property
    def name(self) -> str:
        """The tape's name. Raises TapeNotScoped on a handle without one."""
        return self.asynchronous.name

    @property
    def store(self) -> WholeStore:
        """The store behind it, whose methods are to be awaited."""
        return self.asynchronous.store

    @property
    def context(self) -> TapeContext:
        """How the handle reads."""
        return self.asynchronous.context

    @property
    def states(self) -> dict[str, object]:
        """What strategies want to be told at their next compile of this tape, by name."""
        return self.asynchronous.states

    def scoped(self, name: str, context: TapeContext | None = None) -> Tape:
        """Return a handle for a tape of the same store."""
        return Tape.of(self.asynchronous.scoped(name, context))

    def with_context(self, context: TapeContext) -> Tape:
        """Return another handle on the same tape that reads through `context`; this one stays as it is."""
        return Tape.of(self.asynchronous.with_context(context))

    def at(self, entry: int | TapeEntry) -> Tape:
        """Return a handle that reads the tape as it was when `entry` was its last; it cannot append."""
        return Tape.of(self.asynchronous.at(entry))

    def query(self) -> TapeQuery:
        """Return the query for all entries, to narrow by chaining."""
        return TapeQuery(self.asynchronous.query())

    # Written out: a checker cannot carry over the parameters of a method that takes any `**meta`.

    def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id."""
        return wait(self.asynchronous.append, item, expected_head=expected_head, key=key, **meta)

    def append_event(self, name: str, data: object = None, *, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep something that happened beside the conversation; `key` as for `append`."""
        return wait(self.asynchronous.append_event, name, data, key=key, **meta)

    def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it."""
        return wait(self.asynchronous.handoff, name, state, key=key, **meta)

    aclose = _blocking(tapes.Tape.aclose)
    append_many = _blocking(tapes.Tape.append_many)
    bootstrap = _blocking(tapes.Tape.bootstrap)
    record_chat = _blocking(tapes.Tape.record_chat)
    reset = _blocking(tapes.Tape.reset)
    head = _blocking(tapes.Tape.head)
    search = _blocking(tapes.Tape.search)
    anchors = _blocking(tapes.Tape.anchors)
    info = _blocking(tapes.Tape.info)
    read = _blocking(tapes.Tape.read)
    read_messages = _blocking(tapes.Tape.read_messages)


def open_tape(store: str | Path | TapeStore | AsyncTapeStore | WholeStore, name: str, *, context: TapeContext | None = None, counter: Counter | None = None) -> Tape:
    """Return a handle for a tape of a store, given as one or by its URL; a store opened by URL is closed with the handle."""
    return Tape.of(tapes.open_tape(store, name, context=context, counter=counter))


def compile(
    tape: Tape,
    budget: Budget | None = None,
    *,
    strategy: Strategy | None = None,
    injections: Iterable[Injection] = (),
    dry_run: bool = False,
    request_overhead: Mapping[str, object] | None = None,
) -> Prompt:
    """Compile what a model should see of a tape, as `playhead.compile` does."""
    return wait(compiler.compile, tape.asynchronous, budget, strategy=strategy, injections=injections, dry_run=dry_run, request_overhead=request_overhead)


def import_file(
    path: str | Path,
    *,
    into: Tape,
    format: str = "auto",
    strict: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
    """Read a conversation that another program kept onto a tape, as `playhead.import_file` does."""
    return wait(driver.import_file, path, into=into.asynchronous, format=format, strict=strict, progress=progress)
