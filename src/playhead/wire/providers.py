"""The formats by provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from playhead.entry.message import Message
from playhead.errors import InvalidInput
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
    """How a provider writes a conversation, both ways."""

    provider: str
    dump: Dump
    load: Load


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "openai": Format(provider="openai", dump=openai_chat.dump, load=openai_chat.load),
        "openai-responses": Format(provider="openai-responses", dump=openai_responses.dump, load=openai_responses.load),
        "anthropic": Format(provider="anthropic", dump=anthropic.dump, load=anthropic.load),
    }
)
"""Every format by the name of its provider."""


def format_of(provider: str) -> Format:
    """Return the format of a provider; raises InvalidInput, naming those known, for any other name."""
    if provider not in FORMATS:
        raise InvalidInput(f"Unknown provider {provider!r}; known are {', '.join(FORMATS)}.", provider=str(provider))
    return FORMATS[provider]
