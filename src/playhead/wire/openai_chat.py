"""OpenAI Chat Completions: `messages`, as https://platform.openai.com/docs/api-reference/chat describes them.

docs/reference/message.md says how each thing maps and what the dump enforces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.errors import WireError
from playhead.wire import arguments, chat_parts
from playhead.wire.bindings import is_bound_to
from playhead.wire.bodies import Body, blocks, id_of, listed, model_of, name_of, sequence, text_of
from playhead.wire.encodable import encodable
from playhead.wire.extras import kept, own, rest, with_rest
from playhead.wire.ids import IdRule
from playhead.wire.participants import FIELD, named
from playhead.wire.rounds import FAILED, settled

PROVIDER = "openai"
IDS = IdRule(pattern=re.compile("[^\ud800-\udfff]{1,40}", re.DOTALL), unique_in="round")
"""At most 40 characters. OpenAI itself repeats ids in later turns, so they are unique in their round only."""

LONGEST_NAME = 64
RETURNED = "Returned by tool call {call_id}:"
"""What introduces the media of a tool's answer in the user's message behind the round."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_FORM = "content_form"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def dump(messages: Sequence[Message], *, model: str | None = None) -> dict[str, Any]:
    """Return `{"messages": [...]}`; raises WireError where calls and results are no whole rounds.

    Reasoning goes only to the `model` that made it.
    """
    written: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for message in settled(messages, ids=IDS, longest_name=LONGEST_NAME):
        if message.role == "tool":
            written.append(_answer(message.results[0], shown=shown))
            continue
        written.extend(_returned(shown))
        shown.clear()
        spoken = _turn(message, model=model) if message.role == "assistant" else _speech(message)
        written.extend([spoken] if spoken else [])
    return {"messages": encodable([*written, *_returned(shown)])}


def _speech(message: Message) -> dict[str, Any] | None:
    name, message = named(message)
    content = message.content if isinstance(message.content, str) else chat_parts.dump(message.content, takes_media=message.role == "user")
    if not content:
        return None
    more = own(message.extra, PROVIDER)
    role = "developer" if message.role == "system" and more.get("role") == "developer" else message.role
    return with_rest({"role": role, "content": content, **({"name": name} if name else {})}, more, "role", _FORM)


def _turn(message: Message, *, model: str | None) -> dict[str, Any] | None:
    more = own(message.extra, PROVIDER)
    content = _turn_content(message, form=more.get(_FORM))
    calls = [_call(c) for c in message.calls]
    if not calls and not content and not more.get("audio"):
        return None
    fields: dict[str, Any] = {"role": "assistant", "content": content}
    if content is None and more.get(_FORM) == "absent":
        del fields["content"]
    fields |= _reasoning(message, model=model)
    if message.name is not None and FIELD.fullmatch(message.name):
        fields["name"] = message.name
    return with_rest({**fields, **({"tool_calls": calls} if calls else {})}, more, _FORM)


def _turn_content(message: Message, *, form: object) -> str | list[dict[str, Any]] | None:
    if isinstance(message.content, str):
        return message.content
    parts = chat_parts.dump(message.content, takes_media=False)
    if not parts:
        return "" if form == "empty" else None
    is_speech = form is None and not any(isinstance(p, (ToolCall, Thinking)) for p in message.content)
    if form == "list" or is_speech or len(parts) > 1 or parts[0].keys() != {"type", "text"}:
        return parts
    text: str = parts[0]["text"]
    return text


def _reasoning(message: Message, *, model: str | None) -> Mapping[str, Any]:
    thinking = [p for p in message.parts if isinstance(p, Thinking)]
    if len(thinking) != 1 or message.parts[0] is not thinking[0] or not is_bound_to(thinking[0], provider=PROVIDER, model=model):
        return {}
    fields = own(thinking[0].extra, PROVIDER)
    if fields and (not thinking[0].text or thinking[0].text in fields.values()):
        return fields
    return {"reasoning_content": thinking[0].text} if thinking[0].text else {}


def _call(call: ToolCall) -> dict[str, Any]:
    more = own(call.extra, PROVIDER)
    text = call.arguments.get("input")
    if more.get("type") == "custom" and isinstance(text, str):
        custom = with_rest({"name": call.name, "input": text}, own(more, "custom"))
        return with_rest({"id": call.id, "type": "custom", "custom": custom}, more, "arguments")
    function = with_rest({"name": call.name, "arguments": arguments.spelled(call)}, own(more, "function"))
    return with_rest({"id": call.id, "type": "function", "function": function}, more, "arguments")


def _answer(result: ToolResult, *, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the tool's message; media it cannot hold goes to `shown`, behind a line that names the call."""
    if isinstance(result.content, str):
        content: str | list[dict[str, Any]] = result.content
    else:
        content, media = chat_parts.dump_answer(result.content)
        if media:
            shown.extend([{"type": "text", "text": RETURNED.format(call_id=result.call_id)}, *media])
    name = {"name": result.name} if result.name is not None and FIELD.fullmatch(result.name) else {}
    fields = {"role": "tool", "tool_call_id": result.call_id, **name, "content": content or (FAILED if result.is_error else "")}
    return with_rest(fields, own(result.extra, PROVIDER))


def _returned(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(shown)}] if shown else []


def load(body: Body, *, model: str | None = None) -> tuple[Message, ...]:
    """Return the messages of a request body, of one message, or of a list of messages.

    `model` made the reasoning in it (default: the body's own `model`). Fields and blocks without a neutral form
    are kept for this provider. Raises WireError with its path for what is no message.
    """
    maker = model_of(body, model)
    return tuple(_message(value, path=path, model=maker) for path, value in listed(body, keys=("messages",), marks=("role",)))


def _message(value: FrozenDict, *, path: str, model: str | None) -> Message:
    role = value.get("role")
    name = value["name"] if isinstance(value.get("name"), str) else None
    known = ("role", "content") if name is None else ("role", "content", "name")
    match role:
        case "user":
            return Message(role="user", content=_content(value, path=path), name=name, extra=kept(PROVIDER, rest(value, *known)))
        case "system" | "developer":
            more = rest(value, *known) if role == "system" else rest(value, *(k for k in known if k != "role"))
            return Message(role="system", content=_content(value, path=path), name=name, extra=kept(PROVIDER, more))
        case "assistant":
            return _assistant(value, path=path, name=name, known=known, model=model)
        case "tool":
            more = rest(value, "tool_call_id", *known)
            result = ToolResult(call_id=id_of(value, "tool_call_id"), content=_content(value, path=path), name=name, extra=kept(PROVIDER, more))
            return Message(role="tool", content=(result,))
        case "function":
            return Message(role="tool", content=(ToolResult(call_id="", content=_content(value, path=path), name=name),))
    raise WireError(f"Unknown role {role!r}; OpenAI Chat knows {', '.join(_ROLES)}", where=f"{path}.role")


def _content(value: FrozenDict, *, path: str) -> str | tuple[Text | Media | ProviderItem, ...]:
    content = value.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        return ()
    return tuple(chat_parts.load(block, path=where) for where, block in blocks(content, path=f"{path}.content"))


def _assistant(value: FrozenDict, *, path: str, name: str | None, known: tuple[str, ...], model: str | None) -> Message:
    content = _content(value, path=path)
    calls = tuple(_calls(value, path=path))
    thinking = tuple(_thinking(value, model=model))
    refusal = text_of(value, "refusal", path=path)
    refused = (Text(text=refusal, extra=kept(PROVIDER, {"type": "refusal"})),) if refusal else ()
    read = [k for k in (*_REASONING, "refusal", "function_call") if value.get(k)]
    read += ["tool_calls"] if value.get("tool_calls") is not None else []
    more = rest(value, *known, *read)
    if not (calls or thinking or refused):
        return Message(role="assistant", content=content, name=name, extra=kept(PROVIDER, more))
    form = _form(value, content)
    words: tuple[Part, ...] = ((Text(text=content),) if content else ()) if isinstance(content, str) else content
    extra = kept(PROVIDER, {**more, _FORM: form} if form else more)
    return Message(role="assistant", content=(*thinking, *words, *refused, *calls), name=name, extra=extra)


def _form(value: Mapping[str, Any], content: str | tuple[Part, ...]) -> str | None:
    """Return the spelling of a turn's content that its parts alone do not tell."""
    if "content" not in value:
        return "absent"
    if content == "":
        return "empty"
    if not isinstance(content, str) and len(content) == 1 and isinstance(content[0], Text) and not content[0].extra:
        return "list"
    return None


def _thinking(value: FrozenDict, *, model: str | None) -> Iterator[Thinking]:
    fields = FrozenDict({k: value[k] for k in _REASONING if value.get(k)})
    if fields:
        text = next((t for t in fields.values() if isinstance(t, str)), "")
        is_usual = fields == {"reasoning_content": text}
        yield Thinking(text=text, provider=PROVIDER, model=model, extra=kept(PROVIDER, {} if is_usual else fields))


def _calls(value: FrozenDict, *, path: str) -> Iterator[ToolCall]:
    for i, call in enumerate(sequence(value.get("tool_calls") or (), path=f"{path}.tool_calls")):
        where = f"{path}.tool_calls[{i}]"
        if not isinstance(call, Mapping):
            raise WireError(f"A tool call is a mapping, not {type(call).__name__}", where=where)
        yield _loaded_call(call, path=where)
    old = value.get("function_call")
    if isinstance(old, Mapping):
        yield _loaded_call({"function": old}, path=f"{path}.function_call")


def _loaded_call(call: Mapping[str, Any], *, path: str) -> ToolCall:
    custom = call.get("custom")
    if call.get("type") == "custom" and isinstance(custom, Mapping):
        inner = rest(custom, "name", "input")
        more = FrozenDict({**rest(call, "id", "custom"), **({"custom": inner} if inner else {})})
        text = text_of(custom, "input", path=f"{path}.custom")
        return ToolCall(id=id_of(call, "id"), name=name_of(custom, path=f"{path}.custom"), arguments=FrozenDict({"input": text}), extra=kept(PROVIDER, more))
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise WireError("A tool call has a 'function' with its name and arguments", where=f"{path}.function")
    inner = rest(function, "name", "arguments")
    known = ("id", "function", "type") if call.get("type") == "function" else ("id", "function")
    more = FrozenDict({**rest(call, *known), **({"function": inner} if inner else {})})
    said, spelling = arguments.read(function.get("arguments"))
    extra = arguments.keeping(kept(PROVIDER, more), spelling)
    return ToolCall(id=id_of(call, "id"), name=name_of(function, path=f"{path}.function"), arguments=said, extra=extra)
