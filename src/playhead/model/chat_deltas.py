"""An answer of OpenAI Chat Completions while its chunks come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.model.growing import GrowingTexts
from playhead.model.protocol import ModelEvent, ReasoningDelta, TextDelta, Usage
from playhead.model.replies import count, mapping, text, usage_of

_SPOKEN = ("content", "refusal")
_THOUGHT = ("reasoning_content", "reasoning")
_GROWING = frozenset({"text", "summary", "data"})


class ChatAnswer:
    """Gathers the deltas of one answer; what it does not know is kept as it came last."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.model: str | None = None
        self.finish: str | None = None
        self.usage: Usage | None = None
        self._words = GrowingTexts()
        self._fields: dict[str, Any] = {}
        self._calls: list[_Call] = []
        self._details: list[_Detail] = []

    @property
    def has_refused(self) -> bool:
        """Whether the model said that it will not answer."""
        return "refusal" in self._words

    def take(self, chunk: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Add a chunk, and yield the words in it."""
        self.id = text(chunk.get("id")) or self.id
        self.model = text(chunk.get("model")) or self.model
        if isinstance(chunk.get("usage"), Mapping):
            self.usage = _usage(chunk["usage"])
        choices = chunk.get("choices")
        choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        self.finish = text(choice.get("finish_reason")) or self.finish
        yield from self._take_delta(mapping(choice.get("delta")))

    def _take_delta(self, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        for name, value in delta.items():
            if name == "role" or value is None:
                continue
            match name:
                case "tool_calls":
                    self._take_calls(value)
                case "function_call":
                    self._take_calls([{"index": 0, "type": "function", "function": value}])
                case "reasoning_details":
                    self._take_details(value)
                case _ if name in _SPOKEN or name in _THOUGHT:
                    # A server that sends both spellings of reasoning says the same in both.
                    yield from self._take_words(name, text(value), is_told=name != "reasoning" or not delta.get("reasoning_content"))
                case _:
                    self._fields[name] = value

    def _take_words(self, name: str, words: str, *, is_told: bool) -> Iterator[ModelEvent]:
        if not words:
            return
        self._words.add(name, words)
        if is_told:
            yield TextDelta(text=words) if name in _SPOKEN else ReasoningDelta(text=words)

    def _take_calls(self, deltas: object) -> None:
        for value in deltas if isinstance(deltas, list) else ():
            delta = mapping(value)
            self._call_of(delta).grow(delta)

    def _call_of(self, delta: Mapping[str, Any]) -> _Call:
        """Return the call a delta belongs to: the last of its index, a new one where the id says so.

        Some servers number every call 0, or none; then the id tells them apart, and a delta without goes to the last.
        """
        id, index = text(delta.get("id")), delta.get("index")
        begun = [c for c in self._calls if index is None or c.index == index]
        if id:
            begun = [c for c in begun if c.fields.get("id") == id] or [c for c in begun[-1:] if not c.fields.get("id")]
        if begun:
            return begun[-1]
        self._calls.append(_Call(len(self._calls) if index is None else index))
        return self._calls[-1]

    def _take_details(self, values: object) -> None:
        """Add to the reasoning of OpenRouter: blocks of one index and type grow, their signature comes last."""
        for value in values if isinstance(values, list) else ():
            detail = mapping(value)
            if not self._details or not self._details[-1].is_of(detail):
                self._details.append(_Detail())
            self._details[-1].grow(detail)

    def message(self) -> dict[str, Any]:
        """Return the whole message, as a completion without stream would hold it."""
        calls = [c.whole() for c in sorted(self._calls, key=lambda c: count(c.index))]
        words: dict[str, Any] = self._words.whole()
        content = words.pop("content", None if calls or self.has_refused else "")
        details = {"reasoning_details": [d.whole() for d in self._details]} if self._details else {}
        return {"role": "assistant", "content": content, **words, **self._fields, **details, **({"tool_calls": calls} if calls else {})}


class _Detail:
    """A block of reasoning while it grows."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._texts = GrowingTexts()

    def is_of(self, detail: Mapping[str, Any]) -> bool:
        return all(self._fields.get(name) == detail.get(name) for name in ("type", "index"))

    def grow(self, detail: Mapping[str, Any]) -> None:
        for name, more in detail.items():
            if name in _GROWING and isinstance(more, str):
                self._texts.add(name, more)
            elif more is not None:
                self._fields[name] = more

    def whole(self) -> dict[str, Any]:
        return {**self._fields, **self._texts.whole()}


class _Call:
    """A call while it grows: its arguments go on, everything else is as it was said last."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self._spelled = GrowingTexts()

    def grow(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name == "index" or value is None or (name == "id" and not value):
                continue
            if name in ("function", "custom") and isinstance(value, Mapping):
                self._grow_inner(name, value)
            else:
                self.fields[name] = value

    def _grow_inner(self, name: str, value: Mapping[str, Any]) -> None:
        inner = self.fields.setdefault(name, {"name": ""})
        for key, more in value.items():
            if key in ("arguments", "input") and isinstance(more, str):
                self._spelled.add(key, more)
            elif more is not None and more != "":
                inner[key] = more

    def whole(self) -> dict[str, Any]:
        """Return the call with its arguments in one piece."""
        whole = {"type": "function", **self.fields}
        for name, key in (("function", "arguments"), ("custom", "input")):
            if name in whole:
                whole[name] = {key: "", **self._spelled.whole(), **whole[name]}
        return whole


def _usage(value: Mapping[str, Any]) -> Usage:
    read = mapping(value.get("prompt_tokens_details"))
    written = mapping(value.get("completion_tokens_details"))
    return usage_of(
        input=value.get("prompt_tokens"),
        output=value.get("completion_tokens"),
        cache_read=read.get("cached_tokens") or value.get("prompt_cache_hit_tokens"),
        cache_write=read.get("cache_write_tokens"),
        reasoning=written.get("reasoning_tokens"),
    )
