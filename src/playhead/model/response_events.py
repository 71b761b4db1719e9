"""An answer of OpenAI Responses while its events come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.model.failures import ToldFailure
from playhead.model.protocol import ModelEvent, ReasoningDelta, TextDelta, Usage
from playhead.model.replies import mapping, text, usage_of


class ResponsesAnswer:
    """Gathers the items of one answer, each as it is when it is done."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.model: str | None = None
        self.status: str | None = None
        self.why = ""
        self.usage: Usage | None = None
        self.has_refused = False
        self._items: dict[int, dict[str, Any]] = {}

    def items(self) -> list[dict[str, Any]]:
        """Return the items in order, without members that are null."""
        return [{k: v for k, v in self._items[at].items() if v is not None} for at in sorted(self._items)]

    def take(self, event: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Add an event, and yield the words in it."""
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                self.has_refused = self.has_refused or event["type"] == "response.refusal.delta"
                if text(event.get("delta")):
                    yield TextDelta(text=text(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if text(event.get("delta")):
                    yield ReasoningDelta(text=text(event.get("delta")))
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield ReasoningDelta(text="\n\n")
            case "response.output_item.done":
                self._take_item(event.get("output_index"), event.get("item"))
            case "response.created" | "response.in_progress":
                self._take_response(mapping(event.get("response")))
            case "response.completed" | "response.incomplete":
                self._finish(mapping(event.get("response")), status=str(event["type"]).partition(".")[2])
            case "response.failed":
                raise ToldFailure(mapping(mapping(event.get("response")).get("error")))
            case "error":
                raise ToldFailure(mapping(event["error"]) if isinstance(event.get("error"), Mapping) else event)

    def _take_item(self, at: object, item: object) -> None:
        if isinstance(item, Mapping):
            self._items[at if isinstance(at, int) else len(self._items)] = dict(item)

    def _take_response(self, response: Mapping[str, Any]) -> None:
        self.id = text(response.get("id")) or self.id
        self.model = text(response.get("model")) or self.model

    def _finish(self, response: Mapping[str, Any], *, status: str) -> None:
        self._take_response(response)
        self.status = status
        self.why = text(mapping(response.get("incomplete_details")).get("reason"))
        usage = mapping(response.get("usage"))
        if usage:
            read, written = mapping(usage.get("input_tokens_details")), mapping(usage.get("output_tokens_details"))
            self.usage = usage_of(
                input=usage.get("input_tokens"),
                output=usage.get("output_tokens"),
                cache_read=read.get("cached_tokens"),
                cache_write=read.get("cache_write_tokens"),
                reasoning=written.get("reasoning_tokens"),
            )
        output = response.get("output")
        if not self._items and isinstance(output, list):
            for at, item in enumerate(output):
                self._take_item(at, item)
