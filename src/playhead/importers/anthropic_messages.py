"""Anthropic Messages: request bodies, answers and lists of messages, as https://docs.anthropic.com/en/api/messages describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.openai_chat import has_role, is_users
from playhead.importers.told import Told, as_mapping, said, text_in
from playhead.wire import anthropic

_ROLES = ("user", "assistant", "system")
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result", "mcp_tool_use", "mcp_tool_result", "search_result", "container_upload"})
_SPOKEN = ("role", "content", "model", "usage", "type", "id", "stop_reason")


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message."""
    return isinstance(value, dict) and value.get("role") in _ROLES and isinstance(value.get("content"), (str, list))


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message: plain words are written alike by others."""
    if not is_message(value):
        return Certainty.NONE
    if value.get("type") == "message" and "stop_reason" in value:
        return Certainty.SURE
    if value.get("tool_calls") or isinstance(value["content"], str):
        return Certainty.MAYBE
    return Certainty.SURE if any(map(_is_own, value["content"])) else Certainty.MAYBE


def _is_own(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = text_in(block, "type")
    return kind in _BLOCKS or (kind in ("image", "document") and isinstance(block.get("source"), dict))


@dataclass(frozen=True, slots=True)
class _Voice:
    model: str | None
    system: Any

    def opening(self) -> Iterator[Share]:
        if isinstance(self.system, (str, list)) and self.system:
            yield Share(value={"role": "system", "content": self.system}, tell=partial(_tell, None), field="system")

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        content = value.get("content") if isinstance(value, dict) else None
        kinds = {text_in(b, "type") == "tool_result" for b in content} if isinstance(content, list) else set()
        yield Share(value=value, tell=partial(_tell, self.model), second=len(kinds) > 1)


def _tell(model: str | None, values: tuple[Any, ...]) -> Told:
    value = as_mapping(values[0])
    messages = anthropic.load([{k: v for k, v in value.items() if k in ("role", "content")}], model=text_in(value, "model") or model)
    fields = {k: v for k, v in value.items() if k not in _SPOKEN}
    if value.get("role") != "assistant":
        return said(messages, fields=fields)
    ids = {"message": value.get("id"), "stop_reason": value.get("stop_reason")}
    return said(messages, fields=fields, ids=ids, usage=value.get("usage"), model=text_in(value, "model") or model)


ANTHROPIC_MESSAGES = Dialect(
    format="anthropic-messages",
    lists=("messages",),
    names=("id", "conversation_id", "session_id", "custom_id"),
    is_message=is_message,
    is_listed=has_role,
    is_users=is_users,
    certainty=certainty,
    voice=lambda facts, _: _Voice(text_in(facts, "model") or None, facts.get("system")),
)
