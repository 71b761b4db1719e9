"""What calls of a model cost in money, where a list of prices is installed: `genai-prices`, the extra `playhead[prices]`."""

from __future__ import annotations

from importlib import import_module

from playhead.model.protocol import Usage

_PROVIDERS = {"openai": "openai", "openai-chat": "openai", "openai-responses": "openai", "anthropic": "anthropic", "google": "google", "google-gla": "google", "": None}
"""What the list calls the providers of models; a model that is named without one is looked for by its name alone."""


def listed_price(model: str, usage: Usage) -> float | None:
    """Return what calls of a model, named as PROVIDER:MODEL or by its name alone, cost in US dollars; None where nobody knows."""
    provider, _, name = model.removeprefix("pydantic-ai:").rpartition(":")
    if provider not in _PROVIDERS or not usage.total:
        return None
    try:
        prices = import_module("genai_prices")
        tokens = prices.Usage(input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=usage.cache_read, cache_write_tokens=usage.cache_write)
        return float(prices.calc_price(tokens, name, provider_id=_PROVIDERS[provider]).total_price)
    except (ImportError, LookupError, ValueError):
        return None


def money(cost: float) -> str:
    """Return a sum in words: to the cent, of small ones to a hundredth of it."""
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"
