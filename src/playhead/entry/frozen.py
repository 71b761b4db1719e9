"""Frozen JSON values: dicts and lists that read like the built-in ones and refuse every change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from playhead.errors import UnstorableValue

MAX_DEPTH = 200
"""How deep a stored value may nest; every common JSON reader still takes it."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("entries never change; use thaw(value) for a copy that may")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed; equal to, printed and dumped like a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: object) -> FrozenDict:
        return self

    def copy(self) -> dict[str, Any]:
        """Return a plain, shallow copy."""
        return dict(self)

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; equal to, printed and dumped like a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: object) -> FrozenList:
        return self

    def copy(self) -> list[Any]:
        """Return a plain, shallow copy."""
        return list(self)

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenList, (list(self),)


_FROZEN = frozenset({str, int, float, bool, type(None), FrozenDict, FrozenList})


def freeze(value: object, *, path: str = "payload") -> Any:
    """Return the frozen twin of a JSON value.

    Tuples become lists, surrogate pairs written as two halves become one character; what JSON cannot hold
    (other types, NaN, infinities, keys that are no text, nesting deeper than MAX_DEPTH) raises UnstorableValue with its path.
    """
    return _freeze(value, path, 0)


def freeze_dict(value: Mapping[str, object], *, path: str = "payload") -> FrozenDict:
    """Return the frozen twin of a mapping; anything else raises UnstorableValue."""
    if not isinstance(value, Mapping):
        raise UnstorableValue(path, f"expected a mapping, got {type(value).__name__}")
    return _freeze(value, path, 0)  # type: ignore[no-any-return]


def _freeze(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if value is None or kind is bool or kind is int:
        return value
    if (kind is FrozenDict and all(type(v) in _FROZEN for v in value.values())) or (kind is FrozenList and all(type(v) in _FROZEN for v in value)):
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise UnstorableValue(path, f"{value} is no JSON number; store None or a text instead")
    if depth >= MAX_DEPTH:
        raise UnstorableValue(path, f"nested deeper than {MAX_DEPTH} levels")
    if kind is dict or isinstance(value, Mapping):
        return FrozenDict({_key(k, path): v if v is None or v is True or v is False else _freeze(v, f"{path}.{k}", depth + 1) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList([_freeze(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value)])
    for plain in (str, bool, int, float):
        if isinstance(value, plain):
            return _freeze(plain(value), path, depth)
    raise UnstorableValue(path, f"{kind.__name__} is not a JSON value")


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return _text(str(key))
    raise UnstorableValue(path, f"key {key!r} is {type(key).__name__}, not text")


def _text(value: str) -> str:
    """Join surrogate pairs that stand as two halves, so that text reads back as it was written; lone halves stay."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return value


def thaw(value: Any) -> Any:
    """Return a plain, deep copy of a frozen value that may be changed."""
    if isinstance(value, Mapping):
        return {k: thaw(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(v) for v in value]
    return value
