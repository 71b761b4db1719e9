"""What every handle of a tape has: its store, its name, how it reads, and what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.errors import InvalidInput, NoAnchors, TapeNotScoped
from playhead.store.adapt import adapt
from playhead.store.protocol import AsyncTapeStore, Head, TapeStore, WholeStore
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import LIMIT
from playhead.store.ranked.hit import Hit
from playhead.tape import summary
from playhead.tape.searching import found, narrowed
from playhead.tape.sidecar import Mounts
from playhead.tape.summary import AnchorSummary, TapeInfo
from playhead.view.amends import Amends
from playhead.view.bodies import messages
from playhead.view.context import LAST_ANCHOR, AnchorChoice, TapeContext, default_tape_context
from playhead.view.plan import Units
from playhead.view.reader import TapeReader
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Unit


class Handle:
    """A tape of a store as it is read through one context."""

    def __init__(
        self,
        store: TapeStore | AsyncTapeStore | WholeStore,
        name: str | None = None,
        *,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        archives: str | Path | None = None,
        sidecars: Iterable[object] = (),
    ) -> None:
        self.store = adapt(store)
        self.context = default_tape_context() if context is None else context
        self.counter = default_counter() if counter is None else counter
        self.archives = Path(archives) if archives is not None else None
        self.sidecars = sidecars if isinstance(sidecars, Mounts) else Mounts(sidecars)
        self._name = None if name is None else tape_name(name)
        self._reader = TapeReader(self.store, self._name) if self._name is not None else None
        self._at: int | None = None
        self._owns_store = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})" if self._at is None else f"{type(self).__name__}({self._name!r}, at={self._at})"

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

    async def search(
        self,
        text: str,
        *,
        kinds: Iterable[str] | None = None,
        after_anchor: AnchorChoice = None,
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = LIMIT,
        smoothed: bool = False,
    ) -> list[Hit]:
        """Return the entries that are most about a text, the best first, of equally good ones the newest; of equal payloads one.

        Words count in any form and order, the rarer the more; one that stands nowhere is looked for with a typo or two.
        `after_anchor` is an anchor's name or LAST_ANCHOR, `since` and `until` are both included, a bare date is its whole day.
        With `smoothed` what was said just before and behind a hit gets a share of its score: answers that do not repeat the
        words of their question are found too. None for a text without words.
        Raises NoAnchors, AnchorNotFound, InvalidDate, InvalidInput.
        """
        query = narrowed(self.query(), kinds=kinds, after_anchor=after_anchor, since=since, until=until)
        return await found(self.store, query.limit(limit), text, smoothed=smoothed)

    async def anchors(self, limit: int = 20) -> list[AnchorSummary]:
        """Return the last `limit` anchors, oldest first; none for 0."""
        return await summary.anchors(self.query(), limit)

    async def info(self) -> TapeInfo:
        """Return what the tape holds; costs the same for any length."""
        return await summary.summarised(self.store, self.query())

    async def read(self, *, tail_tokens: int | None = None, head_tokens: int = 0, folded: Iterable[tuple[int, int]] = ()) -> Units:
        """Load the view as units, priced: its tail up to `tail_tokens` (None: all), its first `head_tokens`, its lead.

        `folded` are runs of entries, first and last id, that need not be loaded: those inside the view become gaps. A selector of
        the user's own is given the whole view all the same.
        """
        return await self._scoped_reader().read(self.context, counter=self.counter, tail_tokens=tail_tokens, head_tokens=head_tokens, folded=folded, at=self._at)

    async def read_range(self, first: int, last: int) -> tuple[Unit, ...]:
        """Load the units of the entries `first` to `last` as the context shows them, also where its view starts behind them.

        Ready-made selectors see these units alone; of what a selector of the user's own makes of the whole view, the units whose
        entries all lie there are returned.
        """
        return await self._scoped_reader().read_range(self.context, counter=self.counter, first=first, last=last, at=self._at)

    async def amends(self) -> Amends:
        """Return which entries change earlier ones, as the tape is now, also for a handle of the past; costs what came since the last look."""
        return await self._scoped_reader().amends()

    async def boundary(self) -> TapeEntry | None:
        """Return the anchor that reading starts behind, None where the view starts with the tape. Raises AnchorNotFound."""
        return await self._scoped_reader().boundary(self.context, at=self._at)

    async def read_messages(self) -> list[Message]:
        """Return the messages of the view. Raises NoAnchors where it starts behind the newest anchor and there is none."""
        if self.context.anchor is LAST_ANCHOR and await self.boundary() is None and not await self.anchors(1):
            raise NoAnchors
        return list(messages(await self.read()))

    def _scoped_reader(self) -> TapeReader:
        if self._reader is None:
            raise TapeNotScoped
        return self._reader


def tape_name(name: object) -> str:
    """Return a tape's name. Raises InvalidInput for anything but a non-empty text."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"A tape's name is a non-empty text, not {name!r}.")
    return name
