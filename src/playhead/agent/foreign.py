"""Types of pydantic as parameters of a tool, where it is installed; it is never imported unless the tool's author did."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Mapping
from typing import Any

REFERENCE = "#/$defs/{model}"


class PydanticType:
    """A type that pydantic knows: its JSON schema, the definitions that this refers to, and how its values are read."""

    def __init__(self, hint: Any) -> None:
        self._adapter = sys.modules["pydantic"].TypeAdapter(hint)
        self.schema: dict[str, Any] = self._adapter.json_schema(ref_template=REFERENCE)
        self.definitions: Mapping[str, Any] = self.schema.pop("$defs", {})

    def read(self, value: Any) -> Any:
        """Return the value of a JSON value. Raises ValueError with what is wrong, and where."""
        try:
            return self._adapter.validate_python(value)
        except sys.modules["pydantic"].ValidationError as exc:
            raise ValueError("; ".join(map(_told, exc.errors(include_url=False, include_input=False, include_context=False)))) from exc


def _told(error: Mapping[str, Any]) -> str:
    place = "".join(f".{step}" for step in error["loc"])
    return f"{error['msg']} - at `${place}`" if place else str(error["msg"])


def speaks_pydantic(hint: Any) -> bool:
    """Return whether a type is one of pydantic's, is made of one, or is annotated for it."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and _mentions(hint, (pydantic.BaseModel, sys.modules["pydantic.fields"].FieldInfo), set())


def _mentions(hint: Any, marks: tuple[type, ...], seen: set[int]) -> bool:
    if id(hint) in seen:
        return False
    seen.add(id(hint))
    if isinstance(hint, type) and issubclass(hint, marks) or hasattr(hint, "__pydantic_fields__"):
        return True
    if any(isinstance(said, marks) for said in getattr(hint, "__metadata__", ())):
        return True
    parts = (*typing.get_args(hint), *_fields(hint))
    return any(_mentions(part, marks, seen) for part in parts)


def _fields(hint: Any) -> tuple[Any, ...]:
    if not (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)):
        return ()
    try:
        return tuple(typing.get_type_hints(hint, include_extras=True).values())
    except NameError:
        return ()
