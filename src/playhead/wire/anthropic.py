"""Anthropic Messages: `system` and `messages`, as https://docs.claude.com/en/api/messages describes them.

docs/reference/message.md says how each thing maps and what the dump enforces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.errors import WireError
from playhead.wire import anthropic_blocks, arguments
from playhead.wire.bindings import is_bound_to
from playhead.wire.bodies import Body, blocks, id_of, listed, model_of, name_of, text_of
from playhead.wire.encodable import encodable
from playhead.wire.extras import kept, own, rest, with_rest
from playhead.wire.ids import IdRule
from playhead.wire.merging import Block, Turn, merged
from playhead.wire.participants import prefixed
from playhead.wire.rounds import FAILED, settled

PROVIDER = "anthropic"
IDS = IdRule(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), unique_in="body")
LONGEST_NAME = 128
BEGINNING = "(The conversation starts earlier.)"
"""The user's words put before a conversation that would begin with the assistant's."""

NOTE = "<system-note>\n{text}\n</system-note>"
"""How a system message inside the conversation stands in the user's turn."""

MOST_CACHE_MARKS = 4
_FORM = "content_form"


def dump(messages: Sequence[Message], *, model: str | None = None) -> dict[str, Any]:
    """Return `{"system": ..., "messages": [...]}`, without `system` where no system message leads.

    Turns alternate, the first is the user's. Thinking goes only to the `model` that made it.
    Raises WireError where calls and results are no whole rounds.
    """
    ready = settled(messages, ids=IDS, longest_name=LONGEST_NAME)
    leading = list(takewhile(lambda m: m.role == "system", ready))
    system = _system(leading)
    turns = merged(_turn(m) for m in ready[len(leading) :])
    spoken = [{"role": t.role, "content": t.content} for t in merged(_thought(t, model=model) for t in turns)]
    if spoken and spoken[0]["role"] == "assistant":
        spoken.insert(0, {"role": "user", "content": BEGINNING})
    body = encodable({"system": system, "messages": spoken} if system else {"messages": spoken})
    _strip_end(body["messages"])
    _drop_early_marks(body)
    return body  # type: ignore[no-any-return]


def _system(leading: Sequence[Message]) -> str | list[dict[str, Any]]:
    if len(leading) == 1 and isinstance(leading[0].content, str):
        return leading[0].content if leading[0].content.strip() else ""
    return [block for m in leading for block in anthropic_blocks.dump(m.parts, takes_media=False)]


def _turn(message: Message) -> Turn:
    if message.role == "assistant":
        return Turn(role="assistant", content=_content(message))
    if message.role == "tool":
        return Turn(role="user", content=[_result(r) for r in message.results])
    if message.role == "system":
        return Turn(role="user", content=_note(message))
    return Turn(role="user", content=_content(prefixed(message)))


def _content(message: Message) -> str | list[Block]:
    if isinstance(message.content, str):
        return message.content if message.content.strip() else ""
    takes_media = message.role == "user"
    return [block for part in message.content for block in _blocks(part, takes_media=takes_media)]


def _blocks(part: Part, *, takes_media: bool) -> Sequence[Block]:
    match part:
        case Thinking():
            return [part]
        case ToolCall():
            fields = {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
            return [with_rest(fields, own(part.extra, PROVIDER))]
        case _:
            return anthropic_blocks.dump((part,), takes_media=takes_media)


def _note(message: Message) -> list[Block]:
    known = (p for p in message.parts if isinstance(p, (Text, Media)))
    words = "\n".join(block["text"] for block in anthropic_blocks.dump(known, takes_media=False))
    return [{"type": "text", "text": NOTE.format(text=words)}] if words else []


def _result(result: ToolResult) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = result.content if isinstance(result.content, str) else anthropic_blocks.dump(result.content, takes_media=True)
    if result.is_error and not (content.strip() if isinstance(content, str) else content):
        content = FAILED
    more = own(result.extra, PROVIDER)
    if content or more.get(_FORM) != "absent":
        fields["content"] = content or ""
    return with_rest({**fields, **({"is_error": True} if result.is_error else {})}, more, _FORM)


def _thought(turn: Turn, *, model: str | None) -> Turn:
    """Return the turn with all of its thinking, or with none: where any of it is not this model's, or nothing stands behind it."""
    if isinstance(turn.content, str) or not any(isinstance(b, Thinking) for b in turn.content):
        return turn
    goes = not isinstance(turn.content[-1], Thinking) and all(_goes(b, model=model) for b in turn.content if isinstance(b, Thinking))
    written = [_thinking(b) if isinstance(b, Thinking) else b for b in turn.content if goes or not isinstance(b, Thinking)]
    return replace(turn, content=written)


def _goes(thinking: Thinking, *, model: str | None) -> bool:
    return is_bound_to(thinking, provider=PROVIDER, model=model) and bool(thinking.signature or thinking.redacted)


def _thinking(thinking: Thinking) -> dict[str, Any]:
    more = own(thinking.extra, PROVIDER)
    if thinking.redacted:
        return with_rest({"type": "redacted_thinking", "data": thinking.redacted}, more)
    return with_rest({"type": "thinking", "thinking": thinking.text, "signature": thinking.signature}, more)


def _strip_end(messages: list[dict[str, Any]]) -> None:
    """Take the white space off the end of words the model shall go on from; the provider refuses it there."""
    if not messages or messages[-1]["role"] != "assistant":
        return
    last = messages[-1]
    if isinstance(last["content"], str):
        last["content"] = last["content"].rstrip()
    elif last["content"][-1].get("type") == "text":
        last["content"][-1]["text"] = last["content"][-1]["text"].rstrip()


def _drop_early_marks(body: dict[str, Any]) -> None:
    """Leave the last cache marks the provider accepts in one request; a history gathers more."""
    marked = [b for b in _all_blocks(body) if b.get("cache_control") is not None]
    for block in marked[:-MOST_CACHE_MARKS]:
        del block["cache_control"]


def _all_blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for content in (body.get("system", ""), *(m["content"] for m in body["messages"])):
        for block in content if isinstance(content, list) else ():
            inner = block.get("content")
            if block.get("type") == "tool_result" and isinstance(inner, list):
                yield from inner
            yield block


def load(body: Body, *, model: str | None = None) -> tuple[Message, ...]:
    """Return the messages of a request body, of one message, or of a list of messages; `system` is the first.

    The model that made the thinking in it is the message's own `model`, else the one named here, else the body's.
    Blocks without a neutral form are kept for this provider. Raises WireError with its path for what is no message.
    """
    maker = model_of(body, model)
    found = [m for path, value in listed(body, keys=("messages",), marks=("role",)) for m in _messages(value, path=path, model=maker)]
    if len(found) > 1 and found[0] == Message(role="user", content=BEGINNING) and found[1].role == "assistant":
        del found[0]
    system = body.get("system") if isinstance(body, Mapping) else None
    return (*_loaded_system(system), *found)


def _loaded_system(system: object) -> Iterator[Message]:
    if isinstance(system, str):
        yield Message(role="system", content=system)
    elif system is not None:
        yield Message(role="system", content=tuple(anthropic_blocks.load(b, path=p) for p, b in blocks(system, path="system")))


def _messages(value: FrozenDict, *, path: str, model: str | None) -> Iterator[Message]:
    role = value.get("role")
    content = value.get("content")
    extra = kept(PROVIDER, rest(value, "role", "content"))
    if role not in ("user", "assistant", "system"):
        raise WireError(f"Unknown role {role!r}; Anthropic knows user and assistant", where=f"{path}.role")
    if content is None or isinstance(content, str):
        yield Message(role=role, content=content or "", extra=extra)
        return
    maker = value["model"] if isinstance(value.get("model"), str) else model
    parts = tuple(_part(block, path=where, model=maker) for where, block in blocks(content, path=f"{path}.content"))
    if role == "assistant":
        yield Message(role="assistant", content=parts, extra=extra)
        return
    yield from (Message(role="tool", content=(p,)) for p in parts if isinstance(p, ToolResult))
    words = tuple(p for p in parts if not isinstance(p, ToolResult))
    if words or not parts:
        yield Message(role=role, content=_as_text(words) if len(words) < len(parts) else words, extra=extra)


def _as_text(words: tuple[Part, ...]) -> str | tuple[Part, ...]:
    """Return a lone plain text as the text it was before it joined the results of its turn."""
    only = words[0] if len(words) == 1 else None
    return only.text if isinstance(only, Text) and not only.extra else words


def _part(block: FrozenDict, *, path: str, model: str | None) -> Part:
    match block.get("type"):
        case "thinking":
            signature = text_of(block, "signature", path=path) or None
            extra = kept(PROVIDER, rest(block, "type", "thinking", "signature"))
            return Thinking(text=text_of(block, "thinking", path=path), signature=signature, provider=PROVIDER, model=model, extra=extra)
        case "redacted_thinking":
            extra = kept(PROVIDER, rest(block, "type", "data"))
            return Thinking(redacted=text_of(block, "data", path=path), provider=PROVIDER, model=model, extra=extra)
        case "tool_use":
            said, spelling = arguments.read(block.get("input"))
            extra = arguments.keeping(kept(PROVIDER, rest(block, "type", "id", "name", "input")), spelling)
            return ToolCall(id=id_of(block, "id"), name=name_of(block, path=path), arguments=said, extra=extra)
        case "tool_result":
            return _loaded_result(block, path=path)
    return anthropic_blocks.load(block, path=path)


def _loaded_result(block: FrozenDict, *, path: str) -> ToolResult:
    content = block.get("content")
    answer: str | tuple[Text | Media | ProviderItem, ...] = content if isinstance(content, str) else ""
    if content and not isinstance(content, str):
        answer = tuple(anthropic_blocks.load(b, path=where) for where, b in blocks(content, path=f"{path}.content"))
    is_error = block.get("is_error") is True
    known = ("type", "tool_use_id", "content", "is_error") if is_error else ("type", "tool_use_id", "content")
    more = {**rest(block, *known), **({_FORM: "absent"} if content is None else {})}
    return ToolResult(call_id=id_of(block, "tool_use_id"), content=answer, is_error=is_error, extra=kept(PROVIDER, more))
