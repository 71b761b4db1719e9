"""ShareGPT: `{"conversations": [{"from": "human", "value": "..."}, ...]}`, mostly many of them in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from playhead.entry import codec
from playhead.entry.message import Message, Part, Text, ToolCall, ToolResult, assistant, system, user
from playhead.entry.payload import call_from_json
from playhead.errors import WireError
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.told import Told, as_mapping, said, text_in

FORMAT = "sharegpt"
_USERS = frozenset({"human", "user", "person", "prompter"})
_MODELS = frozenset({"gpt", "assistant", "chatgpt", "bot", "model", "ai", "bard", "bing", "claude", "gemini", "llama"})
_CALLS = frozenset({"function_call", "function-call", "tool_call", "tool_calls"})
_RESULTS = frozenset({"observation", "tool", "tool_response", "function_response", "function-response", "function", "ipython"})
_SPOKEN = ("from", "value")


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message."""
    return isinstance(value, dict) and isinstance(value.get("from"), str) and "value" in value


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message: no other format names them so."""
    return Certainty.SURE if is_message(value) else Certainty.NONE


@dataclass(slots=True)
class _Voice:
    """Knows how many calls of the model wait for an answer."""

    facts: Mapping[str, Any]
    open_calls: int = 0

    def opening(self) -> Iterator[Share]:
        for name in ("system", "system_prompt"):
            if words := text_in(self.facts, name):
                yield Share(value={"from": "system", "value": words}, tell=partial(_tell, answers=False), field=name)

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        speaker = _speaker(value)
        answers = speaker in _RESULTS and self.open_calls > 0
        self.open_calls = len(_calls(value)) if speaker in _CALLS else max(0, self.open_calls - 1) if answers else 0
        yield Share(value=value, tell=partial(_tell, answers=answers))


def _speaker(value: object) -> str:
    return text_in(value, "from").strip().lower()


def _calls(value: object) -> tuple[ToolCall, ...]:
    """Return the calls that a message writes as JSON; none where it is none."""
    spoken = value.get("value") if isinstance(value, Mapping) else None
    if isinstance(spoken, str):
        try:
            spoken = codec.decode(spoken)
        except (ValueError, RecursionError):
            return ()
    found = [call_from_json(c) for c in (spoken if isinstance(spoken, list) else [spoken])]
    return () if None in found else tuple(c for c in found if c is not None)


def _tell(values: tuple[Any, ...], *, answers: bool) -> Told:
    value = as_mapping(values[0])
    speaker, spoken = _speaker(value), value.get("value")
    words = spoken if isinstance(spoken, str) else "" if spoken is None else codec.encode(spoken).decode()
    fields = {k: v for k, v in value.items() if k not in _SPOKEN}
    return said([_message(speaker, words, _calls(value) if speaker in _CALLS else (), answers=answers)], fields=fields)


def _message(speaker: str, words: str, calls: tuple[ToolCall, ...], *, answers: bool) -> Message:
    """Return what is said. What a tool says that nobody called is told as a user's words."""
    if answers:
        return Message(role="tool", content=(ToolResult(call_id="", content=words),))
    if speaker in _RESULTS:
        return user(words, name=speaker)
    if speaker in _CALLS:
        said_: tuple[Part, ...] = calls or (Text(text=words),)
        return Message(role="assistant", content=said_)
    if speaker in _MODELS:
        return assistant(words)
    if speaker == "system":
        return system(words)
    if speaker in _USERS:
        return user(words)
    raise WireError(f"Nobody is known by the name {speaker!r}", where="from")


SHAREGPT = Dialect(
    format=FORMAT,
    lists=("conversations", "conversation"),
    names=("id", "conversation_id", "idx", "source"),
    is_message=is_message,
    is_listed=is_message,
    is_users=lambda value: _speaker(value) in _USERS,
    certainty=certainty,
    voice=lambda facts, _: _Voice(facts),
)
