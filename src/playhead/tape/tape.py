"""The tape handle: append, hand off, query, search, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playhead.entry.entry import ANCHOR, EVENT, TapeEntry, event_name, stamped
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.entry.message import Message
from playhead.entry.payload import message_to_entries
from playhead.errors import Conflict, InvalidInput, NoAnchors, ReadOnly, TapeNotScoped
from playhead.store.adapt import adapt
from playhead.store.protocol import IDEMPOTENCY_KEY, AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.store.query import TapeQuery
from playhead.store.search import payload_text
from playhead.store.urls import open_store
from playhead.tape.archive import write_archive
from playhead.tape.record import chat_entries
from playhead.view.context import LAST_ANCHOR, TapeContext, default_tape_context
from playhead.view.pieces import BOOTSTRAP
from playhead.view.plan import Units
from playhead.view.reader import TapeReader
from playhead.view.tokens import Counter, default_counter

OWNER = {"owner": "human"}
RUN_EVENTS_LOOKED_AT = 256
ARCHIVE_ATTEMPTS = 5
"""How often a reset writes its archive anew because the tape grew meanwhile, before it gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSummary:
    """An anchor's name and the state it carries."""

    name: str
    state: FrozenDict
    id: int
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeInfo:
    """What a tape holds: entries, anchors, the newest anchor and what came behind it, and the last run's usage.

    `last_token_usage` is in tokens, `last_cache_hit_rate` a share from 0 to 1; None where no run was recorded.
    """

    name: str
    entries: int
    anchors: int
    last_anchor: str | None
    entries_since_last_anchor: int
    last_token_usage: int | None
    last_cache_hit_rate: float | None
    first_date: str | None
    last_date: str | None


class Tape:
    """One tape of a store, read through one context.

    Making a handle writes nothing. Handles of the same name show the same tape. `async with` closes the store at
    the end where the handle opened it itself (`open_tape`).
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
        self.store = adapt(store)
        self.context = default_tape_context() if context is None else context
        self.counter = default_counter() if counter is None else counter
        self.archives = Path(archives) if archives is not None else None
        self._name = None if name is None else tape_name(name)
        self._reader = TapeReader(self.store, self._name) if self._name is not None else None
        self._at: int | None = None
        self._owns_store = False

    def __repr__(self) -> str:
        return f"Tape({self._name!r})" if self._at is None else f"Tape({self._name!r}, at={self._at})"

    async def __aenter__(self) -> Tape:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the store where this handle opened it."""
        if self._owns_store:
            await self.store.aclose()

    @property
    def name(self) -> str:
        """The tape's name. Raises TapeNotScoped on a handle without one."""
        if self._name is None:
            raise TapeNotScoped
        return self._name

    def scoped(self, name: str, context: TapeContext | None = None) -> Tape:
        """Return a handle for a tape of the same store."""
        return Tape(self.store, name, context=self.context if context is None else context, counter=self.counter, archives=self.archives)

    def with_context(self, context: TapeContext) -> Tape:
        """Return another handle on the same tape that reads through `context`; this one stays as it is."""
        return self._twin(context=context)

    def at(self, entry: int | TapeEntry) -> Tape:
        """Return a handle that reads the tape as it was when `entry` was its last; it cannot append."""
        id = entry.id if isinstance(entry, TapeEntry) else entry
        if not isinstance(id, int) or isinstance(id, bool) or id < 1:
            raise InvalidInput(f"A tape is read at an entry's id, a whole number from 1, not {id!r}.")
        return self._twin(at=id)

    def _twin(self, *, context: TapeContext | None = None, at: int | None = None) -> Tape:
        twin = Tape(self.store, self.name, context=context or self.context, counter=self.counter, archives=self.archives)
        twin._reader, twin._at = self._reader, self._at if at is None else at
        return twin

    async def append(self, item: Message | TapeEntry, *, expected_head: Head | None = None, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep one message or entry at the end of the tape and return it as stored, with its id.

        `key` makes it idempotent: the same key again returns the entry that stands. `meta` is added to the entry's.
        A user's message that holds both tool results and words is two entries; the last is returned.
        Raises Conflict where the tape does not end at `expected_head`; then nothing was written.
        """
        if key is not None:
            meta[IDEMPOTENCY_KEY] = key
        stored = await self.append_many(entries_of(item, meta), expected_head=expected_head)
        return stored[-1]

    async def append_many(self, items: Iterable[Message | TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Keep all items or none, in order, and return them as stored."""
        if self._at is not None:
            raise ReadOnly(f"This handle reads tape '{self.name}' as it was at entry {self._at}; append through a handle of the tape itself.")
        entries = [stamped(e) for item in items for e in entries_of(item, {})]
        return await self.store.append_many(self.name, entries, expected_head=expected_head) if entries else ()

    async def append_event(self, name: str, data: object = None, *, key: str | None = None, **meta: object) -> TapeEntry:
        """Keep something that happened beside the conversation; `key` as for `append`."""
        return await self.append(TapeEntry.event(name, data, **meta), key=key)

    async def record_chat(
        self,
        *,
        run_id: str,
        system_prompt: str | None = None,
        context_error: Exception | None = None,
        new_messages: Iterable[Message | TapeEntry] = (),
        tool_calls: Iterable[Mapping[str, object]] = (),
        tool_results: Iterable[object] | None = None,
        error: Exception | None = None,
        response_text: str | None = None,
        usage: Mapping[str, object] | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> tuple[TapeEntry, ...]:
        """Keep what one call of a model was and gave, all of it or nothing: see `chat_entries` for the order."""
        entries = chat_entries(
            run_id=run_id,
            system_prompt=system_prompt,
            context_error=context_error,
            new_messages=new_messages,
            tool_calls=tool_calls,
            tool_results=tool_results,
            error=error,
            response_text=response_text,
            usage=usage,
            provider=provider,
            model=model,
        )
        return await self.append_many(entries)

    async def handoff(self, name: str, state: Mapping[str, object] | None = None, *, key: str | None = None, **meta: object) -> tuple[TapeEntry, TapeEntry]:
        """Start a new phase: keep an anchor with the state that the next phase inherits, and the event beside it.

        Reading then starts behind the anchor; everything before stays. Both are written or neither.
        """
        if key is not None:
            meta[IDEMPOTENCY_KEY] = key
        anchor, event = await self.append_many(handoff_entries(name, state, meta))
        return anchor, event

    async def bootstrap(self) -> bool:
        """Give a tape without any anchor its first one, `session/start`; returns whether it wrote it. Safe to race."""
        while True:
            head = await self.head()
            if await self.store.fetch_all(TapeQuery(tape=self.name).kinds(ANCHOR).newest_first().limit(1)):
                return False
            try:
                await self.append_many(handoff_entries(BOOTSTRAP, OWNER, {}), expected_head=head)
            except Conflict:
                continue
            return True

    async def reset(self, *, archive: bool | str | Path = False) -> str:
        """Remove all entries and start anew; with `archive` (a directory, or True for the handle's) keep them in a file first.

        Returns "ok" or "Archived: PATH". An entry that comes while the archive is written is archived too; where they
        never stop coming, Conflict is raised and nothing was removed.
        """
        if self._at is not None:
            raise ReadOnly(f"This handle reads tape '{self.name}' as it was; reset through a handle of the tape itself.")
        if archive is False:
            await self.store.reset(self.name, entries=[stamped(e) for e in handoff_entries(BOOTSTRAP, OWNER, {})])
            return "ok"
        directory = self.archives if archive is True else Path(archive)
        if directory is None:
            raise InvalidInput("Name the directory to archive to: reset(archive=DIRECTORY), or make the handle with archives=DIRECTORY.")
        for _ in range(ARCHIVE_ATTEMPTS):
            head = await self.head()
            path = await write_archive(aiter(replace(self.query(), ceiling=head.id)), tape=self.name, directory=directory)
            first = handoff_entries(BOOTSTRAP, {**OWNER, "archived": str(path)}, {})
            try:
                await self.store.reset(self.name, entries=[stamped(e) for e in first], expected_head=head)
            except Conflict:
                path.unlink()
            else:
                return f"Archived: {path}"
        raise Conflict(expected="an end", found="more entries", message=f"Tape '{self.name}' kept growing while its archive was written; stop those who append, then reset.")

    async def head(self) -> Head:
        """Return where the tape ends: its generation and the id of its last entry; for a handle of the past, where that ends."""
        head = await self.store.head(self.name)
        return head if self._at is None else head._replace(id=min(head.id, self._at))

    @property
    def states(self) -> dict[str, object]:
        """What strategies want to be told at their next compile of this tape, by name; it lives as long as this handle and its twins."""
        return self._scoped_reader().states

    def query(self) -> TapeQuery:
        """Return the query for all entries, to narrow by chaining."""
        return TapeQuery(tape=self.name, store=self.store, ceiling=self._at)

    async def search(self, text: str, *, kinds: Iterable[str] = (), limit: int = 20) -> list[TapeEntry]:
        """Return the newest entries whose payload holds the text, newest first; equal payloads once; none for an empty text."""
        if not isinstance(text, str):
            raise InvalidInput(f"A search looks for a text, not {text!r}.")
        if not text:
            return []
        TapeQuery(tape=self.name).limit(limit)
        found: dict[str, TapeEntry] = {}
        async for entry in self.query().kinds(*kinds).query(text).newest_first():
            found.setdefault(payload_text(entry), entry)
            if len(found) >= limit:
                break
        return list(found.values())

    async def anchors(self, limit: int = 20) -> list[AnchorSummary]:
        """Return the last `limit` anchors, oldest first; none for 0."""
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise InvalidInput(f"A number of anchors is a whole number from 0, not {limit!r}.")
        if limit == 0:
            return []
        found = await self.store.fetch_all(self.query().kinds(ANCHOR).newest_first().limit(limit))
        return [AnchorSummary(name=event_name(a) or "-", state=_state(a), id=a.id, date=a.date) for a in reversed(found)]

    async def info(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        query = self.query()
        last = await self.store.fetch_all(query.newest_first().limit(1))
        first = await self.store.fetch_all(query.limit(1))
        anchors = await self.store.fetch_all(query.kinds(ANCHOR).newest_first().limit(1))
        end = last[0].id if last else 0
        usage = await self._last_usage()
        return TapeInfo(
            name=self.name,
            entries=await self._count(query, end),
            anchors=await self.store.count(query.kinds(ANCHOR)),
            last_anchor=event_name(anchors[0]) or "-" if anchors else None,
            entries_since_last_anchor=await self._count(query.after(anchors[0].id), end - anchors[0].id) if anchors else await self._count(query, end),
            last_token_usage=usage["total_tokens"] if usage else None,
            last_cache_hit_rate=_cache_hit_rate(usage) if usage else None,
            first_date=first[0].date if first else None,
            last_date=last[0].date if last else None,
        )

    async def _count(self, query: TapeQuery, dense: int) -> int:
        """Return how many entries a query finds: by their ids where the store numbers without gaps, else by counting."""
        return dense if "D3" in self.store.promises else await self.store.count(query)

    async def _last_usage(self) -> dict[str, Any] | None:
        events = await self.store.fetch_all(self.query().kinds(EVENT).newest_first().limit(RUN_EVENTS_LOOKED_AT))
        for event in events:
            data = event.payload.get("data")
            usage = data.get("usage") if isinstance(data, dict) and event_name(event) == "run" else None
            if isinstance(usage, dict) and type(usage.get("total_tokens")) is int:
                return usage
        return None

    async def read(self, *, tail_tokens: int | None = None, head_tokens: int = 0) -> Units:
        """Load the view as units, priced: its tail up to `tail_tokens` (None: all), its first `head_tokens`, its lead."""
        return await self._scoped_reader().read(self.context, counter=self.counter, tail_tokens=tail_tokens, head_tokens=head_tokens, at=self._at)

    async def read_messages(self) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        if self.context.anchor is LAST_ANCHOR and await self._scoped_reader().boundary(self.context, at=self._at) is None:
            raise NoAnchors
        return [m for unit in await self.read() for m in unit.messages]

    def _scoped_reader(self) -> TapeReader:
        if self._reader is None:
            raise TapeNotScoped
        return self._reader


def open_tape(store: str | Path | TapeStore | AsyncTapeStore | WholeStore, name: str, *, context: TapeContext | None = None, counter: Counter | None = None) -> Tape:
    """Return a handle for a tape of a store, given as one or by its URL; a store opened by URL is closed with the handle."""
    if not isinstance(store, (str, Path)):
        return Tape(store, name, context=context, counter=counter)
    tape_name(name)
    tape = Tape(open_store(str(store)), name, context=context, counter=counter)
    tape._owns_store = True
    return tape


def tape_name(name: object) -> str:
    """Return a tape's name. Raises InvalidInput for anything but a non-empty text."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"A tape's name is a non-empty text, not {name!r}.")
    return name


def entries_of(item: Message | TapeEntry, meta: Mapping[str, object]) -> tuple[TapeEntry, ...]:
    """Return the entries an item is written as. Raises InvalidInput for anything but a Message or an entry."""
    if isinstance(item, TapeEntry):
        return (replace(item, meta=freeze_dict({**item.meta, **meta}, path="meta")) if meta else item,)
    if not isinstance(item, Message):
        raise InvalidInput(f"A tape keeps messages and entries, not {type(item).__name__}; wrap a mapping with TapeEntry.message(...) or TapeEntry.event(...).")
    entries = message_to_entries(item, **meta)
    if len(entries) > 1 and IDEMPOTENCY_KEY in meta:
        return tuple(replace(e, meta=freeze_dict({**e.meta, IDEMPOTENCY_KEY: f"{meta[IDEMPOTENCY_KEY]}:{i}"}, path="meta")) for i, e in enumerate(entries))
    return entries


def handoff_entries(name: str, state: Mapping[str, object] | None, meta: Mapping[str, object]) -> tuple[TapeEntry, TapeEntry]:
    """Return the two entries of a handoff: the anchor, and the event that tells of it."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"An anchor's name is a non-empty text, not {name!r}.")
    if state is not None and not isinstance(state, Mapping):
        raise InvalidInput(f"An anchor's state is a mapping such as {{'summary': ...}}, not {type(state).__name__}.")
    beside = {**meta, IDEMPOTENCY_KEY: f"{meta[IDEMPOTENCY_KEY]}:handoff"} if IDEMPOTENCY_KEY in meta else meta
    return TapeEntry.anchor(name, state, **meta), TapeEntry.event("handoff", {"name": name, "state": state or {}}, **beside)


def _state(anchor: TapeEntry) -> FrozenDict:
    state = anchor.payload.get("state")
    return state if isinstance(state, FrozenDict) else FrozenDict()


def _cache_hit_rate(usage: Mapping[str, Any]) -> float | None:
    details, prompt = usage.get("prompt_tokens_details"), usage.get("prompt_tokens")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return cached / prompt if isinstance(cached, int) and isinstance(prompt, int) and prompt > 0 else None
