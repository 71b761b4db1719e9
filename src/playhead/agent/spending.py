"""What a tape has cost: the tokens of every call of a model that is on record, by model, and their price."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from playhead.entry.entry import EVENT, TapeEntry, event_name
from playhead.entry.frozen import FrozenDict
from playhead.fold.ledger.entries import NODE
from playhead.model.prices import added, listed_price
from playhead.model.protocol import Usage
from playhead.store.family import kin_of, sidecar_name
from playhead.tape.tape import Tape

SPOKEN = ("message", "tool_call")
"""The kinds of entries whose meta tells what they cost, where they were imported."""

Prices = Callable[[str, Usage], float | None]
"""Returns what a call of a model costs in US dollars, None where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The calls of one model: how many, their tokens, and their cost in US dollars, None where its price is not known.

    `summaries` is how many of them wrote summaries.
    """

    model: str
    calls: int = 0
    summaries: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeUsage:
    """What the calls on record of a tape cost, by model, the most tokens first."""

    models: tuple[ModelUsage, ...] = ()

    @property
    def calls(self) -> int:
        """How many calls are on record with their tokens."""
        return sum(model.calls for model in self.models)

    @property
    def usage(self) -> Usage:
        """The tokens of all of them."""
        return sum((model.usage for model in self.models), Usage())

    @property
    def cost(self) -> float | None:
        """The cost in US dollars of those whose price is known; None where none is."""
        return reduce(added, (model.cost for model in self.models), None)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is not known."""
        return tuple(model.model for model in self.models if model.cost is None)


@dataclass(frozen=True, slots=True)
class _Call:
    model: str
    usage: Usage
    is_summary: bool = False


async def usage_of(tape: Tape, *, prices: Prices | None = None) -> TapeUsage:
    """Return what the calls on record of a tape cost: those of its runs, those that came with imported turns, and those that wrote its summaries.

    Reads every event and turn of the tape, so it costs what these are. Each call is priced by itself. `prices` is by default what `genai-prices` lists
    (`playhead[prices]`); without it nothing has a price. What other branches spent and never merged is not in it.
    """
    found: dict[str, ModelUsage] = {}
    price = prices or listed_price
    async for call in _calls(tape):
        known = found.get(call.model) or ModelUsage(model=call.model)
        cost = added(known.cost, price(call.model, call.usage))
        found[call.model] = replace(known, calls=known.calls + 1, summaries=known.summaries + call.is_summary, usage=known.usage + call.usage, cost=cost)
    return TapeUsage(models=tuple(sorted(found.values(), key=lambda model: (-model.usage.total, model.model))))


def usage_from(told: Any) -> Usage | None:
    """Return the tokens that a provider's words tell, in the form of a tape, of OpenAI, of Anthropic or of an importer; None where they tell none."""
    if not isinstance(told, Mapping):
        return None
    details = _mapping(told.get("prompt_tokens_details") or told.get("input_tokens_details") or told.get("input_token_details"))
    thought = _mapping(told.get("completion_tokens_details") or told.get("output_tokens_details") or told.get("output_token_details"))
    written = _number(told, "cache_creation_input_tokens", "cacheWrite") or _number(details, "cache_write_tokens", "cache_creation")
    beside = _number(told, "cache_read_input_tokens", "cacheRead")
    read = beside or _number(told, "cached_input_tokens", "cached") or _number(details, "cached_tokens", "cache_read")
    asked = _number(told, "prompt_tokens", "input_tokens", "input")
    is_apart = beside > 0 or "cache_creation_input_tokens" in told or "cacheRead" in told
    usage = Usage(
        input=asked + (beside + written if is_apart else 0),
        output=_number(told, "completion_tokens", "output_tokens", "output"),
        cache_read=read,
        cache_write=written,
        reasoning=_number(told, "reasoning_tokens", "reasoning_output_tokens", "thoughts") or _number(thought, "reasoning_tokens", "reasoning"),
    )
    return usage if usage.total else None


async def _calls(tape: Tape) -> AsyncIterator[_Call]:
    async for entry in tape.query().kinds(EVENT, *SPOKEN):
        call = _call_of(entry)
        if call is not None:
            yield call
    kin = kin_of(tape.name)
    if kin.sidecar is not None:
        return
    for name in await tape.store.sidecars(tape.name):
        async for entry in tape.scoped(sidecar_name(tape.name, name)).query().kinds(NODE):
            call = _summary_of(entry)
            if call is not None:
                yield call


def _call_of(entry: TapeEntry) -> _Call | None:
    if entry.kind in SPOKEN:
        usage = usage_from(entry.meta.get("usage"))
        return None if usage is None else _Call(str(entry.meta.get("model") or "unknown"), usage)
    data = _mapping(entry.payload.get("data"))
    usage = usage_from(data.get("usage")) if event_name(entry) == "run" else None
    return None if usage is None else _Call(_model(data), usage)


def _model(data: Mapping[str, Any]) -> str:
    provider, model = data.get("provider"), data.get("model")
    return f"{provider}:{model}" if provider and model and provider != model else str(model or provider or "unknown")


def _summary_of(entry: TapeEntry) -> _Call | None:
    usage = usage_from(_mapping(entry.payload.get("how")).get("usage"))
    return None if usage is None else _Call(str(entry.payload.get("model") or "unknown"), usage, is_summary=True)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else FrozenDict()


def _number(told: Mapping[str, Any], *names: str) -> int:
    return next((value for name in names if isinstance(value := told.get(name), int) and not isinstance(value, bool) and value >= 0), 0)
