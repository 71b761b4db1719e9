"""Patience: how much a search reads itself, and what it waits for where there is more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from playhead.errors import PlayheadError
from playhead.store.ranked.hit import Hit

PATIENCE = 1024
"""How many entries of a part that are in no volume are read for a search; where there are more, volumes are made of them first."""

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Behind(Generic[Name]):
    """Parts of a store of which much is in no volume, so that a search has no answer before some are made; where theirs are spoilt, those are removed first."""

    names: Sequence[Name]
    is_spoilt: bool = False


async def hits(search: Callable[[int | None], Awaitable[list[Hit] | Behind[Any]]], *, catch_up: Callable[[Behind[Any]], Awaitable[bool]] | None) -> list[Hit]:
    """Return what a search finds that is told how many entries of a part it reads itself, None for all.

    `catch_up` makes volumes of what is behind, for a moment, and returns whether there is more to make; None where nobody can.
    """
    found = await search(None if catch_up is None else PATIENCE)
    if catch_up is not None and isinstance(found, Behind):
        with suppress(PlayheadError):  # what cannot be made is read
            while await catch_up(found):
                found = replace(found, is_spoilt=False)
        found = await search(None)
    return cast("list[Hit]", found)
