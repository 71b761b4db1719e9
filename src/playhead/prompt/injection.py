"""Injections: text that goes with one prompt and is never kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, ProviderItem, Text, system, user
from playhead.errors import InvalidInput

Position = Literal["system", "before_user", "after_user"]
POSITIONS: tuple[str, ...] = get_args(Position)
PARTICIPANT = "system_context:"
"""What the participant of an injected message is called, followed by its namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Text that joins one prompt: in the system prompt, or right before or behind the last user message.

    Positions at the user message change every turn and break the provider's prefix cache: prefer `system` for what
    lasts, an ordinary message for what changes.
    """

    namespace: str
    content: str | tuple[Text | Media | ProviderItem, ...]
    position: Position = "system"
    metadata: FrozenDict = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        if self.position not in POSITIONS:
            raise InvalidInput(f"An injection's position is one of {', '.join(POSITIONS)}, not {self.position!r}.")
        if not isinstance(self.content, str):
            object.__setattr__(self, "content", tuple(self.content))
        if not self.content:
            raise InvalidInput(f"Injection '{self.namespace}' has no content.")

    @property
    def message(self) -> Message:
        """The injection as the message it is sent as."""
        if self.position == "system":
            return system(self.content)
        return user(self.content, name=f"{PARTICIPANT}{self.namespace}")


def at(injections: Iterable[Injection], position: Position) -> tuple[Injection, ...]:
    """Return the injections of one position, in their order."""
    return tuple(i for i in injections if i.position == position)


def place(messages: Sequence[Message], injections: Iterable[Injection], *, last: int | None) -> list[tuple[Message, Injection | None]]:
    """Return the messages with the injections that stand at the last user message, of index `last`; each says whether it is one.

    Without a user message (None) those before it are left out and those behind it go to the end.
    """
    placed = tuple(injections)
    before = [(i.message, i) for i in at(placed, "before_user")] if last is not None else []
    after = [(i.message, i) for i in at(placed, "after_user")]
    plain: list[tuple[Message, Injection | None]] = [(m, None) for m in messages]
    if last is None:
        return [*plain, *after]
    return [*plain[:last], *before, plain[last], *after, *plain[last + 1 :]]
