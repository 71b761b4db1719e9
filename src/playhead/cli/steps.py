"""Steps: summaries written for a command, one after the other, with what each came to and how much is left."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.entry.entry import TOOL_CALL
from playhead.entry.payload import turn_from_payload
from playhead.fold.choosing.schedule import due_merges
from playhead.fold.forest import Forest, Outcome
from playhead.fold.node import Node
from playhead.fold.recall import RecallPrices, RecallStyle
from playhead.fold.resolvers.protocol import Produce
from playhead.fold.ticker import Identity, Ticked, Ticker
from playhead.fold.writing.naming import Writers
from playhead.fold.writing.summarizer import Summarizer
from playhead.model.protocol import ToolSpec
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.tape.tape import Tape

MOST_LOST = 8
"""So many times in a row somebody else may have been faster before a command gives up."""

ANYTHING: Mapping[str, Any] = {"type": "object"}
"""The arguments of a tool of which only the name is on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one tick came to.

    `tokens` is what the summary that was written costs as it is shown, None where none was. `left` is how many chunks and merges are
    due now; more merges come due as summaries are written. `failed` is what a failure is about, where that is on record.
    """

    ticked: Ticked
    tokens: int | None
    left: int
    failed: Outcome | None = None

    @property
    def node(self) -> Node | None:
        """The summary that was written."""
        return self.ticked.node


class Steps:
    """Writes the summaries of a tape that are due; iterate over it until nothing is, or what is due must wait."""

    def __init__(self, tape: Tape, strategy: AutobiographicalStrategy, *, writer: Callable[[], Awaitable[Summarizer | None]], tools: Sequence[ToolSpec] = ()) -> None:
        self._strategy = strategy
        self._prices = RecallPrices(tape.counter, RecallStyle.of(strategy.config))
        self._chunks = 0
        self.ticker: Ticker = strategy.ticker(tape, writer=writer, identity=Identity(tools=tuple(tools)), frozen_from=_nothing_held, is_current=lambda: True)

    async def __aiter__(self) -> AsyncIterator[Step]:
        self._chunks = len((await self.ticker.waiting()).chunks)
        lost = 0
        while lost < MOST_LOST:
            ticked = await self.ticker.tick()
            if ticked.did == "nothing":
                return
            yield await self._step(ticked)
            lost = lost + 1 if ticked.did == "lost" else 0
            if not ticked and not lost:
                return

    def demand(self, wanted: object) -> bool:
        """Have the summaries written ahead of their time that a compile was refused for; whether there are any."""
        self.ticker.demands = tuple(Produce(**one) for one in wanted) if isinstance(wanted, list) else ()
        return bool(self.ticker.demands)

    async def _step(self, ticked: Ticked) -> Step:
        forest = await self.ticker.forest()
        failed = forest.outcomes[-1] if ticked.did == "failed" and forest.outcomes else None
        level = ticked.node.level if ticked.node is not None else 0 if failed is None or not failed.is_stuck else failed.level
        self._chunks = max(0, self._chunks - (level == 1))
        return Step(ticked=ticked, tokens=None if ticked.node is None else self._prices.of(ticked.node), left=self._left(forest), failed=failed)

    def _left(self, forest: Forest) -> int:
        return self._chunks + len(due_merges(forest, self._strategy.config))


class WrittenSteps:
    """The steps of a command whose strategy names who writes; `async with` lets go of the model at the end."""

    def __init__(self, tape: Tape, strategy: AutobiographicalStrategy) -> None:
        # What the library logs of pauses and failures, each command says itself.
        logging.getLogger("playhead").addHandler(logging.NullHandler())
        self._tape = tape
        self._strategy = strategy
        self._writers = Writers(strategy.config)

    async def __aenter__(self) -> Steps:
        named = self._strategy.config.compression_model
        tools = () if named in (None, EXTRACTIVE) else await tools_called(self._tape)
        return Steps(self._tape, self._strategy, writer=self._writers.named, tools=tools)

    async def __aexit__(self, *_: object) -> None:
        await self._writers.aclose()


async def tools_called(tape: Tape) -> tuple[ToolSpec, ...]:
    """Return the tools that were called on a tape, by name: a provider takes calls only of tools that are declared, and only names are on record."""
    names: set[str] = set()
    async with aclosing(aiter(tape.query().kinds(TOOL_CALL))) as entries:  # type: ignore[type-var]
        async for entry in entries:
            names.update(call.name for call in turn_from_payload(entry.payload).calls)
    return tuple(ToolSpec(name=name, description="", parameters=ANYTHING) for name in sorted(names))


def nothing_due(strategy: AutobiographicalStrategy, args: Namespace) -> str:
    """Say why no summary of a tape is due."""
    config = strategy.config
    most = "" if config.recent_window_share is None else f", {config.recent_window_share:.0%} of the room at most,"
    count = config.l1_holdback_chunks
    held = ", and the newest chunk of what is older waits" if count == 1 else f", and the newest {count:,} chunks of what is older wait" if count else ""
    return f"Nothing is due on tape '{args.tape}': the newest {config.recent_window_tokens:,} tokens{most} stay raw (--recent){held}; a chunk has {config.target_chunk_tokens:,} tokens."


async def _nothing_held() -> int | None:
    """Return that nothing is held: holds live in the memory of the program that holds."""
    return None
