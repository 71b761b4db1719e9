"""What a turn costs in money, where a list of prices is installed: `genai-prices`, which comes with playhead[pydantic-ai]."""

from __future__ import annotations

from decimal import Decimal

from playhead.model.protocol import Usage

_PROVIDERS = {"openai": "openai", "openai-chat": "openai", "openai-responses": "openai", "anthropic": "anthropic"}
"""What the list calls the providers of models."""


def price(usage: Usage, *, spec: str) -> Decimal | None:
    """Return what calls of a model cost, in US dollars; None where nobody knows."""
    provider, _, model = spec.removeprefix("pydantic-ai:").partition(":")
    if provider not in _PROVIDERS or not usage.total:
        return None
    try:
        import genai_prices  # noqa: PLC0415 - it may not be there, and takes its time

        counted = genai_prices.Usage(input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=usage.cache_read, cache_write_tokens=usage.cache_write)
        return genai_prices.calc_price(counted, model, provider_id=_PROVIDERS[provider]).total_price
    except (ImportError, LookupError):
        return None


def told(cost: Decimal) -> str:
    """Return a sum in words: to the cent, of small ones to a hundredth of it."""
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"
