"""Fields that only one provider knows: kept by provider in `extra`, and given back to that provider alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import NOTHING


def rest(block: Mapping[str, Any], *known: str) -> FrozenDict:
    """Return the fields of a provider's block that have no neutral form."""
    return FrozenDict({k: v for k, v in block.items() if k not in known})


def kept(provider: str, fields: Mapping[str, Any]) -> FrozenDict:
    """Return an `extra` that keeps the fields for the provider; empty where there are none."""
    return FrozenDict({provider: FrozenDict(fields)}) if fields else NOTHING


def own(extra: Mapping[str, Any], provider: str) -> Mapping[str, Any]:
    """Return what an `extra` keeps for the provider."""
    fields = extra.get(provider)
    return fields if isinstance(fields, Mapping) else NOTHING


def with_rest(fields: dict[str, Any], more: Mapping[str, Any], *marks: str) -> dict[str, Any]:
    """Return the fields of a block and behind them what was kept for it, without our own marks.

    What a field says now wins over what was kept, so that an edited message never sends its old words.
    """
    return {**fields, **{k: v for k, v in more.items() if k not in fields and k not in marks}}
