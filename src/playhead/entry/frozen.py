"""Frozen JSON values: dicts and lists that read like the built-in ones and refuse every change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from playhead.errors import UnstorableValue

MAX_DEPTH = 200
"""How deep a stored value may nest; every common JSON reader still takes it."""

MAX_BITS = 14_000
"""How large a stored whole number may be: what Python itself reads back from text."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("entries never change; use thaw(value) for a copy that may")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed; equal to, printed and dumped like a plain one.

    Making one freezes what it is given, as `freeze` does.
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __new__(cls, *given: Any, **named: Any) -> FrozenDict:
        """Return what `dict` would make of the same, frozen."""
        return freeze_dict(dict(*given, **named), path="value")

    def __init__(self, *_: Any, **__: Any) -> None:
        """Do nothing: what it holds is put in when it is made, so that calling this again changes nothing."""

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
    """A list that cannot be changed; equal to, printed and dumped like a plain one. Making one freezes what it is given."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __new__(cls, given: Iterable[Any] = ()) -> FrozenList:
        """Return what `list` would make of the same, frozen."""
        frozen: FrozenList = freeze(list(given), path="value")
        return frozen

    def __init__(self, *_: Any) -> None:
        """Do nothing, as FrozenDict does."""

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


def frozen_dict(items: dict[str, Any]) -> FrozenDict:
    """Return a FrozenDict of items whose values are frozen already; nothing is checked."""
    frozen = dict.__new__(FrozenDict)
    dict.update(frozen, items)
    return frozen


def frozen_list(items: list[Any]) -> FrozenList:
    """Return a FrozenList of items that are frozen already; nothing is checked."""
    frozen = list.__new__(FrozenList)
    list.extend(frozen, items)
    return frozen


def freeze(value: object, *, path: str = "payload") -> Any:
    """Return the frozen twin of a JSON value.

    Tuples become lists, surrogate pairs written as two halves become one character; what JSON cannot hold
    (other types, NaN, infinities, keys that are no text or become equal, nesting deeper than MAX_DEPTH) raises UnstorableValue with its path.
    """
    try:
        return _freeze(value, 0)
    except _NoJson as bad:
        raise UnstorableValue(path + "".join(reversed(bad.steps)), bad.why) from None


def freeze_dict(value: Mapping[str, object], *, path: str = "payload") -> FrozenDict:
    """Return the frozen twin of a mapping; anything else raises UnstorableValue."""
    if not isinstance(value, Mapping):
        raise UnstorableValue(path, f"expected a mapping, got {type(value).__name__}")
    return freeze(value, path=path)  # type: ignore[no-any-return]


class _NoJson(Exception):
    """A value that JSON cannot hold; the steps to it are added on the way out, innermost first."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.steps: list[str] = []


def _freeze(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() <= MAX_BITS:
            return value
        raise _NoJson(f"a whole number of more than {MAX_BITS} bits; store it as text")
    if kind is float:
        if math.isfinite(value):
            return value
        raise _NoJson(f"{value} is no JSON number; store None or a text instead")
    if kind is FrozenDict or kind is FrozenList:
        if depth:
            _check_depth(value, depth)
        return value
    if kind is dict or isinstance(value, Mapping):
        return _freeze_items(value, depth)
    if isinstance(value, (list, tuple)):
        return _freeze_list(value, depth)
    for plain in (str, bool, int, float):
        if isinstance(value, plain):
            return _freeze(plain(value), depth)
    raise _NoJson(f"{kind.__name__} is not a JSON value")


def _check_depth(value: Any, depth: int) -> None:
    """Prove that a frozen value does not nest too deep at its new place."""
    if depth >= MAX_DEPTH:
        raise _NoJson(f"nested deeper than {MAX_DEPTH} levels")
    for item in value.values() if type(value) is FrozenDict else value:
        if type(item) is FrozenDict or type(item) is FrozenList:
            _check_depth(item, depth + 1)


def _freeze_items(value: Mapping[Any, Any], depth: int) -> FrozenDict:
    if depth >= MAX_DEPTH:
        raise _NoJson(f"nested deeper than {MAX_DEPTH} levels")
    frozen: dict[str, Any] = {}
    key = None
    try:
        for key, item in value.items():
            frozen[_key(key)] = _freeze(item, depth + 1)
    except _NoJson as bad:
        if isinstance(key, str):
            bad.steps.append(f".{key}")
        raise
    if len(frozen) < len(value):
        raise _NoJson("two keys of it are one text once halves of surrogate pairs are joined; name them apart")
    return frozen_dict(frozen)


def _freeze_list(value: Sequence[Any], depth: int) -> FrozenList:
    if depth >= MAX_DEPTH:
        raise _NoJson(f"nested deeper than {MAX_DEPTH} levels")
    frozen: list[Any] = []
    try:
        frozen.extend(_freeze(item, depth + 1) for item in value)
    except _NoJson as bad:
        bad.steps.append(f"[{len(frozen)}]")
        raise
    return frozen_list(frozen)


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key) if key.isascii() else _text(str(key))
    raise _NoJson(f"key {key!r} is {type(key).__name__}, not text")


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
