"""Counters for a model, and their correction by the usage that a provider reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from playhead.errors import InvalidInput
from playhead.view.exact import ExactCounter, has_exact_counts
from playhead.view.tokens import Counter, default_counter

ANTHROPIC_FACTOR = 1.3
"""Tokens of an Anthropic model for one of o200k: the lowest of four stretches of recorded sessions, which went from 1.30 to 1.69.

The higher ones hold what a tool adds to its requests; the vocabulary itself is not public. Reported usage corrects it.
"""

CREDIBLE = (0.6, 1.8)
"""Between these factors a report is believed and a factor may move."""

PACE = 0.2
"""How far one report moves the factor towards what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledCounter:
    """Counts like another counter, times a factor that reported usage corrects."""

    counter: Counter
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.factor, (int, float)) or not 0 < self.factor < inf:
            raise InvalidInput(f"A counter's factor is a positive number, not {self.factor!r}.")

    @property
    def name(self) -> str:
        """The other counter's name and the factor."""
        return f"{self.counter.name} x {self.factor:.2f}"

    def count(self, text: str) -> int:
        """Return how many tokens the text is, rounded up."""
        return -int(-self.counter.count(text) * self.factor // 1)

    def corrected(self, *, counted: int, reported: int) -> ScaledCounter:
        """Return the counter moved a fifth of the way to what a provider reported for a prompt this one took for `counted` tokens.

        A report is ignored where both it and the factor it speaks for are incredible; the factor stays within CREDIBLE
        around the one it has where that is outside already.
        """
        if counted <= 0 or reported <= 0:
            raise InvalidInput("A correction needs the tokens counted and the tokens reported, both above 0.")
        ratio = reported / counted
        observed = ratio * self.factor
        low, high = CREDIBLE
        if not low <= ratio <= high and not low <= observed <= high:
            return self
        moved = self.factor + PACE * (observed - self.factor)
        return replace(self, factor=min(max(moved, low), max(high, self.factor)))


def counter_for(model: str) -> Counter:
    """Return the best counter for a model here, by its name (`gpt-5-mini`, `openai:gpt-4o`, `anthropic:claude-sonnet-4-5`).

    Exact for OpenAI's models with `playhead[tokens]`; for Anthropic's the same times ANTHROPIC_FACTOR; else estimated.
    """
    name = model.rsplit(":", 1)[-1].rsplit("/", 1)[-1].lower()
    if not has_exact_counts():
        return ScaledCounter(counter=default_counter(), factor=ANTHROPIC_FACTOR) if name.startswith("claude") else default_counter()
    if name.startswith("claude"):
        return ScaledCounter(counter=ExactCounter(), factor=ANTHROPIC_FACTOR)
    older = name.startswith(("gpt-3.5", "gpt-4-", "text-embedding")) or name == "gpt-4"
    if older:
        return ExactCounter("cl100k_base")
    return ExactCounter() if name.startswith(("gpt", "o1", "o3", "o4", "chatgpt", "codex")) else default_counter()
