"""Compiling for one manager: with its holds and its calibration, and what the last live compile was made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from playhead.errors import OverBudgetError
from playhead.fold.calibration import CEILING, epoch_of, factor_of, learnt
from playhead.fold.ledger.entries import calibration_entry
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.folding.makeup import RenderStats, makeup
from playhead.prompt.folding.state import FoldState
from playhead.prompt.injection import Injection
from playhead.prompt.manager.holding import Holding
from playhead.prompt.manager.memories import Memories
from playhead.prompt.manager.ticking import Ticking
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategy import Strategy
from playhead.tape.tape import Tape


class Compiling:
    """Compiles one tape. `stats` is the makeup of the last live compile, None before the first."""

    def __init__(self, tape: Tape, *, holding: Holding, memories: Memories, ticking: Ticking) -> None:
        self._tape = tape
        self._holding = holding
        self._memories = memories
        self._ticking = ticking
        self._counted: int | None = None
        self.stats: RenderStats | None = None

    async def compile(self, budget: Budget | None, injections: Iterable[Injection] = (), *, strategy: Strategy, dry_run: bool = False, request_overhead: Mapping[str, object] | None = None) -> Prompt:
        """Return the prompt for a budget, less what the provider was found to count more; only a live compile is remembered."""
        self._holding.expired()
        if isinstance(strategy, AutobiographicalStrategy):
            strategy.frozen_from = await self._holding.frozen_from()
        factor, whole = await self._factor(), budget or Budget()
        try:
            prompt = await compile(self._tape, _scaled(whole, factor), strategy=strategy, injections=injections, dry_run=dry_run, request_overhead=request_overhead)
        except OverBudgetError as refused:
            self._ticking.demand(refused)
            raise _unscaled(refused, whole, factor) from refused
        folds = prompt.plan.state.moves if isinstance(prompt.plan.state, FoldState) else 0
        stats = makeup(prompt.plan, prompt.stats, factor=factor, ceiling=CEILING, folds=folds)
        if not dry_run:
            self._ticking.demand(None)
            self.stats, self._counted = stats, prompt.stats.total
        return replace(prompt, render_stats=stats, budget=whole)

    def go_on_from(self, before: Compiling) -> None:
        """Take over what is known of the last live compile."""
        self.stats, self._counted = before.stats, before._counted

    async def learn(self, reported: int) -> float:
        """Return the factor in force after a provider counted `reported` tokens for the last live compile; one report a compile counts."""
        factor, counted = await self._factor(), self._counted
        if counted is None or reported <= 0:
            return factor
        self._counted = None
        moved = learnt(factor, counted=counted, reported=reported, counter=self._tape.counter)
        if moved != factor:
            await self._memories.keep([calibration_entry(moved, epoch_of(self._tape.counter))])
        return moved

    async def _factor(self) -> float:
        return factor_of(await self._memories.forest(), self._tape.counter)


def _unscaled(error: OverBudgetError, budget: Budget, factor: float) -> OverBudgetError:
    """Return a refusal that speaks of the budget as its user set it; what the provider counts more takes its part of that."""
    more = budget.room - int(budget.room / factor)
    if factor == 1.0 or error.budget is None:
        return error
    diagnostics = {**error.diagnostics, "configured_budget": budget.max_tokens, "factor": factor}
    return OverBudgetError(
        needed=error.needed, room=error.room, what=error.what, budget=budget.max_tokens, taken={**error.taken, "provider's own count": more}, diagnostics=diagnostics, advice=error.advice
    )


def _scaled(budget: Budget, factor: float) -> Budget:
    """Return the budget as our counter counts: its room less, or more, by the factor."""
    return budget if factor == 1.0 else replace(budget, max_tokens=budget.reserve_for_response + max(1, int(budget.room / factor)))
