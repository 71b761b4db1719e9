"""What texts and messages cost in tokens.

A price is what the dearest of the provider's bodies that `wire` writes is taken to cost; providers keep their own rules to themselves,
so prices lean to the safe side and are corrected by the usage a provider reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from operator import index
from typing import Any, Protocol

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.errors import InvalidInput
from playhead.view import token_rates as rates
from playhead.view.media_tokens import media_tokens, opaque_tokens
from playhead.view.token_prices import Prices

MESSAGE = 4
"""What frames a message: its role, its beginning and its end."""

PART = 3
"""What sets a part of a message apart."""

SLACK = 25
"""One more token for every so many: what providers write around and between the words, in their own vocabularies, is not known."""

NAME = 2
"""What comes with a name: `: ` behind it, or its field."""

NOTE = 12
"""What labels a system message inside the conversation."""

CALL = 12
"""What frames a tool call, beside its id, its name and its arguments."""

RESULT = 10
"""What frames a tool's answer, beside the id of its call; it covers the words that stand for an empty one."""

SIGNATURE_CHARACTERS = 4
"""How many characters of a signature or of hidden reasoning stand for a token: three bytes, of which compressed words need more."""

_OPAQUE = re.compile(r"(?:data:[\w.+/-]+;base64,)?[A-Za-z0-9+/=_\n\r-]{256,}")


class Counter(Protocol):
    """Counts the tokens of text; `name` says how, for reports."""

    @property
    def name(self) -> str:
        """What the counter is called in reports."""
        ...

    def count(self, text: str) -> int:
        """Return how many tokens the text is."""
        ...


class ClassAwareCounter:
    """Estimates o200k tokens from the classes of characters and words in a text.

    Short texts get the best estimate; longer ones, from 2,000 tokens on, 5 % more, so that they are hardly ever more than it says.
    Pure Python, the same in every process, linear in the text, never raises; 0 for an empty text only.
    """

    name = "class-aware"

    def __init__(self) -> None:
        self._prices = Prices()

    def count(self, text: str) -> int:
        """Return about how many tokens the text is."""
        if not text:
            return 0
        cost = self._prices.of(text)
        more = min(cost * rates.LEAN, max(0, cost - rates.LEAN_FROM) * rates.LEAN_SOONEST) // 100
        return max(1, (cost + more + rates.TOKEN // 2) // rates.TOKEN)


@cache
def default_counter() -> ClassAwareCounter:
    """Return the counter that is used where none is named."""
    return ClassAwareCounter()


def text_tokens(text: str, *, counter: Counter) -> int:
    """Return what a counter says of a text. Raises InvalidInput where it fails, or says no whole number from 0."""
    try:
        tokens = index(counter.count(text))
    except Exception as exc:
        raise InvalidInput(f"A counter's count(text) returns a whole number; {type(counter).__name__} failed with {type(exc).__name__}: {exc}") from exc
    if tokens < 0:
        raise InvalidInput(f"A counter's count(text) returns a whole number from 0; {type(counter).__name__} returned {tokens}.")
    return tokens


def check_tokens(what: str, value: object) -> None:
    """Raise InvalidInput for what is no whole number of tokens from 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"{what} is a whole number of tokens from 0, not {value!r:.80}.")


def message_tokens(message: Message, *, counter: Counter) -> int:
    """Return the price of a message, with all that frames it; at least 1 for every part."""
    content = message.content
    name = text_tokens(message.name, counter=counter) + NAME if message.name else 0
    note = NOTE if message.role == "system" else 0
    words = text_tokens(content, counter=counter) if isinstance(content, str) else sum(PART + part_tokens(part, counter=counter) for part in content)
    return MESSAGE + name + note + words + words // SLACK + _extra(message.extra, counter)


def part_tokens(part: Part, *, counter: Counter) -> int:
    """Return the price of one part of a message."""
    match part:
        case Text():
            return text_tokens(part.text, counter=counter) + _extra(part.extra, counter)
        case Thinking():
            return _thinking(part, counter)
        case ToolCall():
            return _call(part, counter)
        case ToolResult():
            return _result(part, counter)
        case Media():
            return media_tokens(part, count=partial(text_tokens, counter=counter)) + _extra(part.extra, counter)
        case ProviderItem():
            return value_tokens(part.value, counter=counter)


def value_tokens(value: object, *, counter: Counter) -> int:
    """Return the price of a JSON value: its text, in which long base64 counts for what it holds, not for its length."""
    opaque: list[str] = []
    written = codec.encode(_transparent(value, opaque)).decode()
    return text_tokens(written, counter=counter) + sum(opaque_tokens(text) for text in opaque)


def _thinking(part: Thinking, counter: Counter) -> int:
    hidden = -(-(len(part.signature or "") + len(part.redacted or "")) // SIGNATURE_CHARACTERS)
    return max(1, text_tokens(part.text, counter=counter) + hidden, _extra(part.extra, counter) + hidden)


def _call(part: ToolCall, counter: Counter) -> int:
    spelling = part.extra.get("openai")
    written = codec.encode(part.arguments).decode()
    spoken = spelling.get("arguments") if isinstance(spelling, Mapping) else None
    if isinstance(spoken, str) and len(spoken) > len(written):
        written = spoken
    more = FrozenDict({k: v for k, v in part.extra.items() if k != "openai"} | ({"openai": _without(spelling, "arguments")} if isinstance(spelling, Mapping) else {}))
    return CALL + text_tokens(part.id, counter=counter) + text_tokens(part.name, counter=counter) + text_tokens(written, counter=counter) + _extra(more, counter)


def _result(part: ToolResult, counter: Counter) -> int:
    content = part.content
    words = text_tokens(content, counter=counter) if isinstance(content, str) else sum(PART + part_tokens(p, counter=counter) for p in content)
    name = text_tokens(part.name, counter=counter) + NAME if part.name else 0
    return RESULT + text_tokens(part.call_id, counter=counter) + name + words + _extra(part.extra, counter)


def _extra(extra: Mapping[str, Any], counter: Counter) -> int:
    """Price a provider's own fields; only one provider's are ever sent."""
    return max((value_tokens(fields, counter=counter) for fields in extra.values() if fields), default=0)


def _without(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if k != key}


def _transparent(value: object, opaque: list[str]) -> object:
    """Return a value without its long base64 texts, which are added to `opaque`."""
    if isinstance(value, str):
        if not _OPAQUE.fullmatch(value):
            return value
        opaque.append(value)
        return ""
    if isinstance(value, Mapping):
        return {k: _transparent(v, opaque) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_transparent(v, opaque) for v in value]
    return value
