from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from playhead.agent.tools import Tool, ToolContext, tool
from playhead.entry.frozen import freeze
from playhead.errors import InvalidInput, InvalidTool

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Host:
    name: str
    port: int = 80
    tags: list[str] = field(default_factory=list)


class Options(TypedDict, total=False):
    retries: int
    ratio: float


class Colour(enum.Enum):
    RED = "red"


class Order(pydantic.BaseModel):
    id: int
    lines: list[Line] = []


class Line(pydantic.BaseModel):
    sku: str


Order.model_rebuild()


def schema_of(function: Any) -> Any:
    return dict(tool(function).parameters)


def wrong(made: Tool, **arguments: Any) -> dict[str, object]:
    with pytest.raises(InvalidInput, match=f"Tool '{made.name}' argument validation failed") as caught:
        made.checked(arguments)
    return caught.value.details


def test_the_schema_is_made_of_the_signature_and_the_docstring():
    def ping(host: str, count: Annotated[int, msgspec.Meta(ge=1)] = 3, mode: Literal["icmp", "tcp"] = "icmp", until: date | None = None):
        """Ping a host.

        Args:
            host: whom to ping
            until: the last day

        """

    assert schema_of(ping) == {
        "type": "object",
        "properties": {
            "host": {"type": "string", "description": "whom to ping"},
            "count": {"type": "integer", "minimum": 1, "default": 3},
            "mode": {"enum": ["icmp", "tcp"], "default": "icmp"},
            "until": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "description": "the last day"},
        },
        "additionalProperties": False,
        "required": ["host"],
    }
    assert tool(ping).description == "Ping a host."


def test_a_function_without_parameters_takes_none():
    assert schema_of(lambda_named()) == {"type": "object", "properties": {}, "additionalProperties": False}


def lambda_named():
    def now() -> str:
        return ""

    return now


def test_what_an_annotation_says_goes_before_the_docstring():
    def f(a: Annotated[int, "from the annotation"], b: Annotated[int, msgspec.Meta(description="from msgspec")], c: Annotated[int, pydantic.Field(description="from pydantic", gt=0)]):
        """Do it.

        Args:
            a: from the docstring
            b: from the docstring
            c: from the docstring

        """

    made = tool(f)
    assert [p["description"] for p in made.parameters["properties"].values()] == ["from the annotation", "from msgspec", "from pydantic"]
    assert wrong(made, a=1, b=1, c=0) == {"c": "Input should be greater than 0"}


def test_dataclasses_typed_dicts_enums_and_paths_are_taken_and_made():
    def f(host: Host, options: Options, colour: Colour, place: Path, day: date):
        pass

    made = tool(f)
    assert set(made.parameters["$defs"]) >= {"Host", "Options"}
    assert made.parameters["properties"]["host"] == {"$ref": "#/$defs/Host"}
    values = made.checked(freeze({"host": {"name": "gw"}, "options": {"retries": 2}, "colour": "red", "place": "a/b", "day": "2026-03-01"}))
    assert values == {"host": Host(name="gw"), "options": {"retries": 2}, "colour": Colour.RED, "place": Path("a/b"), "day": date(2026, 3, 1)}


def test_models_of_pydantic_are_taken_and_made_wherever_they_stand():
    @dataclass
    class Basket:
        orders: list[Order]

    def f(order: Order, more: list[Order] | None = None, either: Order | Line | None = None, basket: Basket | None = None):
        pass

    made = tool(f)
    assert set(made.parameters["$defs"]) >= {"Order", "Line", "Basket"}
    values = made.checked({"order": {"id": 1, "lines": [{"sku": "x"}]}, "more": [{"id": 2}], "either": {"sku": "y"}, "basket": {"orders": [{"id": 3}]}})
    assert values == {"order": Order(id=1, lines=[Line(sku="x")]), "more": [Order(id=2)], "either": Line(sku="y"), "basket": Basket([Order(id=3)])}
    assert "valid integer" in str(wrong(made, order={"id": "one"})["order"]) and "$.id" in str(wrong(made, order={"id": "one"})["order"])


def test_two_types_of_one_name_are_refused():
    def f(ours, theirs):
        pass

    f.__annotations__ = {"ours": Host, "theirs": list[pydantic.create_model("Host", x=(int, ...))]}
    with pytest.raises(InvalidTool, match="two types of its parameters are called Host"):
        tool(f)


@pytest.mark.parametrize(
    ("kind", "given", "made"),
    [
        (int, "5", 5),
        (int, 5.0, 5),
        (float, "0.5", 0.5),
        (float, 5, 5.0),
        (bool, "true", True),
        (str, "5", "5"),
        (int | str, "5", "5"),
        (int | None, "null", None),
        (list[int], "[1, 2]", [1, 2]),
        (list[int], ["1", 2], [1, 2]),
        (Host, '{"name": "gw", "port": "81"}', Host(name="gw", port=81)),
        (dict, {"a": [1]}, {"a": [1]}),
        (Any, {"a": None}, {"a": None}),
    ],
)
def test_text_is_read_as_what_is_asked_for_where_that_loses_nothing(kind, given, made):
    def f(value):
        pass

    f.__annotations__ = {"value": kind}
    values = tool(f).checked(freeze({"value": given}))
    assert values == {"value": made}
    assert type(values["value"]) is type(made)


@pytest.mark.parametrize(
    ("kind", "given"), [(int, 5.5), (int, "5.5"), (int, True), (int, "five"), (str, 5), (bool, "yes"), (float, "nan"), (float, "inf"), (list[float], ["-inf"]), (list[int], "1, 2"), (Path, 5)]
)
def test_what_would_lose_something_is_refused(kind, given):
    def f(value):
        pass

    f.__annotations__ = {"value": kind}
    assert set(wrong(tool(f), value=given)) == {"value"}


def test_every_wrong_argument_is_told_at_once():
    def f(a: int, b: Host, c: str = "x"):
        pass

    assert wrong(tool(f), b={"name": 1}, z=1) == {
        "a": "is missing",
        "b": "Expected `str`, got `int` - at `$.name`",
        "z": "no such parameter; there are a, b, c",
    }


def test_arguments_reach_the_function_as_plain_values_it_may_change():
    def f(value: dict[str, Any], anything):
        pass

    values = tool(f).checked(freeze({"value": {"a": [1]}, "anything": [1]}))
    values["value"]["a"].append(2)
    values["anything"].append(2)
    assert values == {"value": {"a": [1, 2]}, "anything": [1, 2]}


def test_a_default_stays_the_functions_own():
    absent = object()

    def f(value: int = absent):  # type: ignore[assignment]
        return value is absent

    made = tool(f)
    assert made.parameters["properties"] == {"value": {"type": "integer"}}
    assert made(**made.checked({}))


def test_a_parameter_that_is_none_by_default_takes_null():
    def f(count: int = None, words: str | None = None, any: Any = None):  # type: ignore[assignment] # noqa: RUF013
        pass

    made = tool(f)
    assert made.parameters["properties"]["count"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]} == {**made.parameters["properties"]["words"], "anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert made.checked({"count": None, "words": None, "any": None}) == {"count": None, "words": None, "any": None}


def test_types_of_the_function_around_are_known():
    @dataclass
    class Local:
        x: int

    def f(value: Local, *, context: ToolContext):
        pass

    assert tool(f).checked({"value": {"x": 1}}) == {"value": Local(1)}
    assert tool(f).signature.context == "context"


def test_a_type_that_only_checkers_import_is_named():
    def f(value: Decimal):
        pass

    with pytest.raises(InvalidTool, match="`Decimal` in its signature is not known"):
        tool(f)


def test_a_context_that_only_checkers_import_is_known():
    def f(*, context):
        pass

    f.__annotations__ = {"context": "ToolContext"}
    assert tool(f).signature.context == "context"


def test_a_wrapped_function_takes_what_the_one_inside_takes():
    def f(host: Host):
        """Ping."""

    @wraps(f)
    def outer(*args, **kwargs):
        return f(*args, **kwargs)

    assert tool(outer).parameters == tool(f).parameters and tool(outer).description == "Ping."


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def f(*args): pass", r"`\*args`"),
        ("def f(**kwargs): pass", r"`\*\*kwargs`"),
        ("def f(a, /): pass", "none before a `/`"),
        ("def f(self, a: int): pass", "tool\\(thing.method\\)"),
        ("from collections.abc import Callable\ndef f(a: Callable): pass", "parameter 'a' is of a type that has no JSON schema"),
        ("def f(a: object): pass", "parameter 'a' is of a type that has no JSON schema"),
        ("def f(a: 'Nowhere'): pass", "`Nowhere`"),
    ],
)
def test_what_a_model_cannot_call_is_refused_where_it_is_defined(source, why):
    names: dict[str, Any] = {}
    exec(source, names)
    with pytest.raises(TypeError, match=why) as caught:
        tool(names["f"])
    assert isinstance(caught.value, InvalidTool) and caught.value.tool == "f"
