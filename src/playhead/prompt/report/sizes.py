"""How the tokens of a prompt divide among the tools and among those who speak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from playhead.entry.message import Message, Part, ToolCall
from playhead.prompt.report.stretches import INJECTION, Stretch
from playhead.view.tokens import Counter, message_tokens

UNNAMED = "(no name)"


@dataclass(slots=True, kw_only=True)
class Size:
    """What one tool or role takes of a prompt, and what of it was left out: calls or messages, and tokens."""

    name: str
    count: int = 0
    tokens: int = 0
    left_count: int = 0
    left_tokens: int = 0

    def add(self, tokens: int, *, count: int, is_shown: bool) -> None:
        """Add something that the model sees, or that was left out."""
        if is_shown:
            self.count, self.tokens = self.count + count, self.tokens + tokens
        else:
            self.left_count, self.left_tokens = self.left_count + count, self.left_tokens + tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes by tool and by role, largest first; a tool's are those of its calls and their results."""

    tools: tuple[Size, ...]
    roles: tuple[Size, ...]


def sizes(parts: Iterable[Stretch], *, counter: Counter) -> Sizes:
    """Return the sizes of what was loaded, by tool and by role; a call and its result are each priced alone."""
    tools: dict[str, Size] = {}
    roles: dict[str, Size] = {}
    names: dict[str, str] = {}
    for stretch in parts:
        for message in stretch.spoken:
            role = INJECTION if stretch.form == INJECTION else message.role
            _size(roles, role).add(message_tokens(message, counter=counter), count=1, is_shown=stretch.is_shown)
            names.update((c.id, c.name) for c in message.calls)
            for part, name in _tool_parts(message, names):
                price = message_tokens(Message(role="assistant" if isinstance(part, ToolCall) else "tool", content=(part,)), counter=counter)
                _size(tools, name).add(price, count=isinstance(part, ToolCall), is_shown=stretch.is_shown)
    return Sizes(tools=_largest_first(tools), roles=_largest_first(roles))


def _tool_parts(message: Message, names: Mapping[str, str]) -> list[tuple[Part, str]]:
    calls: list[tuple[Part, str]] = [(c, c.name or UNNAMED) for c in message.calls]
    results: list[tuple[Part, str]] = [(r, names.get(r.call_id) or r.name or UNNAMED) for r in message.results]
    return [*calls, *results]


def _size(sizes: dict[str, Size], name: str) -> Size:
    return sizes.setdefault(name, Size(name=name))


def _largest_first(sizes: Mapping[str, Size]) -> tuple[Size, ...]:
    return tuple(sorted(sizes.values(), key=lambda s: (-s.tokens, -s.left_tokens, s.name)))
