"""OpenAI Chat: messages as https://platform.openai.com/docs/api-reference/chat describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Plain
from playhead.importers.told import Told, said
from playhead.wire import openai_chat

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message in chat form."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    return value["role"] in ROLES and ("content" in value or "tool_calls" in value or "function_call" in value)


def has_role(value: object) -> bool:
    """Tell whether a value names who speaks."""
    return isinstance(value, dict) and "role" in value


def is_users(value: Mapping[str, Any]) -> bool:
    """Tell whether a message is the user's."""
    return isinstance(value, dict) and value.get("role") == "user"


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message in chat form: plain words are written alike by others."""
    if not is_message(value):
        return Certainty.NONE
    return Certainty.SURE if value["role"] in ("tool", "function") or value.get("tool_calls") or value.get("function_call") else Certainty.MAYBE


def _tell(values: tuple[Any, ...]) -> Told:
    (value,) = values
    model = value.get("model") if isinstance(value, dict) else None
    return said(openai_chat.load([value], model=model if isinstance(model, str) else None))


OPENAI_CHAT = Dialect(
    format="openai-chat",
    lists=("messages", "traj", "conversation"),
    names=("id", "conversation_id", "session_id", "thread_id", "custom_id", "task_id", "instance_id", "trial"),
    is_message=is_message,
    is_listed=has_role,
    is_users=is_users,
    certainty=certainty,
    voice=lambda *_: Plain(tell=_tell),
)
