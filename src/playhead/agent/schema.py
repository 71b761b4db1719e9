"""What a function takes: as a JSON schema for a model, and a model's arguments as the function takes them."""

from __future__ import annotations

import builtins
import inspect
import math
import os
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Optional

import msgspec

from playhead.agent.docstring import Docstring
from playhead.agent.foreign import PydanticType, speaks_pydantic
from playhead.entry import codec
from playhead.entry.frozen import FrozenDict, freeze, freeze_dict, thaw
from playhead.errors import InvalidTool, UnstorableValue

REFERENCE = "#/$defs/{name}"
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a function: whether it must be given, and how what a model wrote becomes what the function takes."""

    name: str
    required: bool
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes: `schema` is the JSON schema of its arguments, `context` the name of the parameter for the tool's context."""

    description: str
    parameters: tuple[Parameter, ...]
    schema: FrozenDict
    context: str | None
    needs_context: bool

    def read(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values to call the function with, and what is wrong with each argument that is not as it should be.

        Text is read as a number, a truth value or a list only where that loses nothing and text is not what is asked for.
        """
        values: dict[str, Any] = {}
        wrong = {name: f"no such parameter; there are {', '.join(p.name for p in self.parameters) or 'none'}" for name in arguments.keys() - {p.name for p in self.parameters}}
        for parameter in self.parameters:
            if parameter.name not in arguments:
                if parameter.required:
                    wrong[parameter.name] = "is missing"
                continue
            try:
                values[parameter.name] = parameter.read(thaw(arguments[parameter.name]))
            except Exception as exc:  # noqa: BLE001 - a type of the tool's author may raise anything when it is made
                wrong[parameter.name] = str(exc) or repr(exc)
        return values, wrong


def signature_of(function: Callable[..., Any], *, tool: str, context_type: type, wants_context: bool = False) -> Signature:
    """Return what a function takes. Raises InvalidTool where a model cannot call it."""
    parameters = _named_parameters(function, tool)
    hints = _hints(function, parameters, tool, context_type)
    context = next((p for p in parameters if _is_context(hints[p.name], context_type)), None)
    if context is None and wants_context:
        context = next((p for p in parameters if p.name == "context"), None)
        if context is None:
            raise InvalidTool(tool, f"it is declared with context=True but has no parameter for it; add `*, context: {context_type.__name__}`")
    spoken = [p for p in parameters if p is not context]
    told = Docstring(_docstring(function), parameters=[p.name for p in spoken])
    read: list[Parameter] = []
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for p in spoken:
        kind = _kind(hints[p.name], optional=p.default is None, tool=tool, parameter=p.name)
        _merge(definitions, kind.definitions, tool)
        properties[p.name] = _property(kind.schema, p, words=_words_at(hints[p.name]) or told.parameters.get(p.name))
        read.append(Parameter(name=p.name, required=p.default is p.empty, read=kind.read))
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [p.name for p in read if p.required]:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return Signature(
        description=told.description,
        parameters=tuple(read),
        schema=freeze_dict(schema, path="parameters"),
        context=context.name if context else None,
        needs_context=context is not None and context.default is context.empty,
    )


def _named_parameters(function: Callable[..., Any], tool: str) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as exc:
        raise InvalidTool(tool, "it does not say what it takes; wrap it in a function that does") from exc
    if parameters and parameters[0].name in ("self", "cls") and parameters[0].annotation is inspect.Parameter.empty:
        raise InvalidTool(tool, "it is a method without its object; make a tool of the method of an object: tool(thing.method)")
    for p in parameters:
        if p.kind not in NAMED:
            raise InvalidTool(tool, f"a model gives every argument by a name of its own, which `{p}` has not; write the parameters out, none before a `/`")
    return parameters


def _docstring(function: Callable[..., Any]) -> str | None:
    """Return a function's own docstring; an object that is called has only that of its class."""
    target = function.func if isinstance(function, partial) else function
    return inspect.getdoc(target) if inspect.isroutine(target) else None


def _hints(function: Callable[..., Any], parameters: list[inspect.Parameter], tool: str, context_type: type) -> dict[str, Any]:
    """Return the types of parameters, those written as text resolved; Any where none is written."""
    written = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    target = inspect.unwrap(function.func if isinstance(function, partial) else function)
    known = getattr(target if inspect.isroutine(target) else getattr(target, "__call__", None), "__globals__", {})  # noqa: B004 - the method of an object that is called
    resolve = partial(typing.get_type_hints, SimpleNamespace(__annotations__=written), globalns=known, include_extras=True)
    if not written:
        return {p.name: Any for p in parameters}
    try:
        found = resolve()
    except NameError:
        try:
            found = resolve(localns=_names_around(target, known, context_type))
        except NameError as exc:
            raise InvalidTool(tool, f"the type `{exc.name}` in its signature is not known where it is written; import it there, also at run time") from exc
    return {p.name: found.get(p.name, Any) for p in parameters}


def _names_around(target: Any, known: dict[str, Any], context_type: type) -> Mapping[str, Any]:
    """Return the names a function inside another one may mean: those it closes over, of its module, and of the functions it is made in."""
    cells = zip(getattr(getattr(target, "__code__", None), "co_freevars", ()), getattr(target, "__closure__", None) or (), strict=False)
    closed = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    around: list[Mapping[str, Any]] = [closed, known, vars(builtins), {context_type.__name__: context_type}]
    frame = inspect.currentframe()
    while frame is not None:
        around.append(frame.f_locals)
        frame = frame.f_back
    return ChainMap(*map(dict, around))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _is_context(hint: Any, context_type: type) -> bool:
    arguments = typing.get_args(hint)
    if arguments:
        return any(_is_context(argument, context_type) for argument in arguments[: 1 if typing.get_origin(hint) is Annotated else None])
    return isinstance(hint, type) and issubclass(hint, context_type)


class _Kind:
    """A type that msgspec knows: its JSON schema, the definitions that this refers to, and how its values are read."""

    def __init__(self, hint: Any) -> None:
        self.hint = hint
        (self.schema,), self.definitions = msgspec.json.schema_components([hint], schema_hook=_schema_of_path, ref_template=REFERENCE)

    def read(self, value: Any) -> Any:
        try:
            return msgspec.convert(value, self.hint, dec_hook=_path)
        except msgspec.ValidationError as exc:
            wrong = exc
        with suppress(msgspec.ValidationError):
            lenient = msgspec.convert(value, self.hint, strict=False, dec_hook=_path)
            if _is_finite(msgspec.to_builtins(lenient, enc_hook=str)):
                return lenient
        with suppress(msgspec.ValidationError, ValueError, RecursionError):
            written = codec.decode(value) if isinstance(value, str) else None
            if isinstance(written, (list, dict)):
                return self.read(written)
        raise wrong


def _kind(hint: Any, *, optional: bool, tool: str, parameter: str) -> _Kind | PydanticType:
    if optional and not _admits_none(hint):
        hint = Optional[hint]  # noqa: UP045 - `|` does not take every hint
    try:
        return PydanticType(hint) if speaks_pydantic(hint) else _Kind(hint)
    except Exception as exc:
        why = str(exc).strip().splitlines()[-1] if str(exc).strip() else repr(exc)
        raise InvalidTool(tool, f"its parameter '{parameter}' is of a type that has no JSON schema ({why}); take text, numbers, lists, dicts, Literal, dataclasses or TypedDicts") from exc


def _admits_none(hint: Any) -> bool:
    arguments = typing.get_args(hint)
    return _admits_none(arguments[0]) if typing.get_origin(hint) is Annotated else hint is Any or type(None) in arguments


def _property(schema: Mapping[str, Any], parameter: inspect.Parameter, *, words: str | None) -> dict[str, Any]:
    told = {**schema, "description": words} if words else dict(schema)
    if parameter.default is parameter.empty or parameter.default is None:
        return told
    with suppress(TypeError, ValueError, UnstorableValue):
        told["default"] = freeze(msgspec.to_builtins(parameter.default, builtin_types=(bytes, bytearray), enc_hook=os.fspath))
    return told


def _words_at(hint: Any) -> str | None:
    """Return what an annotation says in words: `Annotated[int, "how many"]`, or a description of msgspec's or pydantic's."""
    for said in getattr(hint, "__metadata__", ()):
        words = said if isinstance(said, str) else getattr(said, "description", None)
        if isinstance(words, str):
            return words
    return None


def _merge(definitions: dict[str, Any], more: Mapping[str, Any], tool: str) -> None:
    for name, schema in more.items():
        if definitions.setdefault(name, schema) != schema:
            raise InvalidTool(tool, f"two types of its parameters are called {name}; rename one")


def _is_finite(value: Any) -> bool:
    """Return whether no number in a value of builtins is one that JSON has not."""
    if isinstance(value, (dict, list, tuple)):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def _schema_of_path(hint: type) -> dict[str, Any]:
    if issubclass(hint, Path):
        return {"type": "string"}
    raise NotImplementedError


def _path(hint: type, value: Any) -> Any:
    if issubclass(hint, Path) and isinstance(value, str):
        return hint(value)
    raise ValueError(f"Expected text, got {type(value).__name__}")
