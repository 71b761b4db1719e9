"""The two metrics that the conventions ask of a client: how many tokens, and how long.

Source: OpenTelemetry's semantic conventions for generative AI, client metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from playhead.adapters.otel.attributes import attributes
from playhead.model.protocol import Reply
from playhead.model.settings import package

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

_TOKENS = tuple(float(4**power) for power in range(14))
_SECONDS = tuple(0.01 * 2**power for power in range(14))
_KEPT = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.tool.name")
"""The attributes of a span that a metric has, too: those with few values."""


class Metrics:
    """Records the tokens of model calls, and how long calls of models and tools and runs of agents take."""

    def __init__(self, provider: MeterProvider | None) -> None:
        meter = package("opentelemetry.metrics", extra="otel", what="OpenTelemetry").get_meter("playhead", meter_provider=provider)
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", unit="{token}", description="Tokens that a call read and wrote.", explicit_bucket_boundaries_advisory=_TOKENS)
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", unit="s", description="How long an operation took.", explicit_bucket_boundaries_advisory=_SECONDS)

    def record(self, operation: str, *, facts: Mapping[str, Any], seconds: float, error: str | None) -> None:
        """Record one operation that has ended."""
        told = {name: value for name, value in attributes(operation, facts).items() if name in _KEPT}
        if operation in ("agent", "chat", "tool"):
            self._seconds.record(seconds, {**told, **({} if error is None else {"error.type": error})})
        reply = facts.get("reply")
        if isinstance(reply, Reply) and reply.usage is not None:
            self._tokens.record(reply.usage.input, {**told, "gen_ai.token.type": "input"})
            self._tokens.record(reply.usage.output, {**told, "gen_ai.token.type": "output"})
