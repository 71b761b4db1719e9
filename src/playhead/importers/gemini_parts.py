"""Parts of Gemini's contents: https://ai.google.dev/api/caching#Part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Media, MediaKind, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import arguments_from_json
from playhead.errors import WireError
from playhead.importers.told import text_in
from playhead.wire.extras import kept, rest

PROVIDER = "gemini"


@dataclass(slots=True)
class Calls:
    """The calls of one conversation that wait for an answer, and ids for those that have none."""

    count: int = 0
    waiting: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, call: Mapping[str, Any]) -> str:
        """Return the id of a call, and note that it waits."""
        self.count += 1
        name = text_in(call, "name")
        call_id = text_in(call, "id") or f"{name}-{self.count}"
        self.waiting.append((name, call_id))
        return call_id

    def answer(self, response: Mapping[str, Any]) -> str:
        """Return the id of the call that a response answers: the one it names, else the first of its name, "" for none."""
        name, own = text_in(response, "name"), text_in(response, "id")
        match = next((w for w in self.waiting if w[1] == own), None) or (None if own else next((w for w in self.waiting if w[0] == name), None))
        if match is None:
            return own
        self.waiting.remove(match)
        return match[1]

    def resolved(self, parts: object) -> list[Any]:
        """Return a content's parts, each call and response with its id."""
        return [self._resolved(p) for p in (parts if isinstance(parts, list) else [parts])]

    def _resolved(self, part: Any) -> Any:
        if isinstance(part, Mapping) and isinstance(part.get("functionCall"), Mapping):
            return {**part, "functionCall": {**part["functionCall"], "id": self.ask(part["functionCall"])}}
        if isinstance(part, Mapping) and isinstance(part.get("functionResponse"), Mapping):
            return {**part, "functionResponse": {**part["functionResponse"], "id": self.answer(part["functionResponse"])}}
        return part


def holds_both(parts: object) -> bool:
    """Tell whether a content holds answers and something else."""
    kinds = {isinstance(p, Mapping) and isinstance(p.get("functionResponse"), Mapping) for p in (parts if isinstance(parts, list) else [parts])}
    return len(kinds) > 1


def turn_of(parts: object, *, model: str | None) -> Message:
    """Return what the model says."""
    found = tuple(parts_of(parts, model=model))
    return Message(role="assistant", content=_plain(found))


def spoken_by_user(parts: object) -> tuple[Message, ...]:
    """Return what a user's content says: results first, words and media behind them."""
    found = tuple(parts_of(parts, model=None))
    results = tuple(p for p in found if isinstance(p, ToolResult))
    words = tuple(Text(text=p.text) if isinstance(p, Thinking) else p for p in found if not isinstance(p, ToolResult))
    if any(isinstance(p, ToolCall) for p in words):
        raise WireError("Only the model calls functions", where="parts")
    messages = (Message(role="tool", content=results),) if results else ()
    return (*messages, Message(role="user", content=_plain(words))) if words or not results else messages


def _plain(parts: tuple[Part, ...]) -> str | tuple[Part, ...]:
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, Text) and not only.extra else parts or ""


def parts_of(content: object, *, model: str | None) -> Iterator[Part]:
    """Yield the parts of a content: a text, a part, or a list of both."""
    for value in content if isinstance(content, list) else [content]:
        if isinstance(value, str):
            yield Text(text=value)
        elif isinstance(value, Mapping):
            yield _part(value, model)
        elif value is not None:
            raise WireError(f"A part is an object, not {type(value).__name__}", where="parts")


def _part(value: Mapping[str, Any], model: str | None) -> Part:
    call, response = value.get("functionCall"), value.get("functionResponse")
    if isinstance(call, Mapping) and text_in(call, "name"):
        return call_of(call, more=rest(value, "functionCall"))
    if isinstance(response, Mapping):
        return result_of(response, more=rest(value, "functionResponse"))
    if isinstance(value.get("text"), str):
        if value.get("thought") is True:
            signature = text_in(value, "thoughtSignature") or None
            return Thinking(text=value["text"], signature=signature, provider=PROVIDER, model=model, extra=kept(PROVIDER, rest(value, "text", "thought", "thoughtSignature")))
        return Text(text=value["text"], extra=kept(PROVIDER, rest(value, "text")))
    return _media(value) or ProviderItem(provider=PROVIDER, value=freeze_dict(value))


def call_of(call: Mapping[str, Any], *, more: Mapping[str, Any]) -> ToolCall:
    """Return a call; `more` are the fields beside it."""
    return ToolCall(id=text_in(call, "id"), name=call["name"], arguments=arguments_from_json(call.get("args"))[0], extra=kept(PROVIDER, {**more, **rest(call, "id", "name", "args")}))


def result_of(response: Mapping[str, Any], *, more: Mapping[str, Any], is_error: bool = False) -> ToolResult:
    """Return an answer: its output or its error where it has one, else its JSON."""
    answer = response.get("response")
    output = answer.get("output") if isinstance(answer, Mapping) and answer.keys() == {"output"} else None
    error = answer.get("error") if isinstance(answer, Mapping) and answer.keys() == {"error"} else None
    words = next((v for v in (output, error, answer) if isinstance(v, str)), None)
    return ToolResult(
        call_id=text_in(response, "id"),
        content=words if words is not None else "" if answer is None else codec.encode(answer).decode(),
        is_error=is_error or error is not None,
        name=text_in(response, "name") or None,
        extra=kept(PROVIDER, {**more, **rest(response, "id", "name", "response")}),
    )


def _media(value: Mapping[str, Any]) -> Media | None:
    inline, file = value.get("inlineData"), value.get("fileData")
    if isinstance(inline, Mapping) and text_in(inline, "data") and text_in(inline, "mimeType"):
        mime = inline["mimeType"]
        return Media(kind=_kind(mime), mime=mime, data=inline["data"], name=text_in(inline, "displayName") or None, extra=kept(PROVIDER, rest(value, "inlineData")))
    if isinstance(file, Mapping) and text_in(file, "fileUri"):
        mime = text_in(file, "mimeType")
        return Media(kind=_kind(mime), mime=mime or None, url=file["fileUri"], extra=kept(PROVIDER, rest(value, "fileData")))
    return None


def _kind(mime: str) -> MediaKind:
    family = mime.partition("/")[0]
    return "image" if family == "image" else "audio" if family == "audio" else "video" if family == "video" else "document"
