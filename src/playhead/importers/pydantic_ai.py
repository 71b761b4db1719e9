"""pydantic-ai messages: the JSON of its `ModelMessagesTypeAdapter`, requests and responses made of parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from playhead.entry.message import Message, Part, Text, system, user
from playhead.errors import WireError
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.told import Told, as_mapping, happened, said, text_in
from playhead.wire.pydantic_parts import content_of, result_of, retry_text, turn_parts

FORMAT = "pydantic-ai"
_ABOUT = ("kind", "parts", "instructions", "usage", "model_name", "timestamp")
_PROMPTS = frozenset({"user-prompt", "speech", "retry-prompt", "retry-feedback"})


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a request or a response."""
    return isinstance(value, dict) and value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message: no other format writes them so."""
    return Certainty.SURE if is_message(value) else Certainty.NONE


@dataclass(slots=True)
class _Voice:
    """Knows which instructions were in force, for every request repeats them."""

    instructions: set[str] = field(default_factory=set)

    def opening(self) -> tuple[Share, ...]:
        return ()

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        if not is_message(value) or value["kind"] == "response":
            yield Share(value=value, tell=_tell_response)
            return
        found = [*self._instructed(text_in(value, "instructions")), *_request_shares(value)]
        yield from found or [Share(value=value, tell=_tell_empty, beside=True)]

    def _instructed(self, words: str) -> Iterator[Share]:
        """Yield the instructions that were not in force before; those of a conversation's first request begin it."""
        if words and words not in self.instructions:
            is_first = not self.instructions
            self.instructions.add(words)
            yield Share(value={"instructions": words}, tell=_tell_first_instructions if is_first else _tell_instructions, beside=not is_first)


def _request_shares(value: Mapping[str, Any]) -> Iterator[Share]:
    about = {k: v for k, v in value.items() if k not in _ABOUT and v is not None}
    for run in _runs([p for p in value["parts"] if isinstance(p, dict)]):
        yield Share(value={"parts": run, "about": about}, tell=_tell_request, beside=_is_beside(run[0]), date=run[0].get("timestamp"))
    if odd := [p for p in value["parts"] if not isinstance(p, dict)]:
        yield Share(value={"parts": odd}, tell=_tell_empty, beside=True)


def _runs(parts: list[Any]) -> Iterator[list[Any]]:
    """Yield the parts that become one entry: neighbours that answer calls, any other alone."""
    for is_results, run in groupby(parts, key=_is_result):
        if is_results:
            yield list(run)
        else:
            yield from ([part] for part in run)


def _is_result(part: Any) -> bool:
    """Tell whether a part answers a call."""
    kind = part.get("part_kind")
    return kind == "tool-return" or (kind == "retry-prompt" and bool(part.get("tool_name")))


def _is_beside(part: Mapping[str, Any]) -> bool:
    return not _is_result(part) and part.get("part_kind") not in (*_PROMPTS, "system-prompt")


def _tell_first_instructions(values: tuple[Any, ...]) -> Told:
    return said([system(values[0]["instructions"])])


def _tell_instructions(values: tuple[Any, ...]) -> Told:
    return happened("pydantic_ai.instructions", values[0])


def _tell_empty(values: tuple[Any, ...]) -> Told:
    return happened("pydantic_ai.request", values[0])


def _tell_request(values: tuple[Any, ...]) -> Told:
    parts, about = values[0]["parts"], values[0]["about"]
    first = parts[0]
    kind = first.get("part_kind")
    fields = {**about, **{k: v for k, v in first.items() if k not in ("part_kind", "content", "timestamp") and v is not None and not _is_result(first)}}
    if _is_result(first):
        return said([Message(role="tool", content=tuple(map(result_of, parts)))], fields=fields)
    if kind == "system-prompt":
        return said([system(text_in(first, "content"))], fields=fields)
    if kind == "user-prompt":
        return said([user(content_of(first.get("content")))], fields=fields)
    if kind == "speech":
        return said([user(tuple(turn_parts({"parts": [first]})))], fields=about)
    if kind in _PROMPTS:
        return said([user(retry_text(first.get("content")))], fields=fields)
    return happened(f"pydantic_ai.{kind if isinstance(kind, str) else 'part'}", first)


def _tell_response(values: tuple[Any, ...]) -> Told:
    value = as_mapping(values[0])
    if not is_message(value):
        raise WireError("A message is a request or a response, with a list of parts", where="kind")
    parts: tuple[Part, ...] = tuple(turn_parts(value))
    only = parts[0] if len(parts) == 1 else None
    content = only.text if isinstance(only, Text) and not only.extra else parts
    fields = {k: v for k, v in value.items() if k not in _ABOUT}
    return said([Message(role="assistant", content=content)], fields=fields, usage=value.get("usage"), model=text_in(value, "model_name") or None)


def _is_users(value: object) -> bool:
    return is_message(value) and isinstance(value, dict) and any(text_in(p, "part_kind") == "user-prompt" for p in value["parts"])


PYDANTIC_AI = Dialect(
    format=FORMAT,
    lists=("messages", "message_history", "history"),
    names=("id", "conversation_id", "session_id", "run_id"),
    is_message=is_message,
    is_listed=is_message,
    is_users=_is_users,
    certainty=certainty,
    voice=lambda *_: _Voice(),
)
