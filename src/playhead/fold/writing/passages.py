"""Passages: pieces of the past as they stand in a request for a summary, in their neutral form, priced once.

What is left out is left out of the request alone; what is stored stays as it is (specs: context-manager 14.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import NOTHING, Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult, user
from playhead.fold.node import Node
from playhead.fold.recall import ASKER, RecallStyle, recall_pair
from playhead.fold.writing.serialised import value_without_serialised, without_serialised
from playhead.view.tokens import Counter, message_tokens
from playhead.view.units import Body, Unit
from playhead.wire.media import stub

OMITTED = "[A tool call without its other half is not shown.]"
SEPARATOR = "\n\n---\n\n"
"""What stands between two turns that one participant took in a row."""

_WHY = "a request for a memory holds words alone"
_SERVER_SIDE = frozenset({"id", "status", "cache_control"})
"""Fields of a provider's own that mean something only beside the turn as the provider made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Some messages and their price; `node` is the uid of the summary they recall, `body` the part of a long message they are."""

    messages: tuple[Message, ...]
    tokens: int
    node: str | None = None
    body: Body | None = None


def raw(unit: Unit, *, counter: Counter) -> Passage | None:
    """Return a unit as it is shown to whoever summarises it; None where nothing of it is left."""
    told = [neutral for message in unit.messages if (neutral := _neutral(message)) is not None]
    if unit.fault is not None:
        told = list(_unpaired(told))
    if not told:
        return None
    tokens = unit.tokens if tuple(told) == unit.messages else sum(message_tokens(message, counter=counter) for message in told)
    return Passage(messages=tuple(told), tokens=tokens, body=unit.body)


def recall(node: Node, *, style: RecallStyle, counter: Counter) -> Passage:
    """Return a memory as the answer to who asks for it."""
    messages = recall_pair(node, style=style)
    return Passage(messages=messages, tokens=sum(message_tokens(message, counter=counter) for message in messages), node=node.uid)


def note(text: str, *, counter: Counter) -> Passage:
    """Return what the context manager says."""
    message = user(text, name=ASKER)
    return Passage(messages=(message,), tokens=message_tokens(message, counter=counter))


def joined(passages: Iterable[Passage]) -> tuple[Message, ...]:
    """Return the messages of passages, turns that one participant took in a row as one; parts of one long message without a break."""
    told: list[Message] = []
    before: Body | None = None
    for passage in passages:
        for message in passage.messages:
            if told and _goes_on(told[-1], message):
                told[-1] = _together(told[-1], message, separator="" if _continues(before, passage.body) else SEPARATOR)
            else:
                told.append(message)
        before = passage.body
    return tuple(told)


def _continues(before: Body | None, body: Body | None) -> bool:
    return before is not None and body is not None and before.id == body.id and body.index == before.index + 1


def _goes_on(last: Message, message: Message) -> bool:
    if last.role != message.role or last.role not in ("user", "assistant") or last.calls or last.results or message.results:
        return False
    return last.role == "assistant" or last.name == message.name


def _together(last: Message, message: Message, *, separator: str) -> Message:
    if all(isinstance(part, Text) for part in (*last.parts, *message.parts)):
        return replace(last, content=f"{_words(last)}{separator}{_words(message)}", sources=(*last.sources, *message.sources))
    between = (Text(text=separator.strip()),) if separator else ()
    return replace(last, content=(*last.parts, *between, *message.parts), sources=(*last.sources, *message.sources))


def _words(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _neutral(message: Message) -> Message | None:
    if isinstance(message.content, str):
        text = without_serialised(message.content)
        return replace(message, content=text, extra=NOTHING) if text.strip() else None
    parts = tuple(part for part in map(_part, message.content) if part is not None)
    return replace(message, content=parts, extra=NOTHING) if parts else None


def _part(part: Part) -> Part | None:
    match part:
        case Thinking():
            return None
        case Text():
            text = without_serialised(part.text)
            return Text(text=text) if text.strip() else None
        case Media():
            return Text(text=stub(part, why=_WHY))
        case ProviderItem():
            return Text(text=f"[{part.value.get('type') or 'an item'} of {part.provider} not shown: {_WHY}]")
        case ToolCall():
            arguments = value_without_serialised(part.arguments)
            return replace(part, arguments=arguments, extra=_carried(part.extra, *(() if arguments is part.arguments else ("arguments",))))
        case ToolResult():
            content = without_serialised(part.content) if isinstance(part.content, str) else _answer(part.content)
            return replace(part, content=content, extra=_carried(part.extra))


def _answer(content: tuple[Text | Media | ProviderItem, ...]) -> str | tuple[Text, ...]:
    return tuple(told for told in map(_part, content) if isinstance(told, Text)) or ""


def _carried(extra: Mapping[str, Any], *gone: str) -> FrozenDict:
    """Return what of a provider's own fields of a call or a result still goes: how it is spelled, not what the server knows it by."""
    kept = {provider: FrozenDict({k: v for k, v in own.items() if k not in _SERVER_SIDE and k not in gone}) for provider, own in extra.items() if isinstance(own, Mapping)}
    return FrozenDict({provider: own for provider, own in kept.items() if own})


def _unpaired(messages: Iterable[Message]) -> Iterable[Message]:
    """Yield messages without calls and results, which are no whole rounds."""
    for message in messages:
        if message.role == "tool":
            continue
        if not message.calls and not message.results:
            yield message
            continue
        parts = tuple(part for part in message.parts if not isinstance(part, (ToolCall, ToolResult)))
        yield replace(message, content=parts or OMITTED)
