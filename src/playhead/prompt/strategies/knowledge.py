"""Knowledge: autobiographical, cut by what the agent was doing, and folded by how much each of that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from playhead.errors import InvalidOption
from playhead.fold.choosing.chunks import Chunk
from playhead.fold.choosing.phases import PhaseTools, phase_chunks
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.resolvers.by_phase import ByPhase
from playhead.fold.resolvers.choice import resolver_for
from playhead.fold.resolvers.protocol import Resolver
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.view.units import Unit


class KnowledgeStrategy(AutobiographicalStrategy):
    """AutobiographicalStrategy for agents that gather knowledge: each summary is of one phase (research, subagent, lesson, synthesis).

    The tools an agent calls say the phase (`phases`). A chunk closes where the phase changes; when room is short, research is folded first,
    then what sub-agents did, then lessons, and what was concluded last (specs: context-manager 20). Summaries are always merged.

    An heir, not a wrapper: it is an AutobiographicalStrategy to all that asks for one, with three decisions of its own.
    """

    name = "knowledge"

    def __init__(self, config: AutobiographicalConfig | None = None, /, *, phases: PhaseTools | None = None, namespace: str | None = None, agent: str | None = None, **options: Any) -> None:
        if options.get("hierarchical") is False:
            raise InvalidOption("hierarchical=False of KnowledgeStrategy", instead="AutobiographicalStrategy(hierarchical=False)")
        self.phases = phases or PhaseTools()
        super().__init__(config if config is None else replace(config, hierarchical=True), namespace=namespace, agent=agent, **options)

    def _remade(self, config: AutobiographicalConfig, *, namespace: str | None, agent: str | None) -> Self:
        return type(self)(config, phases=self.phases, namespace=namespace, agent=agent)

    def _chosen_resolver(self) -> Resolver:
        return resolver_for(self.config, otherwise=ByPhase())

    def _cut(self, units: Sequence[Unit], /, *, after: int, before: int, closes_at_end: bool, is_whole: bool, is_wanted: bool = False) -> tuple[tuple[Chunk, ...], tuple[Unit, ...]]:
        return phase_chunks(
            units,
            after=after,
            before=before,
            target=self._chunk_tokens(is_wanted=is_wanted),
            tools=self.phases,
            attachments_ignore_size=self.config.attachments_ignore_size,
            closes_at_end=closes_at_end,
            is_whole=is_whole,
        )

    def _phase_of(self, units: Sequence[Unit]) -> str | None:
        return self.phases.phase_of_run(units)
