"""The formats by provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from playhead.entry.message import Message
from playhead.errors import InvalidInput, NothingToSend
from playhead.wire import anthropic, openai_chat, openai_responses
from playhead.wire.bodies import Body


class Dump(Protocol):
    """Writes messages as a provider's request body, without model, limits and tools."""

    def __call__(self, messages: Sequence[Message], *, model: str | None = None) -> dict[str, Any]:
        """Return the body; raises WireError where calls and results are no whole rounds."""
        ...


class Load(Protocol):
    """Reads a provider's body, one message of it, or its list of messages."""

    def __call__(self, body: Body, *, model: str | None = None) -> tuple[Message, ...]:
        """Return the messages; raises WireError with its path for what is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a provider writes a conversation, both ways; `turns` is the member of a body that holds it."""

    provider: str
    turns: str
    dump: Dump
    load: Load


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "openai": Format(provider="openai", turns="messages", dump=openai_chat.dump, load=openai_chat.load),
        "openai-responses": Format(provider="openai-responses", turns="input", dump=openai_responses.dump, load=openai_responses.load),
        "anthropic": Format(provider="anthropic", turns="messages", dump=anthropic.dump, load=anthropic.load),
    }
)
"""Every format by the name of its provider."""


def messages_from(provider: str, body: object, *, model: str | None = None) -> tuple[Message, ...]:
    """Return the messages a provider's JSON holds: a request, a list of messages, one message, or a reply.

    `body` may be an object of the provider's SDK. Of an OpenAI chat completion the first choice is taken. Reasoning is
    bound to `model`, by default the one the body names. Raises WireError with its path for what is none.
    """
    dumped = getattr(body, "model_dump", None)
    plain = dumped(exclude_none=True) if callable(dumped) else body
    if provider == "openai" and isinstance(plain, Mapping) and isinstance(plain.get("choices"), list | tuple) and plain["choices"]:
        plain = [plain["choices"][0].get("message")]
    return format_of(provider).load(plain, model=model)  # type: ignore[arg-type]


def request_body(provider: str, messages: Sequence[Message], *, model: str | None = None) -> dict[str, Any]:
    """Return the body of a request that the provider takes; raises NothingToSend, beside what a dump raises, where nobody speaks in it."""
    format = format_of(provider)
    body = format.dump(messages, model=model)
    if not body[format.turns]:
        raise NothingToSend(provider, where=format.turns, has_system=len(body) > 1)
    return body


def format_of(provider: str) -> Format:
    """Return the format of a provider; raises InvalidInput, naming those known, for any other name."""
    if provider not in FORMATS:
        raise InvalidInput(f"Unknown provider {provider!r}; known are {', '.join(FORMATS)}.", provider=str(provider))
    return FORMATS[provider]
