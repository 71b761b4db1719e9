"""OpenAI Responses: items, request bodies and answers, as https://platform.openai.com/docs/api-reference/responses describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from playhead.errors import InvalidInput, WireError
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.told import Told, said, text_in
from playhead.wire import openai_responses

ROLES = ("user", "assistant", "system", "developer")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_MARKS: Mapping[str, set[str]] = {"reasoning": {"summary", "encrypted_content"}, "compaction": {"encrypted_content"}, "item_reference": {"id"}}
"""By type of an item, the fields of which it has one."""

_OWN = ("input_text", "input_image", "input_file", "input_audio", "output_text", "refusal")


def is_item(value: object) -> bool:
    """Tell whether a JSON value is an item that a model or the server wrote or reads."""
    if not isinstance(value, dict) or "payload" in value:
        return False
    kind = value.get("type", "message")
    if kind == "message":
        return value.get("role") in ROLES and isinstance(value.get("content"), (str, list))
    if not isinstance(kind, str):
        return False
    marks = {"call_id", "id"} if kind.endswith(("_call", "_output")) else _MARKS.get(kind, set())
    return bool(marks & value.keys())


def is_of_model(value: Mapping[str, Any]) -> bool:
    """Tell whether an item is a part of the model's turn."""
    kind = value.get("type", "message")
    return kind not in _OUTPUTS and (kind != "message" or value.get("role") == "assistant")


def is_readable(value: Mapping[str, Any]) -> bool:
    """Tell whether an item can be read, alone."""
    try:
        openai_responses.load([value])
    except (WireError, InvalidInput):
        return False
    return True


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is an item, or an answer: plain words are written alike by others."""
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return Certainty.SURE
    if not is_item(value):
        return Certainty.NONE
    if value.get("type", "message") != "message":
        return Certainty.SURE
    content = value["content"]
    return Certainty.SURE if isinstance(content, list) and any(isinstance(b, dict) and b.get("type") in _OWN for b in content) else Certainty.MAYBE


@dataclass(frozen=True, slots=True)
class _Voice:
    facts: Mapping[str, Any]

    def opening(self) -> Iterator[Share]:
        for name, kinds in (("instructions", (str, list)), ("input", (str,))):
            spoken = self.facts.get(name)
            if isinstance(spoken, kinds) and spoken:
                yield Share(value={name: spoken}, tell=_tell_field, field=name)

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        usage = self.facts.get("usage") if within == "output" else None
        joins = isinstance(value, dict) and is_of_model(value) and is_readable(value)
        yield Share(value=value, tell=partial(_tell, text_in(self.facts, "model") or None, usage), joins=joins)


def _tell_field(values: tuple[Any, ...]) -> Told:
    return said(openai_responses.load({"input": [], **values[0]}))


def _tell(model: str | None, usage: Any, values: tuple[Any, ...]) -> Told:
    messages = openai_responses.load(list(values), model=model)
    by_model = any(m.role == "assistant" for m in messages)
    return said(messages, usage=usage, model=model if by_model else None)


def _has_kind(value: object) -> bool:
    return isinstance(value, dict) and ("type" in value or "role" in value)


OPENAI_RESPONSES = Dialect(
    format="openai-responses",
    lists=("input", "output"),
    alone=("input",),
    names=("id", "conversation_id", "session_id", "custom_id"),
    is_message=is_item,
    is_listed=_has_kind,
    is_users=lambda value: isinstance(value, Mapping) and value.get("role") == "user",
    certainty=certainty,
    voice=lambda facts, _: _Voice(facts),
)
