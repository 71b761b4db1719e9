"""Answers of a type: what providers take for a schema, and what is read of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from playhead.agent.output import OutputForm
from playhead.errors import InvalidInput, OutputMismatch
from playhead.model.answer_schema import taken
from playhead.model.tool_names import is_strict


@dataclass
class Port:
    number: int


@dataclass
class Host:
    name: str
    port: Port


class Tree(msgspec.Struct):
    name: str
    below: list[Tree]


class Ticket(pydantic.BaseModel):
    title: str
    weight: int = pydantic.Field(ge=1)


class Cat(pydantic.BaseModel):
    kind: str
    inside: Ticket


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every object that a schema describes."""
    if isinstance(schema, list):
        return [found for one in schema for found in objects(one)]
    if not isinstance(schema, dict):
        return []
    return [*([schema] if schema.get("type") == "object" else []), *(found for one in schema.values() for found in objects(one))]


@pytest.mark.parametrize("kind", [Host, Tree, Ticket, Cat, list[Host], list[Ticket], int, str, int | str, Annotated[int, msgspec.Meta(ge=1)]])
def test_every_schema_is_that_of_a_closed_object(kind: Any):
    schema = OutputForm(kind).schema
    assert schema["type"] == "object" and "$ref" not in schema
    assert all(one["additionalProperties"] is False for one in objects(schema))
    assert is_strict(schema)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Host, '{"name": "a", "port": {"number": 1}}', Host("a", Port(1))),
        (Tree, '{"name": "a", "below": [{"name": "b", "below": []}]}', Tree("a", [Tree("b", [])])),
        (list[int], '{"answer": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (int | str, '{"answer": "x"}', "x"),
        (list[Ticket], '{"answer": [{"title": "a", "weight": 2}]}', [Ticket(title="a", weight=2)]),
        (Ticket, '```json\n{"title": "a", "weight": 2}\n```', Ticket(title="a", weight=2)),
        (dict[str, int], '{"answer": 3}', {"answer": 3}),
    ],
)
def test_an_answer_is_read_with_and_without_the_object_around_it(kind: Any, text: str, value: object):
    assert OutputForm(kind).read(text) == value


@pytest.mark.parametrize(("kind", "text"), [(list[int], '{"answer": "x"}'), (list[int], '{"answer": [1], "why": 2}'), (list[int], "{"), (Ticket, '{"title": "a", "weight": 0}')])
def test_an_answer_of_another_form_is_told(kind: Any, text: str):
    with pytest.raises(OutputMismatch):
        OutputForm(kind).read(text)


def test_a_map_stays_open_and_what_is_no_type_is_refused():
    assert OutputForm(dict[str, int]).schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    with pytest.raises(InvalidInput, match="An output_type is a type"):
        OutputForm(7)


def test_limits_that_a_provider_cannot_enforce_are_told_in_words():
    schema = taken(OutputForm(Ticket).schema)
    assert schema["properties"]["weight"] == {"title": "Weight", "type": "integer", "description": "{minimum: 1}"}
    assert taken({"type": "array", "description": "Hosts.", "minItems": 2, "items": {"type": "string", "format": "regex"}}) == {
        "type": "array",
        "description": "Hosts.\n{minItems: 2}",
        "items": {"type": "string", "description": "{format: regex}"},
    }


def test_only_schemas_that_strict_decoding_takes_are_called_strict():
    assert not is_strict({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}, "required": ["a"], "additionalProperties": False})
    assert not is_strict({"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "x"}}, "required": ["a"], "additionalProperties": False})
