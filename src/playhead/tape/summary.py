"""What a tape holds, in numbers: its entries and anchors, what the last run used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playhead.entry.entry import ANCHOR, EVENT, TapeEntry, event_name
from playhead.entry.frozen import FrozenDict
from playhead.errors import InvalidInput
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery

RUN_EVENTS_LOOKED_AT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSummary:
    """An anchor's name and the state it carries."""

    name: str
    state: FrozenDict
    id: int
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeInfo:
    """What a tape holds: entries, anchors, the newest anchor and what came behind it, and the last run's usage.

    `last_token_usage` is in tokens, `last_cache_hit_rate` a share from 0 to 1; None where no run was recorded.
    """

    name: str
    entries: int
    anchors: int
    last_anchor: str | None
    entries_since_last_anchor: int
    last_token_usage: int | None
    last_cache_hit_rate: float | None
    first_date: str | None
    last_date: str | None


async def anchors(query: TapeQuery, limit: int) -> list[AnchorSummary]:
    """Return the last `limit` anchors of a tape, oldest first; none for 0."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise InvalidInput(f"A number of anchors is a whole number from 0, not {limit!r}.")
    found = await query.kinds(ANCHOR).newest_first().limit(limit).all() if limit else []
    return [AnchorSummary(name=event_name(a) or "-", state=_state(a), id=a.id, date=a.date) for a in reversed(found)]


async def summarised(store: WholeStore, query: TapeQuery) -> TapeInfo:
    """Return what a tape holds; costs the same for any length where the store numbers without gaps."""
    last = await store.fetch_all(query.newest_first().limit(1))
    first = await store.fetch_all(query.limit(1))
    newest = await store.fetch_all(query.kinds(ANCHOR).newest_first().limit(1))
    end = last[0].id if last else 0
    usage = await _last_usage(store, query)
    return TapeInfo(
        name=query.tape,
        entries=await _count(store, query, end),
        anchors=await store.count(query.kinds(ANCHOR)),
        last_anchor=event_name(newest[0]) or "-" if newest else None,
        entries_since_last_anchor=await _count(store, query.after(newest[0].id), end - newest[0].id) if newest else await _count(store, query, end),
        last_token_usage=usage["total_tokens"] if usage else None,
        last_cache_hit_rate=_cache_hit_rate(usage) if usage else None,
        first_date=first[0].date if first else None,
        last_date=last[0].date if last else None,
    )


async def _count(store: WholeStore, query: TapeQuery, dense: int) -> int:
    """Return how many entries a query finds: by their ids where the store numbers without gaps, else by counting."""
    return dense if "D3" in store.promises else await store.count(query)


async def _last_usage(store: WholeStore, query: TapeQuery) -> dict[str, Any] | None:
    for event in await store.fetch_all(query.kinds(EVENT).newest_first().limit(RUN_EVENTS_LOOKED_AT)):
        data = event.payload.get("data")
        usage = data.get("usage") if isinstance(data, dict) and event_name(event) == "run" else None
        if isinstance(usage, dict) and type(usage.get("total_tokens")) is int:
            return usage
    return None


def _state(anchor: TapeEntry) -> FrozenDict:
    state = anchor.payload.get("state")
    return state if isinstance(state, FrozenDict) else FrozenDict()


def _cache_hit_rate(usage: Mapping[str, Any]) -> float | None:
    details, prompt = usage.get("prompt_tokens_details"), usage.get("prompt_tokens")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return cached / prompt if isinstance(cached, int) and isinstance(prompt, int) and prompt > 0 else None
