"""The model's turn in OpenAI Responses: reasoning, words, calls and the server's own items, in one order.

A reasoning item and what follows it are one atom: the server refuses either without the other. So reasoning goes
whole or not at all, and without it neither the ids the server gave nor its own items go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall
from playhead.errors import WireError
from playhead.wire import arguments
from playhead.wire.bindings import is_bound_to
from playhead.wire.bodies import blocks, id_of, name_of, text_of
from playhead.wire.extras import kept, own, rest, with_rest
from playhead.wire.response_parts import PROVIDER, not_taken_here

CUSTOM_CALL = "custom_tool_call"
_ITEM, _FORM, _REASONING = "item", "form", "reasoning"
_SPOKEN = {"output_text": "text", "input_text": "text", "text": "text", "refusal": "refusal"}


def turn_items(run: Sequence[Message], *, model: str | None) -> tuple[list[dict[str, Any]], bool]:
    """Return the items of adjacent messages of the assistant, and whether the server's ids are among them."""
    pieces = [piece for message in run for piece in _pieces(message)]
    thinking = [p for p in pieces if isinstance(p, Thinking)]
    needed = {i for m in run for i in own(m.extra, PROVIDER).get(_REASONING, ())}
    present = {own(t.extra, PROVIDER).get("id") for t in thinking}
    is_whole = needed <= present and all(is_bound_to(t, provider=PROVIDER, model=model) for t in thinking)
    if is_whole and not (pieces and isinstance(pieces[-1], Thinking)):
        return [_written(p) for p in pieces], True
    return [{k: v for k, v in p.items() if k != "id"} for p in pieces if isinstance(p, dict)], False


def _pieces(message: Message) -> Iterator[dict[str, Any] | Thinking | ProviderItem]:
    """Yield the items of a message; thinking and the server's own items as they are, for they may not go."""
    if isinstance(message.content, str):
        if message.content:
            yield with_rest({"type": "message", "role": "assistant", "content": message.content}, own(message.extra, PROVIDER), _REASONING)
        return
    said: list[Part] = []
    for part in message.content:
        if said and (not _is_speech(part) or _ITEM in own(_extra(part), PROVIDER)):
            yield from _said(said)
            said = []
        if _is_speech(part):
            said.append(part)
        elif isinstance(part, ToolCall):
            yield _call(part)
        elif isinstance(part, Thinking) or (isinstance(part, ProviderItem) and part.provider == PROVIDER):
            yield part
    yield from _said(said)


def _is_speech(part: Part) -> bool:
    return isinstance(part, (Text, Media))


def _extra(part: Part) -> Mapping[str, Any]:
    return part.extra if isinstance(part, Text) else {}


def _said(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    content = [block for part in parts if (block := _spoken(part)) is not None]
    if not content:
        return
    first = own(_extra(parts[0]), PROVIDER)
    is_string = first.get(_FORM) != "list" and len(content) == 1 and content[0] == {"type": "output_text", "text": content[0].get("text")}
    fields = {"type": "message", "role": "assistant", "content": content[0]["text"] if is_string else content}
    yield with_rest(fields, own(first, _ITEM))


def _spoken(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Text):
        more = own(part.extra, PROVIDER)
        kind = more.get("type") if more.get("type") in _SPOKEN else "output_text"
        return with_rest({"type": kind, _SPOKEN[str(kind)]: part.text}, more, _ITEM, _FORM) if part.text else None
    return {"type": "output_text", "text": not_taken_here(part)} if isinstance(part, Media) else None


def _call(call: ToolCall) -> dict[str, Any]:
    more = own(call.extra, PROVIDER)
    text = call.arguments.get("input")
    if more.get("type") == CUSTOM_CALL and isinstance(text, str):
        return with_rest({"type": CUSTOM_CALL, "call_id": call.id, "name": call.name, "input": text}, more)
    return with_rest({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments.spelled(call)}, more)


def _written(piece: dict[str, Any] | Thinking | ProviderItem) -> dict[str, Any]:
    if isinstance(piece, ProviderItem):
        return dict(piece.value)
    return _reasoning(piece) if isinstance(piece, Thinking) else piece


def _reasoning(thinking: Thinking) -> dict[str, Any]:
    more = own(thinking.extra, PROVIDER)
    summary = [{"type": "summary_text", "text": thinking.text}] if thinking.text else []
    fields: dict[str, Any] = {"type": "reasoning", "summary": more.get("summary", summary)}
    return with_rest({**fields, **({"encrypted_content": thinking.signature} if thinking.signature is not None else {})}, more)


@dataclass(slots=True, kw_only=True)
class LoadedTurn:
    """The model's turn while its items are read."""

    model: str | None
    parts: list[Part] = field(default_factory=list)

    def take(self, item: FrozenDict, *, path: str) -> bool:
        """Add an item to the turn; False where it is not the model's but someone else's word."""
        kind = item.get("type", "message" if "role" in item else None)
        if kind in ("function_call_output", "custom_tool_call_output") or (kind == "message" and item.get("role") != "assistant"):
            return False
        match kind:
            case "message":
                self.parts.extend(self._words(item, path=path))
            case "reasoning":
                self.parts.append(_loaded_reasoning(item, model=self.model))
            case "function_call" | "custom_tool_call":
                self.parts.append(_loaded_call(item, path=path))
            case None if "id" not in item:
                raise WireError("An item has a type, or a role", where=path)
            case _:
                self.parts.append(ProviderItem(provider=PROVIDER, value=item))
        return True

    def message(self) -> tuple[Message, ...]:
        """Return the turn as a message, none where nothing was taken."""
        if not self.parts:
            return ()
        needed = [own(p.extra, PROVIDER)["id"] for p in self.parts if isinstance(p, Thinking) and isinstance(own(p.extra, PROVIDER).get("id"), str)]
        only = self.parts[0] if len(self.parts) == 1 else None
        if isinstance(only, Text) and not only.extra:
            return (Message(role="assistant", content=only.text),)
        return (Message(role="assistant", content=tuple(self.parts), extra=kept(PROVIDER, {_REASONING: needed} if needed else {})),)

    def _words(self, item: FrozenDict, *, path: str) -> tuple[Part, ...]:
        """Return the parts of an assistant's message item; the first one keeps what is said of the item."""
        more = rest(item, "type", "role", "content")
        mark: dict[str, Any] = {_ITEM: more} if more or (self.parts and isinstance(self.parts[-1], Text)) else {}
        content = item.get("content")
        if content is None or isinstance(content, str):
            return (Text(text=content or "", extra=kept(PROVIDER, mark)),)
        read = list(blocks(content, path=f"{path}.content"))
        if not all(block.get("type") in _SPOKEN for _, block in read):
            return (ProviderItem(provider=PROVIDER, value=item),)
        if len(read) == 1 and read[0][1].keys() == {"type", "text"}:
            mark[_FORM] = "list"
        return tuple(_loaded_words(block, path=where, mark=mark if i == 0 else {}) for i, (where, block) in enumerate(read))


def _loaded_words(block: FrozenDict, *, path: str, mark: Mapping[str, Any]) -> Text:
    key = _SPOKEN[block["type"]]
    known = (key, "type") if block["type"] == "output_text" else (key,)
    return Text(text=text_of(block, key, path=path), extra=kept(PROVIDER, {**rest(block, *known), **mark}))


def _loaded_call(item: FrozenDict, *, path: str) -> ToolCall:
    name = name_of(item, path=path)
    if item["type"] == CUSTOM_CALL:
        extra = kept(PROVIDER, rest(item, "call_id", "name", "input"))
        return ToolCall(id=id_of(item, "call_id"), name=name, arguments=FrozenDict({"input": text_of(item, "input", path=path)}), extra=extra)
    said, spelling = arguments.read(item.get("arguments"))
    extra = arguments.keeping(kept(PROVIDER, rest(item, "type", "call_id", "name", "arguments")), spelling)
    return ToolCall(id=id_of(item, "call_id"), name=name, arguments=said, extra=extra)


def _loaded_reasoning(item: FrozenDict, *, model: str | None) -> Thinking:
    encrypted = item["encrypted_content"] if isinstance(item.get("encrypted_content"), str) else None
    known = ("type", "encrypted_content") if encrypted is not None else ("type",)
    more = dict(rest(item, *known))
    text = _summary_words(item.get("summary"))
    if text is not None:
        more.pop("summary", None)
    else:
        text = "\n\n".join(_texts(item.get("summary"))) or "\n\n".join(_texts(item.get("content")))
    return Thinking(text=text, signature=encrypted, provider=PROVIDER, model=model, extra=kept(PROVIDER, more))


def _summary_words(summary: object) -> str | None:
    """Return the words of a summary that these words alone tell again; None for one that has more to it."""
    if not isinstance(summary, list) or len(summary) != 1 or not isinstance(summary[0], Mapping) or summary[0].keys() != {"type", "text"}:
        return None
    text = summary[0]["text"]
    return text if isinstance(text, str) and text and summary[0]["type"] == "summary_text" else None


def _texts(values: object) -> Iterator[str]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, Mapping) and isinstance(value.get("text"), str):
            yield value["text"]
