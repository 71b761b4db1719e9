"""What a manager does with summaries: ticks, holds, pins, locks, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime

from playhead import clock as clocks
from playhead.entry.message import Message
from playhead.errors import ManagerClosed
from playhead.fold.choosing.debt import Debt
from playhead.fold.choosing.holds import Hold
from playhead.fold.choosing.quarantine import Alarm, Quarantine, quarantine
from playhead.fold.forest import Pin
from playhead.fold.ledger.search import Placed, SummaryHit
from playhead.fold.node import Node
from playhead.fold.ticker import Ticked
from playhead.prompt.manager.holding import Holding
from playhead.prompt.manager.memories import Memories
from playhead.prompt.manager.receipts import FoldReceipt
from playhead.prompt.manager.ticking import Alarms, Ticking


class Remembering:
    """The half of ContextManager that is about summaries; one class to its users, two files to its readers."""

    _holding: Holding
    _memories: Memories
    _ticking: Ticking
    _is_automatic: bool
    _alarms: Alarms
    _is_closed: bool
    _clock: clocks.Clock | None

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """See that the manager is open, and that its clock tells the time inside."""
        if self._is_closed:
            raise ManagerClosed
        with nullcontext() if self._clock is None else clocks.using(self._clock):
            yield

    async def tick(self) -> Ticked:
        """Write one summary or make one merge, if any is due; what came of it is true where it did.

        Raises NoCompressionModel where one is due and no model is named, and what a drain in the background has raised before.
        """
        with self._in_use():
            return await self._ticking.tick()

    async def drain(self, *, progress: Callable[[Ticked], object] | None = None) -> int:
        """Tick until nothing is due, or what is due must wait; return how many jobs were done."""
        with self._in_use():
            return await self._ticking.drain(progress=progress)

    async def settled(self) -> None:
        """Wait for what `auto_tick_on_new_message` does in the background. Raises what it raised."""
        with self._in_use():
            await self._ticking.settled()

    async def hold_compression(self, ids: str | Iterable[str], *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - how long it holds
        """Keep messages, and all that follows, from being summarised until they are released, or for `timeout` seconds. Raises MessageNotFound.

        For what will still be edited: edit first, then release. Holds live in memory alone.
        """
        with self._in_use():
            await self._holding.hold((ids,) if isinstance(ids, str) else ids, timeout=timeout)

    async def release_compression(self, ids: str | Iterable[str]) -> None:
        """Let go of messages; unknown ones are passed over."""
        with self._in_use():
            await self._holding.release((ids,) if isinstance(ids, str) else ids)
            if self._is_automatic:
                self._ticking.start()

    def compression_holds(self) -> tuple[Hold, ...]:
        """Return what is held, since when, and until when."""
        with self._in_use():
            return self._holding.details

    async def pin_range(self, first: str, last: str, *, name: str | None = None, level: int | None = None, max_level: int | None = None) -> str:
        """Keep messages in place as they are, from one to another, in either order; return the pin's id. Raises MessageNotFound.

        `level` and `max_level` are kept; the resolvers there are show the messages raw whatever they say.
        """
        with self._in_use():
            return await self._memories.pin(first, last, name=name, kind="range", level=level, max_level=max_level)

    async def mark_document(self, id: str, *, name: str | None = None, level: int | None = None, max_level: int | None = None) -> str:
        """Keep one message in place as it is; return the pin's id. Raises MessageNotFound."""
        with self._in_use():
            return await self._memories.pin(id, id, name=name, kind="document", level=level, max_level=max_level)

    async def unpin(self, pin: str) -> bool:
        """Let go of a pin; whether there was one."""
        with self._in_use():
            return await self._memories.unpin(pin)

    async def list_pins(self) -> tuple[Pin, ...]:
        """Return the pins, in the order they were made."""
        with self._in_use():
            return await self._memories.pins()

    async def lock_chunk(self, id: str) -> None:
        """Have resolvers leave it as it is how deep a message is told. Raises MessageNotFound."""
        with self._in_use():
            await self._memories.lock(id, is_locked=True)

    async def unlock_chunk(self, id: str) -> None:
        """Let resolvers fold a message again. Raises MessageNotFound."""
        with self._in_use():
            await self._memories.lock(id, is_locked=False)

    async def search_summaries(self, text: str | None = None, *, regex: str | None = None, levels: Collection[int] | None = None, limit: int = 50, include_merged: bool = False) -> list[SummaryHit]:
        """Return the summaries that hold a text, or match a regular expression, the most matches first, then the newest; without either all of them."""
        with self._in_use():
            return await self._memories.search(text=text, regex=regex, levels=levels, limit=limit, include_merged=include_merged)

    async def get_summary(self, id: str) -> Node:
        """Return a summary by what it is called, such as `L1-3`. Raises SummaryNotFound."""
        with self._in_use():
            return await self._memories.summary(id)

    async def read_summary(self, id: str) -> tuple[Message, ...]:
        """Return what a summary tells, word for word: the messages under it, however deep. Raises SummaryNotFound."""
        with self._in_use():
            return await self._memories.words(id)

    async def get_summaries_in_range(self, since: datetime | str | None = None, until: datetime | str | None = None, *, level: int | None = None) -> list[Placed]:
        """Return the summaries of what happened between two instants, by when it began; one and its parent may both be there."""
        with self._in_use():
            return await self._memories.in_range(since=since, until=until, level=level)

    async def max_summary_level(self) -> int:
        """Return the highest level of any summary, 0 without one."""
        with self._in_use():
            return await self._memories.deepest()

    async def list_fold_receipts(self, *, limit: int = 10, after: str | None = None) -> tuple[FoldReceipt, ...]:
        """Return when what is shown of the past changed, and how: the newest first; with `after`, a receipt's id, those behind it, the oldest first."""
        with self._in_use():
            return await self._memories.receipts(limit=limit, after=after)

    async def forget_summary(self, id: str, *, reason: str = "") -> Node:
        """Take back a summary and those above it, so that what they told is told anew, by whom `compression_model` names then; return it. Raises SummaryNotFound."""
        with self._in_use():
            return await self._memories.forget(id, reason=reason)

    async def compression_debt(self) -> Debt | None:
        """Return how far summaries are behind the tape, None for a strategy that writes none; reads all that waits."""
        with self._in_use():
            return await self._ticking.debt()

    async def quarantine_status(self) -> Quarantine:
        """Return what could not be summarised and stays as it is."""
        with self._in_use():
            return quarantine(await self._memories.forest())

    async def clear_quarantine(self, key: str | None = None) -> int:
        """Have what is in quarantine tried again: one span by its key, or all; return how many there were."""
        with self._in_use():
            return await self._memories.clear(key)

    def on_quarantine_alarm(self, handler: Callable[[Alarm], object] | None) -> None:
        """Have a function told, while ticks go on, of what is in quarantine, and once that nothing is any more."""
        self._alarms.handler = handler
