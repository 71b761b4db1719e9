"""An answer of Anthropic Messages while its events come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.entry import codec
from playhead.model.failures import ToldFailure
from playhead.model.growing import GrowingTexts
from playhead.model.protocol import ModelEvent, ReasoningDelta, TextDelta, Usage
from playhead.model.replies import mapping, text, usage_of

_INPUT = "partial_json"


class AnthropicAnswer:
    """Gathers the blocks of one answer; blocks and deltas it does not know are kept word for word."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.model: str | None = None
        self.stop: str | None = None
        self.explanation = ""
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._grown: dict[int, GrowingTexts] = {}

    @property
    def usage(self) -> Usage | None:
        """What the call cost; tokens written to the cache and read from it are part of what was read."""
        if not self._usage:
            return None
        told = self._usage
        read, written = told.get("cache_read_input_tokens"), told.get("cache_creation_input_tokens")
        counted = usage_of(
            input=told.get("input_tokens"), output=told.get("output_tokens"), cache_read=read, cache_write=written, reasoning=mapping(told.get("output_tokens_details")).get("thinking_tokens")
        )
        return counted + Usage(input=counted.cache_read + counted.cache_write)

    def take(self, event: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Add an event, and yield the words in it."""
        index = event.get("index")
        match event.get("type"):
            case "message_start":
                message = mapping(event.get("message"))
                self.id, self.model = text(message.get("id")) or None, text(message.get("model")) or None
                self._take_usage(message.get("usage"))
            case "content_block_start" if isinstance(index, int):
                block = {k: v for k, v in mapping(event.get("content_block")).items() if v is not None}
                self._blocks[index] = block
                yield from _words(block)
            case "content_block_delta" if isinstance(index, int):
                yield from self._grow(index, mapping(event.get("delta")))
            case "message_delta":
                delta = mapping(event.get("delta"))
                self.stop = text(delta.get("stop_reason")) or self.stop
                why = text(mapping(delta.get("stop_details")).get("explanation"))
                self.explanation = f": {why.rstrip('.')}" if why else self.explanation
                self._take_usage(event.get("usage"))
            case "error":
                raise ToldFailure(mapping(event.get("error")))

    def _take_usage(self, usage: object) -> None:
        self._usage.update({k: v for k, v in mapping(usage).items() if v is not None})

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        block, grown = self._blocks.setdefault(index, {}), self._grown.setdefault(index, GrowingTexts())
        match delta.get("type"):
            case "input_json_delta":
                grown.add(_INPUT, text(delta.get(_INPUT)))
            case "signature_delta":
                block["signature"] = text(delta.get("signature"))
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
            case _:
                for name, more in delta.items():
                    if isinstance(more, str) and name != "type":
                        grown.add(name, more)
                    elif name != "type" and more is not None:
                        block[name] = more
                yield from _words(delta)

    def message(self) -> dict[str, Any]:
        """Return the whole message, as an answer without stream would hold it."""
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        return {"role": "assistant", "content": [b for b in blocks if b.get("type") != "text" or b.get("text")]}

    def _whole(self, index: int) -> dict[str, Any]:
        """Return a block with its input: an object where the text that came is one, else that text."""
        begun, grown = self._blocks[index], self._grown.get(index, GrowingTexts()).whole()
        said = grown.pop(_INPUT, "")
        block = {**begun, **{name: text(begun.get(name)) + more for name, more in grown.items()}}
        if not said.strip():
            return block
        if block.get("type") == "tool_use":
            return {**block, "input": _decoded(said)}
        found = _decoded(said)
        return {**block, "input": found if isinstance(found, dict) else {"_unparsed": said}}


def _decoded(said: str) -> Any:
    try:
        found = codec.decode(said)
    except (ValueError, RecursionError):
        return said
    return found if isinstance(found, dict) else said


def _words(block: Mapping[str, Any]) -> Iterator[ModelEvent]:
    """Yield the words of a block's beginning, or of a delta."""
    match dict(block):
        case {"type": "text" | "text_delta", "text": str(words)} if words:
            yield TextDelta(text=words)
        case {"type": "thinking" | "thinking_delta", "thinking": str(words)} if words:
            yield ReasoningDelta(text=words)
