"""The names tools go by at a provider: `tape.info` is declared, and called, as `tape_info`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playhead.entry.message import Message, ToolCall
from playhead.errors import InvalidInput
from playhead.model.protocol import ModelRequest, ToolSpec
from playhead.wire.ids import fitting_name


class ToolNames:
    """The names of a request's tools as a provider takes them, and back; raises InvalidInput where two tools would get one."""

    def __init__(self, tools: Sequence[ToolSpec], *, longest: int) -> None:
        self._sent: dict[str, str] = {}
        self._own: dict[str, str] = {}
        for tool in tools:
            sent = fitting_name(tool.name, longest=longest)
            if sent in self._own:
                raise InvalidInput(f"The tools {self._own[sent]!r} and {tool.name!r} are one name to a provider, {sent!r}; rename one of them.")
            self._sent[tool.name] = sent
            self._own[sent] = tool.name

    def sent(self, name: str) -> str:
        """Return the name a provider knows a tool by."""
        return self._sent.get(name, name)

    def own(self, call: ToolCall) -> ToolCall:
        """Return a call that a provider made under our own name of the tool."""
        name = self._own.get(call.name, call.name)
        return call if name == call.name else replace(call, name=name)

    def restored(self, message: Message) -> Message:
        """Return a message whose calls go by our own names."""
        if all(self.own(call) is call for call in message.calls):
            return message
        return replace(message, content=tuple(self.own(part) if isinstance(part, ToolCall) else part for part in message.parts))


def named_tool(request: ModelRequest) -> str | None:
    """Return the tool a request asks to call, None where it leaves the choice; raises InvalidInput for one it does not declare."""
    if request.tool_choice in ("auto", "none", "required"):
        return None
    if all(tool.name != request.tool_choice for tool in request.tools):
        known = ", ".join(tool.name for tool in request.tools) or "none"
        raise InvalidInput(f"tool_choice is auto, none, required or the name of a tool of the request ({known}), not {request.tool_choice!r}.")
    return request.tool_choice


def is_strict(schema: object) -> bool:
    """Tell whether a JSON schema keeps to what strict decoding asks: every object closed, all its properties required, references bare."""
    if isinstance(schema, (list, tuple)):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (schema.get("additionalProperties") is not False or set(schema.get("properties", ())) - set(schema.get("required", ()))):
        return False
    if not schema.keys().isdisjoint(("oneOf", "allOf")) or ("$ref" in schema and len(schema) > 1):
        return False
    return all(map(is_strict, schema.values()))
