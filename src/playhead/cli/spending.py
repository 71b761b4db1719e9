"""What a tape has cost, as `info` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from playhead.agent.spending import ModelUsage, TapeUsage
from playhead.cli.output import counted
from playhead.cli.plain import short_name
from playhead.model.prices import money
from playhead.model.protocol import Usage


def spent_rows(spent: TapeUsage) -> Iterator[tuple[str, str]]:
    """Yield the rows: what all calls cost, and what each model's did where there are several."""
    if not spent.models:
        return
    yield "all calls", _line(spent.calls, spent.usage, spent.cost)
    if len(spent.models) > 1:
        for model in spent.models:
            yield "  by", f"{short_name(model.model)}: {_line(model.calls, model.usage, model.cost)}{_summaries(model)}"
    elif spent.models[0].summaries:
        yield "  of them", counted(spent.models[0].summaries, "summary")
    if spent.cost is not None and spent.unpriced:
        yield "  without", f"a price: {', '.join(map(short_name, spent.unpriced))}"


def spent_json(spent: TapeUsage) -> dict[str, object]:
    """Return what a tape has cost, as JSON."""
    models = [{"model": m.model, "calls": m.calls, "summaries": m.summaries, "tokens": _tokens(m.usage), "cost_usd": m.cost} for m in spent.models]
    return {"calls": spent.calls, "tokens": _tokens(spent.usage), "cost_usd": spent.cost, "models": models}


def _line(calls: int, usage: Usage, cost: float | None) -> str:
    cached = f" ({usage.cache_read / usage.input:.0%} cached)" if usage.input and usage.cache_read else ""
    price = "" if cost is None else f", {money(cost)}"
    return f"{counted(calls, 'call')}, {usage.input:,} tokens read{cached}, {usage.output:,} written{price}"


def _summaries(model: ModelUsage) -> str:
    return f" ({counted(model.summaries, 'summary')})" if model.summaries else ""


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "output": usage.output, "cache_read": usage.cache_read, "cache_write": usage.cache_write, "reasoning": usage.reasoning}
