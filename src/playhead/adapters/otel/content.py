"""What was said, as the conventions write it; told only where the user asks for it.

Source: OpenTelemetry's semantic conventions for generative AI, the JSON schemas of input and output messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from playhead.adapters.otel.attributes import FINISH
from playhead.agent.calling import Answer
from playhead.entry import codec
from playhead.entry.frozen import freeze
from playhead.entry.message import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from playhead.model.protocol import ModelRequest, Reply, ToolSpec


def contents(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what was said in an operation, each attribute as JSON."""
    return {name: codec.encode(freeze(value)).decode("utf-8", "replace") for fact in facts.values() for name, value in _said(fact)}


def _said(fact: object) -> Iterator[tuple[str, Any]]:
    match fact:
        case ModelRequest():
            yield "gen_ai.input.messages", [_message(m) for m in fact.messages if m.role != "system"]
            instructions = [part for m in fact.messages if m.role == "system" for part in _parts(m.parts)]
            if instructions:
                yield "gen_ai.system_instructions", instructions
            if fact.tools:
                yield "gen_ai.tool.definitions", [_definition(tool) for tool in fact.tools]
        case Reply():
            yield "gen_ai.output.messages", [{**_message(fact.message), "finish_reason": FINISH.get(fact.stop, fact.stop)}]
        case ToolCall():
            yield "gen_ai.tool.call.arguments", fact.arguments
        case Answer():
            yield "gen_ai.tool.call.result", _result(fact.result)


def _message(message: Message) -> dict[str, Any]:
    named = {"name": message.name} if message.name else {}
    return {"role": message.role, "parts": list(_parts(message.parts)), **named}


def _parts(parts: Iterable[Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        match part:
            case Text():
                yield {"type": "text", "content": part.text}
            case Thinking():
                yield {"type": "reasoning", "content": part.text}
            case ToolCall():
                yield {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
            case ToolResult():
                yield {"type": "tool_call_response", "id": part.call_id, "response": _result(part)}
            case Media():
                yield _media(part)
            case _:
                yield {"type": part.type}


def _media(media: Media) -> dict[str, Any]:
    """Return where media is, never its bytes."""
    place = {"uri": media.url} if media.url is not None and not media.url.startswith("data:") else {"file_id": media.ref} if media.ref is not None else {}
    return {"type": "uri" if "uri" in place else "file" if place else "blob", "modality": media.kind, "mime_type": media.mime, **place}


def _result(result: ToolResult) -> Any:
    return result.content if isinstance(result.content, str) else list(_parts(result.content))


def _definition(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
