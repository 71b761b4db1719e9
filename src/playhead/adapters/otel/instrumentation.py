"""The tracer that tells OpenTelemetry, and how it is turned on and off."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from playhead import tracing
from playhead.adapters.otel.attributes import Value, attributes, error_type, span_name
from playhead.adapters.otel.content import contents
from playhead.adapters.otel.metrics import Metrics
from playhead.model.settings import package

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

SCOPE = "playhead"
"""The name under which spans and metrics are told."""


def instrument(*, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None, capture_content: bool = False) -> Instrumentation:
    """Tell OpenTelemetry of every run, step, model call, tool call, compile and fold in this process from now on; return what ends it.

    The providers are the process's own where none are given. What was said is told only with `capture_content`. A failure
    of OpenTelemetry is logged, and fails nothing. Raises MissingExtra without `playhead[otel]`.

    Source: OpenTelemetry's semantic conventions for generative AI.
    """
    instrumentation = Instrumentation(tracer_provider=tracer_provider, meter_provider=meter_provider, capture_content=capture_content)
    tracing.trace(instrumentation)
    return instrumentation


class Instrumentation:
    """What `instrument` turned on; a `with` block turns it off at its end."""

    def __init__(self, *, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None, capture_content: bool) -> None:
        trace = package("opentelemetry.trace", extra="otel", what="OpenTelemetry")
        self._api = trace
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._metrics = Metrics(meter_provider)
        self._captures_content = capture_content

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.uninstrument()

    def uninstrument(self) -> None:
        """Tell OpenTelemetry no more; twice is fine."""
        tracing.untrace(self)

    @contextmanager
    def span(self, operation: tracing.Operation, facts: dict[str, Any]) -> Iterator[Telling]:
        """Tell of one operation; the spans of what is done within are its children."""
        kind = self._api.SpanKind.CLIENT if operation == "chat" else self._api.SpanKind.INTERNAL
        with self._tracer.start_as_current_span(span_name(operation, facts), kind=kind, attributes=self._attributes(operation, facts), record_exception=False, set_status_on_exception=False) as span:
            telling = Telling(span, operation=operation, told=lambda more: self._attributes(operation, more))
            try:
                yield telling
            except Exception as exc:
                telling.failed(exc, status=self._api.Status(self._api.StatusCode.ERROR, error_type(exc)))
                raise
            except BaseException:
                span.set_attribute("playhead.cancelled", True)  # noqa: FBT003 - a claim
                raise
            finally:
                self._metrics.record(operation, facts={**facts, **telling.facts}, seconds=telling.seconds, error=telling.error)

    def _attributes(self, operation: str, facts: Mapping[str, Any]) -> dict[str, Value]:
        told = attributes(operation, facts)
        return {**told, **contents(facts)} if self._captures_content else told


class Telling:
    """One span of OpenTelemetry while it lasts; `seconds` is how long it does."""

    def __init__(self, span: Span, *, operation: str, told: Any) -> None:
        self._span = span
        self._operation = operation
        self._told = told
        self._began = time.perf_counter()
        self.facts: dict[str, Any] = {}
        self.error: str | None = None

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.perf_counter() - self._began

    def add(self, **facts: Any) -> None:
        """Say more of it."""
        if "first" in facts:
            self._span.set_attribute("gen_ai.response.time_to_first_chunk", self.seconds)
        self.facts.update(facts)
        told = self._told(facts)
        self._span.set_attributes(told)
        self.error = told.get("error.type", self.error)

    def failed(self, error: Exception, *, status: Any) -> None:
        """Say that it failed, by the kind of the error alone: what an error says may be what was said."""
        self.error = error_type(error)
        self._span.set_attribute("error.type", self.error)
        self._span.set_status(status)
