"""The demo's memory: its conversation folded, what the model sees in place of what is old, and its last calls with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.remembering import tellers
from playhead.cli.steps import WrittenSteps
from playhead.cli.transcript import message_lines
from playhead.entry.entry import TapeEntry
from playhead.fold.node import Node
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from playhead.view.plan import Span

RECENT = 6_000
"""How many of the newest tokens stay raw in the demo."""

WHOLE = default_tape_context(anchor=None)
SEEN = 4
"""How many lines of a summary are shown as the model sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The conversation with its memory: how many summaries there are by level, the prompts, and which summaries tell what was asked for."""

    levels: dict[int, int]
    prompts: tuple[Prompt, ...]
    told_by: tuple[Node, ...]

    @property
    def first(self) -> Span:
        """The first summary as the first prompt shows it."""
        return next(span for span in self.prompts[0].plan.spans if span.messages)


def memory_strategy() -> AutobiographicalStrategy:
    """Return how the demo folds: offline, by extracts."""
    return AutobiographicalStrategy(compression_model=EXTRACTIVE, recent_window_tokens=RECENT)


async def folded(tape: Tape, budgets: Sequence[Budget], *, asked: int) -> Folded:
    """Write the summaries that are due of a tape, and compile it with them; `asked` is the entry that is asked for."""
    strategy, whole = memory_strategy(), tape.with_context(WHOLE)
    await _write(whole, strategy)
    prompts = [await compile(whole, budget, strategy=strategy, dry_run=True) for budget in budgets]
    memory = strategy.memory(whole)
    return Folded(levels=dict((await memory.look()).counts), prompts=tuple(prompts), told_by=await tellers(memory, asked))


async def prompts_as_it_went(entries: Sequence[TapeEntry], ends: Sequence[int], budget: Budget) -> list[Prompt]:
    """Return the prompts of calls at the entries `ends`, with summaries written between them as the conversation went on."""
    store = InMemoryTapeStore()
    try:
        tape, strategy = Tape(store, "replay", context=WHOLE), memory_strategy()
        prompts = []
        for before, end in pairwise((0, *ends)):
            await tape.append_many(entries[before:end])
            await _write(tape, strategy)
            prompts.append(await compile(tape, budget, strategy=strategy))
        return prompts
    finally:
        await store.aclose()


async def _write(tape: Tape, strategy: AutobiographicalStrategy) -> None:
    async with WrittenSteps(tape, strategy) as steps:
        async for _ in steps:
            pass


def seen_lines(span: Span, *, width: int | None) -> Iterator[Text]:
    """Yield how a summary stands in a prompt, its beginning."""
    question, answer = (list(message_lines(message, width=width)) for message in span.messages[:2])
    yield from question
    yield from answer[: SEEN + 1]
    if len(answer) > SEEN + 1:
        yield Text("    …", style="dim")
