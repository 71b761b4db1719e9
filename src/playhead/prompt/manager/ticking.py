"""Ticking: summaries written for one manager, one at a time, when it is asked to or in the background."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

import anyio
import anyio.lowlevel

from playhead import clock
from playhead.errors import OverBudgetError
from playhead.fold.choosing.debt import Debt, debt
from playhead.fold.choosing.quarantine import Alarm, alarm, quarantine
from playhead.fold.resolvers.protocol import Produce
from playhead.fold.ticker import NOTHING, Identity, Ticked, Ticker, Waiting
from playhead.fold.writing.naming import Writers
from playhead.model.protocol import Model
from playhead.prompt.manager.holding import Holding
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.tape.background import Background
from playhead.tape.tape import Tape

_log = logging.getLogger("playhead")
_LONGEST_ERROR = 500

BUSY = Ticked(did="nothing", why="a summary is being written already")
NO_SUMMARIES = Ticked(did="nothing", why="the strategy writes no summaries")


class Alarms:
    """Who is told of quarantine, and when that was last: it outlives the strategy and the branch."""

    def __init__(self) -> None:
        self.handler: Callable[[Alarm], object] | None = None
        self.last: datetime | None = None


class Ticking:
    """Writes what is due for the strategy of one manager on one tape. `close` it when the tape, the branch or the strategy becomes another."""

    def __init__(self, tape: Tape, strategy: object, *, holding: Holding | None, client: Model | str | None, identity: Identity, alarms: Alarms | None = None) -> None:
        self.client = client
        self.identity = identity
        self._is_open = True
        self._is_busy = False
        self._idle: anyio.Event
        self._background: Background | None = None
        self._failure: Exception | None = None
        self._alarms = Alarms() if alarms is None else alarms
        self._strategy = strategy if isinstance(strategy, AutobiographicalStrategy) else None
        self._ticker: Ticker | None = None
        self._writers: Writers | None = None
        if self._strategy is not None:
            self._writers = Writers(self._strategy.config, client=client)
            self._ticker = self._strategy.ticker(tape, writer=self._writers.named, identity=identity, frozen_from=_frozen(holding), is_current=lambda: self._is_open)

    @property
    def ticker(self) -> Ticker | None:
        """What does the jobs, None for a strategy that writes no summaries."""
        return self._ticker

    @property
    def is_busy(self) -> bool:
        """Whether a summary is being written, or a drain runs."""
        return self._is_busy or self._background is not None

    async def tick(self) -> Ticked:
        """Do at most one job. Raises what a drain in the background has raised before, once."""
        self._surface()
        return await self._tick()

    async def drain(self, *, progress: Callable[[Ticked], object] | None = None) -> int:
        """Do jobs until none is due or one waits; return how many were done. The event loop gets its turn between two."""
        if self._background is not None:
            await self._background.done()
        while self._is_busy:
            await self._idle.wait()
        self._surface()
        return await self._drained(progress)

    def start(self) -> None:
        """Drain in the background, unless that is done already; what it raises is logged, and raised by the next call that ticks."""
        if self._ticker is None or self._background is not None or not self._is_open:
            return
        self._background = Background(self._draining)

    async def settled(self) -> None:
        """Wait until nothing is done in the background. Raises what it raised."""
        while self._background is not None:
            await self._background.done()
        self._surface()

    def demand(self, refused: OverBudgetError | None) -> None:
        """Have the summaries written ahead of their time that a refused compile lacked; None once one was not refused."""
        if self._ticker is not None:
            wanted = None if refused is None else refused.diagnostics.get("wanted")
            self._ticker.demands = tuple(Produce(**one) for one in wanted) if isinstance(wanted, list) else ()

    async def waiting(self) -> Waiting | None:
        """Return what is due; reads the whole backlog."""
        return None if self._ticker is None else await self._ticker.waiting()

    async def debt(self) -> Debt | None:
        """Return how far summaries are behind."""
        waiting = await self.waiting()
        if waiting is None:
            return None
        oldest = await self._ticker.written_at(waiting.chunks[0].last) if self._ticker is not None and waiting.chunks else None
        return debt(waiting.forest, now=clock.now(), pending=len(waiting.chunks), oldest=oldest, merges=waiting.merges)

    async def aclose(self) -> None:
        """Stop: what is being written is thrown away; let go of the model."""
        self._is_open = False
        background = self._background
        try:
            if background is not None:
                background.cancel()
                await background.ended()
            if self._writers is not None:
                await self._writers.aclose()
        except Exception as exc:  # noqa: BLE001 - a model that cannot be closed must not keep the rest open
            _log.error("What wrote summaries could not be closed: %s: %.*s", type(exc).__name__, _LONGEST_ERROR, exc)

    async def _tick(self) -> Ticked:
        if self._ticker is None or not self._is_open:
            return NO_SUMMARIES
        if self._is_busy:
            return BUSY
        self._is_busy, self._idle = True, anyio.Event()
        try:
            await self._alarmed()
            return await self._ticker.tick()
        finally:
            self._is_busy = False
            self._idle.set()

    async def _drained(self, progress: Callable[[Ticked], object] | None = None) -> int:
        done = 0
        while self._is_open:
            ticked = await self._tick()
            if progress is not None and ticked.did != NOTHING.did:
                progress(ticked)
            if not ticked:
                break
            done += 1
            await anyio.lowlevel.checkpoint()
        return done

    async def _draining(self) -> None:
        try:
            await self._drained()
        except Exception as exc:  # noqa: BLE001 - whoever ticks next is told
            self._failure = exc
            _log.error("Summaries in the background stopped: %s: %.*s", type(exc).__name__, _LONGEST_ERROR, exc)
        finally:
            self._background = None

    async def _alarmed(self) -> None:
        strategy, ticker = self._strategy, self._ticker
        if strategy is None or ticker is None or not strategy.config.quarantine_alarm_interval:
            return
        now = clock.now()
        told = alarm(quarantine(await ticker.forest()), last=self._alarms.last, now=now, interval=strategy.config.quarantine_alarm_interval)
        if told is None:
            return
        self._alarms.last = now if told.kind == "alarm" else None
        if told.kind == "alarm":
            _log.warning("Spans that cannot be summarised stay as they are (%d): %s.", told.count, ", ".join(told.keys))
        else:
            _log.warning("Nothing is left that cannot be summarised.")
        if self._alarms.handler is not None:
            try:
                self._alarms.handler(told)
            except Exception:  # noqa: BLE001 - a handler may raise anything
                _log.exception("The alarm's handler failed.")

    def _surface(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


def _frozen(holding: Holding | None) -> Callable[[], Awaitable[int | None]]:
    async def nothing_held() -> int | None:
        return None

    return nothing_held if holding is None else holding.frozen_from
