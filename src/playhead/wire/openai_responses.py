"""OpenAI Responses: `input` items, as https://platform.openai.com/docs/api-reference/responses describes them.

docs/reference/message.md says how each thing maps and what the dump enforces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, ProviderItem, Text, ToolResult
from playhead.errors import WireError
from playhead.wire import response_parts
from playhead.wire.bodies import Body, blocks, id_of, listed, model_of, sequence
from playhead.wire.encodable import encodable
from playhead.wire.extras import kept, own, rest, with_rest
from playhead.wire.ids import IdRule
from playhead.wire.participants import prefixed
from playhead.wire.response_turns import CUSTOM_CALL, LoadedTurn, turn_items
from playhead.wire.rounds import FAILED, settled

PROVIDER = "openai-responses"
IDS = IdRule(pattern=re.compile("[^\ud800-\udfff]{1,64}", re.DOTALL), unique_in="body")
LONGEST_NAME = 64

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_INSTRUCTIONS = "instructions"


def dump(messages: Sequence[Message], *, model: str | None = None) -> dict[str, Any]:
    """Return `{"input": [...]}`, with `instructions` where the conversation was read from a body that has them.

    Reasoning goes only to the `model` that made it; without it, no id of the server goes either.
    Raises WireError where calls and results are no whole rounds.
    """
    ready = settled(messages, ids=IDS, longest_name=LONGEST_NAME)
    instructions = _instructions(ready)
    body: dict[str, Any] = {} if instructions is None else {_INSTRUCTIONS: instructions}
    items: list[dict[str, Any]] = []
    customs: set[str] = set()
    keeps_ids = True
    for role, run in groupby(ready if instructions is None else ready[1:], key=lambda m: m.role):
        if role == "assistant":
            written, keeps_ids = turn_items(list(run), model=model)
            customs |= {item["call_id"] for item in written if item.get("type") == CUSTOM_CALL and "call_id" in item}
            items.extend(written)
        elif role == "tool":
            items.extend(_output(m.results[0], customs=customs, keeps_ids=keeps_ids) for m in run)
        else:
            items.extend(item for m in run if (item := _speech(m)) is not None)
    return encodable({**body, "input": items})  # type: ignore[no-any-return]


def _instructions(messages: Sequence[Message]) -> str | None:
    if not messages or messages[0].role != "system" or not isinstance(messages[0].content, str):
        return None
    return messages[0].content if own(messages[0].extra, PROVIDER).get(_INSTRUCTIONS) is True else None


def _speech(message: Message) -> dict[str, Any] | None:
    message = prefixed(message)
    content = message.content if isinstance(message.content, str) else response_parts.dump(message.content, takes_media=message.role == "user")
    if not content:
        return None
    more = own(message.extra, PROVIDER)
    role = "developer" if message.role == "system" and more.get("role") == "developer" else message.role
    return with_rest({"type": "message", "role": role, "content": content}, more, "role", _INSTRUCTIONS)


def _output(result: ToolResult, *, customs: set[str], keeps_ids: bool) -> dict[str, Any]:
    kind = "custom_tool_call_output" if result.call_id in customs else "function_call_output"
    output = result.content if isinstance(result.content, str) else response_parts.dump(result.content, takes_media=True)
    fields = {"type": kind, "call_id": result.call_id, "output": output or (FAILED if result.is_error else "")}
    return with_rest(fields, own(result.extra, PROVIDER), *(() if keeps_ids else ("id",)))


def load(body: Body, *, model: str | None = None) -> tuple[Message, ...]:
    """Return the messages of a request body, a response, one item, or a list of items; `instructions` are the first.

    All the model does until someone else speaks is one turn: reasoning, words, calls, and items without a neutral form.
    `model` made the reasoning in it (default: the body's own `model`). Raises WireError with its path for what is no item.
    """
    maker = model_of(body, model)
    found: list[Message] = []
    turn = LoadedTurn(model=maker)
    for path, item in listed(_spoken(body), keys=("input", "output"), marks=("type", "role")):
        if turn.take(item, path=path):
            continue
        found.extend(turn.message())
        turn = LoadedTurn(model=maker)
        found.append(_message(item, path=path))
    return (*_loaded_instructions(body), *found, *turn.message())


def _spoken(body: Body) -> Body:
    """Return a body whose input is a list; a bare text stands for one message of the user."""
    if isinstance(body, Mapping) and isinstance(body.get("input"), str):
        return {"input": [{"type": "message", "role": "user", "content": body["input"]}]}
    return body


def _loaded_instructions(body: Body) -> tuple[Message, ...]:
    instructions = body.get(_INSTRUCTIONS) if isinstance(body, Mapping) and "input" in body else None
    if isinstance(instructions, str):
        return (Message(role="system", content=instructions, extra=kept(PROVIDER, {_INSTRUCTIONS: True})),)
    return load(sequence(instructions, path=_INSTRUCTIONS)) if instructions is not None else ()


def _message(item: FrozenDict, *, path: str) -> Message:
    if item.get("type") in _OUTPUTS:
        answer = _content(item.get("output"), path=f"{path}.output")
        extra = kept(PROVIDER, rest(item, "type", "call_id", "output"))
        return Message(role="tool", content=(ToolResult(call_id=id_of(item, "call_id"), content=answer, extra=extra),))
    role = item.get("role")
    content = _content(item.get("content"), path=f"{path}.content")
    if role == "user":
        return Message(role="user", content=content, extra=kept(PROVIDER, rest(item, "type", "role", "content")))
    if role in ("system", "developer"):
        known = ("type", "role", "content") if role == "system" else ("type", "content")
        return Message(role="system", content=content, extra=kept(PROVIDER, rest(item, *known)))
    raise WireError(f"Unknown role {role!r}; OpenAI Responses knows user, assistant, system, developer", where=f"{path}.role")


def _content(content: object, *, path: str) -> str | tuple[Text | Media | ProviderItem, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    return tuple(response_parts.load(block, path=where) for where, block in blocks(content, path=path))
