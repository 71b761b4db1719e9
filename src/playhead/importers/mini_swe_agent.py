"""mini-SWE-agent trajectories: `{"info": {...}, "messages": [...], "trajectory_format": "mini-swe-agent-..."}`.

Messages are in OpenAI's chat form, or answers and items of OpenAI Responses, each with what the agent noted beside it.
A bare list of messages, as its first versions wrote, is of the format openai-chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Plain
from playhead.importers.openai_chat import is_users
from playhead.importers.openai_responses import is_item
from playhead.importers.told import Told, as_mapping, happened, said, text_in
from playhead.wire import openai_chat, openai_responses

FORMAT = "mini-swe-agent"
_EXIT = "exit"
_ANSWERED = ("object", "output", "usage", "model")


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message, an answer, an item, or how the run ended."""
    if not isinstance(value, dict):
        return False
    if text_in(value, "role"):
        return "content" in value or "tool_calls" in value
    return _is_answer(value) or is_item(value)


def _is_answer(value: Mapping[str, Any]) -> bool:
    return text_in(value, "object") == "response" and isinstance(value.get("output"), list)


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a trajectory, or a message of one."""
    info = value.get("info")
    if text_in(value, "trajectory_format").startswith(FORMAT) or text_in(info, "mini_version"):
        return Certainty.SURE
    if text_in(value, "role") == _EXIT and is_message(value):
        return Certainty.SURE
    return Certainty.MAYBE if is_message(value) and isinstance(value.get("extra"), dict) else Certainty.NONE


def _tell(values: tuple[Any, ...]) -> Told:
    value = as_mapping(values[0])
    extra = value.get("extra")
    noted: Mapping[str, Any] = extra if isinstance(extra, Mapping) else {}
    answer = noted.get("response")
    source = value if _is_answer(value) else answer if isinstance(answer, Mapping) else {}
    usage, model = source.get("usage"), text_in(source, "model") or None
    if text_in(value, "role") == _EXIT:
        return happened(f"mini_swe_agent.{_EXIT}", value)
    spoken = {k: v for k, v in value.items() if k != "extra"}
    if _is_answer(value):
        fields = {**{k: v for k, v in spoken.items() if k not in _ANSWERED}, **noted}
        return said(openai_responses.load({"output": value["output"]}, model=model), fields=fields, usage=usage, model=model)
    if is_item(value) and "type" in value:
        return said(openai_responses.load([spoken], model=model), fields=noted)
    by_model = value.get("role") == "assistant"
    return said(openai_chat.load([spoken], model=model), fields=noted, usage=usage if by_model else None, model=model if by_model else None)


MINI_SWE_AGENT = Dialect(
    format=FORMAT,
    lists=("messages",),
    names=("instance_id",),
    is_message=is_message,
    is_listed=lambda value: isinstance(value, dict) and bool(value.keys() & {"role", "object", "type"}),
    is_users=is_users,
    certainty=certainty,
    voice=lambda *_: Plain(tell=_tell),
)
