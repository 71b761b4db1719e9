"""Reading a provider's body: where its messages stand, and typed errors with the path of what is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.errors import WireError

Body = Mapping[str, Any] | Sequence[Any]
"""A whole request body, one message of it, or just its list of messages."""


def listed(body: Body, *, keys: tuple[str, ...], marks: tuple[str, ...]) -> Iterator[tuple[str, FrozenDict]]:
    """Yield the messages of a body, frozen, each with its path.

    `keys` are the names a body's list goes by; a mapping with one of `marks` is taken for a single message.
    Raises WireError where there is no list, or a member is no mapping, and UnstorableValue for what JSON cannot hold.
    """
    values, name = _values(body, keys=keys, marks=marks)
    for i, value in enumerate(values):
        path = f"{name}[{i}]"
        if not isinstance(value, Mapping):
            raise WireError(f"A message is a mapping, not {type(value).__name__}; pass the provider's messages as they are", where=path)
        yield path, freeze_dict(value, path=path)


def _values(body: Body, *, keys: tuple[str, ...], marks: tuple[str, ...]) -> tuple[Sequence[Any], str]:
    if not isinstance(body, Mapping):
        return sequence(body, path=keys[0]), keys[0]
    for key in keys:
        if key in body:
            return sequence(body[key], path=key), key
    if any(isinstance(body.get(mark), str) for mark in marks):
        return (body,), keys[0]
    raise WireError(f"The body has no '{keys[0]}'; pass the request body, or its list of messages", where=keys[0])


def sequence(value: object, *, path: str) -> Sequence[Any]:
    """Return a list as it is; anything else is no list of messages or blocks."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return value
    raise WireError(f"Expected a list, got {type(value).__name__}", where=path)


def blocks(value: object, *, path: str) -> Iterator[tuple[str, FrozenDict]]:
    """Yield the content blocks of a message, each with its path; a bare text among them is a text block."""
    for i, block in enumerate(sequence(value, path=path)):
        where = f"{path}[{i}]"
        if isinstance(block, str):
            yield where, FrozenDict({"type": "text", "text": block})
        elif isinstance(block, Mapping):
            yield where, freeze_dict(block, path=where)
        else:
            raise WireError(f"A content block is a mapping with a type, not {type(block).__name__}", where=where)


def text_of(block: Mapping[str, Any], key: str, *, path: str) -> str:
    """Return the text under a key of a block; a null is an empty text."""
    value = block.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WireError(f"'{key}' is a text, not {type(value).__name__}", where=f"{path}.{key}")
    return value


def name_of(block: Mapping[str, Any], *, path: str) -> str:
    """Return the tool's name in a call."""
    name = block.get("name")
    if not isinstance(name, str) or not name:
        raise WireError("A tool call names its tool", where=f"{path}.name")
    return name


def id_of(block: Mapping[str, Any], key: str) -> str:
    """Return a call's id, "" where the source has none."""
    value = block.get(key)
    return value if isinstance(value, str) else ""


def model_of(body: Body, model: str | None) -> str | None:
    """Return the model whose thinking a body holds: the one named, else the body's own."""
    if model is not None or not isinstance(body, Mapping):
        return model
    own = body.get("model")
    return own if isinstance(own, str) else None
