"""How many tokens a prompt may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.errors import InvalidInput
from playhead.view.tokens import check_tokens


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a model call: `max_tokens` is the whole window, of which `reserve_for_response` is kept for the answer.

    Raises InvalidInput where nothing is left for the prompt.
    """

    max_tokens: int = 100_000
    reserve_for_response: int = field(default=4_000, kw_only=True)

    def __post_init__(self) -> None:
        check_tokens("A budget's max_tokens", self.max_tokens)
        check_tokens("A budget's reserve_for_response", self.reserve_for_response)
        if self.room <= 0:
            raise InvalidInput(f"The budget leaves no room for a prompt: max_tokens {self.max_tokens:,} less reserve_for_response {self.reserve_for_response:,}; raise the one or lower the other.")

    @property
    def room(self) -> int:
        """The tokens left for the prompt."""
        return self.max_tokens - self.reserve_for_response
