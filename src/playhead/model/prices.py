"""What calls of a model cost in money, where a list of prices is installed: `genai-prices`, the extra `playhead[prices]`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from importlib import import_module

from playhead.model.protocol import Usage

_PROVIDERS = {"openai": "openai", "openai-chat": "openai", "openai-responses": "openai", "anthropic": "anthropic", "google": "google", "google-gla": "google", "": None}
"""What the list calls the providers of models; a model that is named without one is looked for by its name alone."""

LEAST = 0.0001
"""The least sum that is told in full."""


def listed_price(model: str, usage: Usage) -> float | None:
    """Return what a call of a model, named as PROVIDER:MODEL or by its name alone, costs in US dollars; None where nobody knows."""
    provider, _, name = model.removeprefix("pydantic-ai:").rpartition(":")
    if provider not in _PROVIDERS or not usage.total:
        return None
    try:
        prices = import_module("genai_prices")
        tokens = prices.Usage(input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=usage.cache_read, cache_write_tokens=usage.cache_write)
        return float(prices.calc_price(tokens, name, provider_id=_PROVIDERS[provider]).total_price)
    except (ImportError, LookupError, ValueError):
        return None


def added(cost: float | None, more: float | None) -> float | None:
    """Return two costs together, that of which one is not known as the other."""
    return cost if more is None else more if cost is None else cost + more


def listed_cost(model: str, usages: Iterable[Usage]) -> float | None:
    """Return what calls of a model cost together, each priced by itself: long requests may cost more for each token."""
    return reduce(added, (listed_price(model, usage) for usage in usages), None)


def money(cost: float) -> str:
    """Return a sum in words: to the cent, of small ones to a hundredth of it."""
    if 0 < cost < LEAST:
        return f"<${LEAST}"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"
