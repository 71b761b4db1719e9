"""Answers in a form that was asked for: a type, as a JSON schema on the way out, and as a value on the way back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from playhead.agent.foreign import speaks_pydantic
from playhead.errors import InvalidInput, OutputMismatch

ANSWER = "answer"
"""The only property of the object in which an answer stands that is no object itself: providers take no other schema."""

_NAMED = ("properties", "$defs")
_NESTED = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties")


class OutputForm:
    """A type that answers are to have: anything msgspec reads (dataclasses, TypedDicts, builtins), or what is made of pydantic models.

    `schema` is the JSON schema of an object, as providers want it; what is no object itself stands in one, as its `answer`. Raises
    InvalidInput for what is no such type.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        try:
            self._pydantic = sys.modules["pydantic"].TypeAdapter(kind) if speaks_pydantic(kind) else None
            said: dict[str, Any] = msgspec.json.schema(kind) if self._pydantic is None else self._pydantic.json_schema()
        except Exception as exc:
            raise InvalidInput(f"An output_type is a type such as a dataclass, a TypedDict or list[str], not {kind!r}: {exc}") from exc
        whole = _closed(_spelled_out(said))
        self._is_wrapped = whole.get("type") != "object"
        self.schema: dict[str, Any] = _wrapped(whole) if self._is_wrapped else whole

    def read(self, text: str) -> Any:
        """Return the value that an answer says. Raises OutputMismatch."""
        try:
            said = self._answer(_unfenced(text).encode())
            return msgspec.json.decode(said, type=self._kind) if self._pydantic is None else self._pydantic.validate_json(said)
        except (ValueError, msgspec.MsgspecError) as exc:
            raise OutputMismatch(str(exc), answer=text) from exc

    def _answer(self, said: bytes) -> bytes:
        """Return the JSON of the answer, also of a model that gave it without the object around it."""
        if not self._is_wrapped or not said.startswith(b"{"):
            return said
        found = msgspec.json.decode(said, type=dict[str, msgspec.Raw])
        return bytes(found[ANSWER]) if found.keys() == {ANSWER} else said


def _spelled_out(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that says at its root what it is, and does not refer to a definition for it."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    if name not in definitions:
        return dict(schema)
    is_recursive = f'"#/$defs/{name}"' in msgspec.json.encode(definitions).decode()
    left = {key: value for key, value in definitions.items() if key != name or is_recursive}
    return {**definitions[name], **({"$defs": left} if left else {})}


def _closed(schema: Any) -> Any:
    """Return a schema in which each object has no properties but those that it names, unless it says otherwise itself."""
    if isinstance(schema, (list, tuple)):
        return [_closed(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    inside = {key: {name: _closed(one) for name, one in value.items()} if key in _NAMED else _closed(value) if key in _NESTED else value for key, value in schema.items()}
    return {**inside, "additionalProperties": False} if "properties" in inside and "additionalProperties" not in inside else inside


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return {"type": "object", "properties": {ANSWER: inner}, "required": [ANSWER], "additionalProperties": False, **definitions}


def _unfenced(text: str) -> str:
    """Return JSON without the code fence that models put around it."""
    said = text.strip()
    if said.startswith("```") and said.endswith("```"):
        return said[3:-3].removeprefix("json").strip()
    return said
