"""pydantic-ai: requests and responses made of parts, as the JSON of its `ModelMessagesTypeAdapter`; no package of theirs is needed.

Reasoning that comes this way goes back this way alone: pydantic-ai writes it for the provider that made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import arguments_from_json
from playhead.wire import media as media_forms
from playhead.wire.bindings import is_bound_to
from playhead.wire.encodable import encodable
from playhead.wire.extras import kept, own, with_rest
from playhead.wire.ids import IdRule
from playhead.wire.participants import prefixed
from playhead.wire.pydantic_parts import PROVIDER, turn_parts
from playhead.wire.rounds import FAILED, settled

IDS = IdRule(pattern=re.compile("[^\ud800-\udfff]+", re.DOTALL), unique_in="body")
LONGEST_NAME = 64
_MADE_BY = "provider_name"
_URL_KINDS = {"image": "image-url", "audio": "audio-url", "video": "video-url", "document": "document-url"}


def load(response: Mapping[str, Any], *, model: str | None = None) -> Message:
    """Return the message of the assistant that a response holds; its reasoning is bound to `model`, by default the one it names."""
    maker = model or response.get("model_name")
    parts = tuple(_bound(part, model=maker) if isinstance(part, Thinking) else part for part in turn_parts(response))
    only = parts[0] if len(parts) == 1 else None
    return Message(role="assistant", content=only.text if isinstance(only, Text) and not only.extra else parts)


def _bound(thinking: Thinking, *, model: str | None) -> Thinking:
    made_by = {_MADE_BY: thinking.provider} if thinking.provider else {}
    return replace(thinking, provider=PROVIDER, model=model, extra=kept(PROVIDER, {**own(thinking.extra, PROVIDER), **made_by}))


def dump(messages: Sequence[Message], *, model: str | None = None, system: str | None = None) -> list[dict[str, Any]]:
    """Return the requests and responses; `system` is how pydantic-ai calls the provider, for reasoning that was not made this way.

    Raises WireError where calls and results are no whole rounds.
    """
    written: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for is_turn, run in groupby(settled(messages, ids=IDS, longest_name=LONGEST_NAME), key=lambda m: m.role == "assistant"):
        said = list(run)
        names.update({call.id: call.name for m in said for call in m.calls})
        parts = _turn(said, model=model, system=system) if is_turn else [part for m in said for part in _request_parts(m, names=names)]
        if parts and is_turn:
            written.append({"kind": "response", "parts": parts, "model_name": model, _MADE_BY: _maker(said) or system})
        elif parts:
            written.append({"kind": "request", "parts": parts})
    return encodable(written)  # type: ignore[no-any-return]


def _request_parts(message: Message, *, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    match message.role:
        case "tool":
            yield from (_answer(result, names=names) for result in message.results)
        case "system" if message.text:
            yield {"part_kind": "system-prompt", "content": message.text}
        case "user":
            message = prefixed(message)
            content = message.content if isinstance(message.content, str) else list(_contents(message.content))
            if content:
                yield {"part_kind": "user-prompt", "content": content}


def _answer(result: ToolResult, *, names: Mapping[str, str]) -> dict[str, Any]:
    content = result.content if isinstance(result.content, str) else list(_contents(result.content))
    fields = {
        "part_kind": "tool-return",
        "tool_name": names.get(result.call_id) or result.name or "unnamed",
        "tool_call_id": result.call_id,
        "content": content or (FAILED if result.is_error else ""),
        "outcome": "failed" if result.is_error else "success",
    }
    return with_rest(fields, own(result.extra, PROVIDER), "tool_kind", "retry", "content_file_digests")


def _contents(parts: Iterable[Part]) -> Iterator[str | dict[str, Any]]:
    for part in parts:
        match part:
            case Text() if part.text:
                yield with_rest({"kind": "text-content", "content": part.text}, own(part.extra, PROVIDER)) if own(part.extra, PROVIDER) else part.text
            case Media():
                yield _media(part)
            case ProviderItem() if part.provider == PROVIDER:
                yield dict(part.value)


def _media(part: Media) -> str | dict[str, Any]:
    part = media_forms.spelled_out(part)
    more = own(part.extra, PROVIDER)
    if part.data and part.mime:
        # The adapter reads bytes in the alphabet of base64 that is safe in URLs.
        return with_rest({"kind": "binary", "data": part.data.translate(str.maketrans("+/", "-_")), "media_type": part.mime}, more)
    address = media_forms.web_address(part)
    if address is not None:
        return with_rest({"kind": _URL_KINDS[part.kind], "url": address, **({"media_type": part.mime} if part.mime else {})}, more)
    if part.ref is not None and _MADE_BY in more:
        return with_rest({"kind": "uploaded-file", "file_id": part.ref, **({"media_type": part.mime} if part.mime else {})}, more)
    return media_forms.stub(part, why="it has neither data nor an address")


def _turn(run: Sequence[Message], *, model: str | None, system: str | None) -> list[dict[str, Any]]:
    """Return the parts of a model's turn, with all of its reasoning or none of it."""
    parts = [part for message in run for part in message.parts]
    goes = all(_goes(part, model=model, system=system) for part in parts if isinstance(part, Thinking))
    return [written for part in parts if (goes or not isinstance(part, Thinking)) and (written := _turn_part(part)) is not None]


def _goes(thinking: Thinking, *, model: str | None, system: str | None) -> bool:
    return any(is_bound_to(thinking, provider=maker, model=model) for maker in (PROVIDER, system) if maker is not None)


def _maker(run: Sequence[Message]) -> object:
    """Return the provider that made the reasoning of a turn, as pydantic-ai calls it."""
    return next((own(p.extra, PROVIDER)[_MADE_BY] for m in run for p in m.parts if isinstance(p, Thinking) and _MADE_BY in own(p.extra, PROVIDER)), None)


def _turn_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text():
            return with_rest({"part_kind": "text", "content": part.text}, own(part.extra, PROVIDER)) if part.text else None
        case Thinking():
            fields = {"part_kind": "thinking", "content": part.text, "signature": part.redacted or part.signature}
            more = own(part.extra, PROVIDER)
            marks = {} if _MADE_BY in more else {_MADE_BY: part.provider, **({"id": "redacted_thinking"} if part.redacted else {})}
            return with_rest({**fields, **marks}, more)
        case ToolCall():
            fields = {"part_kind": "tool-call", "tool_name": part.name, "tool_call_id": part.id, "args": _arguments(part)}
            return with_rest(fields, own(part.extra, PROVIDER))
        case Media():
            return {"part_kind": "text", "content": media_forms.stub(part, why="it is shown to the model in a user's message only")}
        case ProviderItem() if part.provider == PROVIDER:
            return dict(part.value)
    return None


def _arguments(call: ToolCall) -> str:
    """Return a call's arguments as JSON text, in the spelling they came in as long as it still says the same."""
    spelling = own(call.extra, PROVIDER).get("args")
    if isinstance(spelling, str) and (arguments_from_json(spelling)[0] == call.arguments or (not spelling.strip() and not call.arguments)):
        return spelling
    return codec.encode(encodable(FrozenDict(call.arguments))).decode()
