"""The arguments of a tool call where a provider writes them as JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import NOTHING, ToolCall
from playhead.entry.payload import arguments_from_json
from playhead.wire.encodable import encodable
from playhead.wire.extras import own

SPELLED_BY = "openai"
"""Whose part of a call's `extra` keeps the spelling under `arguments`, for both formats of OpenAI."""


def read(value: object) -> tuple[FrozenDict, str | None]:
    """Return a call's arguments as an object, and their own spelling where writing them again would change it.

    A blank text, which models write for a call without arguments, is an empty object.
    """
    if isinstance(value, str) and not value.strip():
        return NOTHING, value
    arguments, spelling = arguments_from_json(value)
    return arguments, spelling if isinstance(value, str) else None


def spelled(call: ToolCall) -> str:
    """Return a call's arguments as JSON text, in the spelling they came in as long as it still says the same."""
    spelling = own(call.extra, SPELLED_BY).get("arguments")
    plain = encodable(call.arguments)
    if isinstance(spelling, str) and plain == call.arguments and read(spelling)[0] == call.arguments:
        return spelling
    return codec.encode(plain).decode()


def keeping(extra: Mapping[str, Any], spelling: str | None) -> FrozenDict:
    """Return a call's `extra` with the spelling of its arguments in it."""
    if spelling is None:
        return FrozenDict(extra)
    return FrozenDict({**extra, SPELLED_BY: FrozenDict({**own(extra, SPELLED_BY), "arguments": spelling})})
