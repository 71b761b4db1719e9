"""How many tokens a prompt may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a model call: `max_tokens` is the whole window, of which `reserve_for_response` is kept for the answer.

    Raises InvalidInput where nothing is left for the prompt.
    """

    max_tokens: int = 100_000
    reserve_for_response: int = field(default=4_000, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("max_tokens", "reserve_for_response"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InvalidInput(f"A budget's {name} is a whole number of tokens from 0, not {value!r}.")
        if self.room <= 0:
            raise InvalidInput(f"The budget leaves no room for a prompt: max_tokens {self.max_tokens:,} less reserve_for_response {self.reserve_for_response:,}; raise the one or lower the other.")

    @property
    def room(self) -> int:
        """The tokens left for the prompt."""
        return self.max_tokens - self.reserve_for_response
