"""An agent's memory that folds: its strategy under its own name, and the summaries that are written behind each turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Literal, get_args

from playhead.agent.memory_tools import memory_tools
from playhead.agent.tools import Tool
from playhead.errors import InvalidInput, OverBudgetError
from playhead.fold.ticker import Identity, Ticked
from playhead.model.protocol import Model
from playhead.prompt.manager.ticking import NO_SUMMARIES, Ticking
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategy import Strategy
from playhead.tape.background import Background
from playhead.tape.tape import Tape

Tick = Literal["turn", "manual"]
"""When an agent writes summaries: behind each turn, in the background, or when it is told to."""

REMEMBERED = 256
"""How many tapes an agent writes summaries of before it forgets what it knows of those that wait for nothing."""

Refold = Callable[[Tape, OverBudgetError], Awaitable[int]]
"""Writes the summaries that a compile was refused for want of, and returns how many."""

_log = logging.getLogger("playhead")


def bound(strategy: Strategy | None, *, name: str) -> Strategy | None:
    """Return the strategy of an agent: one that folds keeps its state under the agent's name."""
    return strategy.bound(f"agents/{name}", agent=strategy.config.summary_participant) if isinstance(strategy, AutobiographicalStrategy) else strategy


def tools_of(strategy: Strategy | None) -> tuple[Tool, ...]:
    """Return the tools with which a model reads the memory that its strategy keeps."""
    return memory_tools(strategy) if isinstance(strategy, AutobiographicalStrategy) else ()


class Folding:
    """Writes the summaries of an agent's tapes, one drain a tape at a time; a failure is logged and never that of a turn."""

    def __init__(self, strategy: Strategy | None, *, tick: Tick) -> None:
        if tick not in get_args(Tick):
            raise InvalidInput(f"An agent's tick is 'turn' or 'manual', not {tick!r:.80}.")
        self._strategy = strategy if isinstance(strategy, AutobiographicalStrategy) else None
        self._tick: Tick = tick
        self._running: dict[str, Ticking] = {}
        self._closing: set[Background] = set()

    def start(self, tape: Tape, *, client: Model | str | None, identity: Identity) -> None:
        """Have the summaries of a tape written in the background, where the agent does that by itself."""
        if self._strategy is None or self._tick != "turn":
            return
        self._ticking(tape, client=client, identity=identity).start()

    async def tick(self, tape: Tape, *, client: Model | str | None, identity: Identity) -> Ticked:
        """Write one summary of a tape, if one is due."""
        if self._strategy is None:
            return NO_SUMMARIES
        return await self._ticking(tape, client=client, identity=identity).tick()

    def refold(self, *, client: Model | str | None, identity: Identity) -> Refold | None:
        """Return what a run does where its view does not fit; None for a strategy that does not fold."""
        if self._strategy is None:
            return None

        async def refolded(tape: Tape, refused: OverBudgetError) -> int:
            ticking = Ticking(tape, self._strategy, holding=None, client=client, identity=identity)
            try:
                ticking.demand(refused)
                return await ticking.drain()
            finally:
                await ticking.aclose()

        return refolded

    async def settled(self) -> None:
        """Wait until nothing is written in the background."""
        for ticking in list(self._running.values()):
            try:
                await ticking.settled()
            except Exception:  # noqa: BLE001 - it was logged, and fails no turn
                _log.debug("Summaries stopped in the background, as was logged then.", exc_info=True)

    async def aclose(self) -> None:
        """Stop what is written in the background."""
        running, self._running = self._running, {}
        for ticking in running.values():
            await ticking.aclose()
        for background in tuple(self._closing):
            await background.ended()

    def _ticking(self, tape: Tape, *, client: Model | str | None, identity: Identity) -> Ticking:
        """Return what writes the summaries of a tape, under the identity as it is now; it stays as long as the agent, so that what it knows is not read again."""
        found = self._running.get(tape.name)
        if found is not None and found.client is not client and not found.is_busy:
            self._let_go(self._running.pop(tape.name))
            found = None
        if found is not None:
            found.identity.system_prompt, found.identity.tools = identity.system_prompt, identity.tools
            return found
        if len(self._running) >= REMEMBERED:
            self._forget_idle()
        self._running[tape.name] = Ticking(tape, self._strategy, holding=None, client=client, identity=identity)
        return self._running[tape.name]

    def _forget_idle(self) -> None:
        """Let go of what writes for tapes that wait for nothing, and of the models it opened."""
        for name in [name for name, ticking in self._running.items() if not ticking.is_busy]:
            self._let_go(self._running.pop(name))

    def _let_go(self, ticking: Ticking) -> None:
        async def closed() -> None:
            await ticking.aclose()
            self._closing.discard(background)

        background = Background(closed)
        self._closing.add(background)
