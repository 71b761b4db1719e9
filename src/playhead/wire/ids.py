"""Ids of tool calls and names of tools, made to fit what a provider takes."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, count
from typing import Literal

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_STEM = 30
_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRule:
    """What a provider asks of a call's id: its shape, and whether it is unique in its round or in the whole body."""

    pattern: re.Pattern[str]
    unique_in: Literal["round", "body"]


def fitting_id(call_id: str, *, taken: Container[str], room: int, rule: IdRule) -> str:
    """Return the id itself where it fits and is not taken, else one made from it.

    The made one depends on the id, on those taken before it and on `room`, how many those are; nothing else.
    """
    if rule.pattern.fullmatch(call_id) and call_id not in taken:
        return call_id
    stem = _FOREIGN.sub("_", call_id)[:_STEM] or "call"
    made = (f"{stem}_{_digest(f'{n}:{call_id}')}" for n in chain((0,), count(max(room, 1))))
    return next(candidate for candidate in made if candidate not in taken)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fitting_name(name: str, *, longest: int) -> str:
    """Return a tool's name as a provider takes it: foreign characters become `_`, too long a name is cut.

    No tool of such a name can be declared to the provider, so only calls of other providers are renamed.
    """
    return _FOREIGN.sub("_", name)[:longest] or "unnamed"
