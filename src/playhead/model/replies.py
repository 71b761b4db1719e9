"""Replies: what a provider's own form of an answer becomes, the same whichever provider it came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from playhead import clock
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import NOTHING, Message, Part, Text, ToolCall
from playhead.errors import BadReply, InvalidInput, WireError
from playhead.model.protocol import CallReady, ModelEvent, ReasoningDelta, Reply, TextDelta, Usage
from playhead.wire import pydantic_ai
from playhead.wire.bindings import is_same_model
from playhead.wire.providers import format_of

CUT_OFF = "The arguments break off: the answer reached its limit of tokens. Call again, with less in one call."


def maker_of(asked: str, answered: object) -> str:
    """Return the model to which an answer's reasoning is bound: the exact name where it is of the model asked, else that.

    Gateways answer under another name than the one they are asked by; the reasoning still goes back to them.
    """
    return answered if isinstance(answered, str) and is_same_model(answered, asked) else asked


def loaded(provider: str, value: Sequence[Mapping[str, Any]], *, maker: str) -> Message:
    """Return the message of the assistant that a provider's answer is, every call with an id of its own; raises BadReply where it is none.

    `maker` is the model that made the reasoning in it.
    """
    with _readable():
        found = format_of(provider).load(value, model=maker)
    if not found:
        return Message(role="assistant", content="")
    if len(found) > 1 or found[0].role != "assistant":
        raise BadReply("The answer holds what is no turn of the assistant; ask again.")
    return _with_ids(_plain(found[0]))


def loaded_response(response: Mapping[str, Any], *, maker: str) -> Message:
    """Return the message of the assistant that a response of pydantic-ai is, as `loaded` does."""
    with _readable():
        return _with_ids(pydantic_ai.load(response, model=maker))


@contextmanager
def _readable() -> Iterator[None]:
    """Let what cannot be read inside the block be a BadReply."""
    try:
        yield
    except (WireError, InvalidInput) as exc:
        raise BadReply(f"The answer cannot be read: {exc.message}. Ask again.") from exc


def _plain(message: Message) -> Message:
    """Return a message that is nothing but words as its words."""
    only = message.parts[0] if len(message.parts) == 1 else None
    return replace(message, content=only.text) if isinstance(only, Text) and not only.extra and not message.extra else message


def _with_ids(message: Message) -> Message:
    """Return a message in which every call has an id of its own: results are paired by it, and a few servers leave it out or repeat it."""
    taken: set[str] = set()
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            if not part.id or part.id in taken:
                part = replace(part, id=f"call_{clock.new_uid().replace('-', '')}")
            taken.add(part.id)
        parts.append(part)
    return replace(message, content=tuple(parts)) if taken else message


def problem_of(call: ToolCall, *, is_cut: bool = False) -> str | None:
    """Say, to the model, why the arguments of a call cannot be read; None where they can."""
    raw = call.arguments.get("_unparsed")
    if call.arguments.keys() != {"_unparsed"} or not isinstance(raw, str) or not any(raw in _texts(own) for own in call.extra.values()):
        return None
    if is_cut:
        return CUT_OFF
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as exc:
        return f"The arguments are no JSON object: {exc}. Call again with arguments that are one."
    if isinstance(found, dict):
        return "The arguments hold what is no JSON, such as NaN, or nest too deep. Call again without it."
    return f"The arguments are no JSON object but {_NAMES[type(found)]}. Call again with arguments that are one."


_NAMES: Mapping[type, str] = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a truth value", type(None): "null"}


def _texts(own: object) -> Iterable[object]:
    return own.values() if isinstance(own, Mapping) else ()


def ready(call: ToolCall, *, is_cut: bool = False) -> CallReady:
    """Return the event of a call that is complete, without the arguments where they cannot be read."""
    problem = problem_of(call, is_cut=is_cut)
    return CallReady(call=call) if problem is None else CallReady(call=replace(call, arguments=NOTHING), problem=problem)


def problems_in(message: Message, *, is_cut: bool = False) -> FrozenDict:
    """Return, by id, why the arguments of a message's calls cannot be read."""
    found = {call.id: problem_of(call, is_cut=is_cut) for call in message.calls}
    return FrozenDict({id: problem for id, problem in found.items() if problem is not None})


def told(reply: Reply) -> Iterator[ModelEvent]:
    """Yield a whole reply as a stream tells it: its reasoning, its words and calls in order, and itself last."""
    for part in reply.message.parts:
        match part:
            case Text() if part.text:
                yield TextDelta(text=part.text)
            case ToolCall():
                problem = reply.problems.get(part.id)
                yield CallReady(call=part if problem is None else replace(part, arguments=NOTHING), problem=problem)
            case _:
                words = getattr(part, "text", "")
                if words:
                    yield ReasoningDelta(text=words)
    yield reply


def usage_of(*, input: object, output: object, cache_read: object = 0, cache_write: object = 0, reasoning: object = 0) -> Usage:
    """Return the usage a provider reports; what is no number counts as none."""
    return Usage(input=count(input), output=count(output), cache_read=count(cache_read), cache_write=count(cache_write), reasoning=count(reasoning))


def count(value: object) -> int:
    """Return a provider's number of tokens, 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def mapping(value: object) -> Mapping[str, Any]:
    """Return a provider's object as it is, an empty one for anything else."""
    return value if isinstance(value, Mapping) else NOTHING


def text(value: object) -> str:
    """Return a provider's text as it is, an empty one for anything else."""
    return value if isinstance(value, str) else ""
