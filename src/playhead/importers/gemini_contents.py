"""Contents as Gemini's API takes them (`{"role": "user", "parts": [...]}`): request bodies, and Gemini CLI's checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playhead.entry.message import Message
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.gemini_parts import Calls, holds_both, parts_of, spoken_by_user, turn_of
from playhead.importers.told import Told, happened, said, text_in

FORMAT = "gemini-contents"
_ROLES = ("user", "model", "function")
_INSTRUCTIONS = ("systemInstruction", "system_instruction")


def is_content(value: object) -> bool:
    """Tell whether a JSON value is a content."""
    return isinstance(value, dict) and value.get("role") in _ROLES and isinstance(value.get("parts"), list)


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a content: no other format writes it so."""
    return Certainty.SURE if is_content(value) else Certainty.NONE


@dataclass(slots=True)
class _Voice:
    facts: Mapping[str, Any]
    calls: Calls = field(default_factory=Calls)

    def opening(self) -> Iterator[Share]:
        for name in _INSTRUCTIONS:
            words = self.facts.get(name)
            if isinstance(words, (str, dict)) and words:
                yield Share(value={name: words}, tell=_tell_instructions, field=name)

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        if not is_content(value):
            yield Share(value=value, tell=_tell_other, beside=True)
            return
        parts = self.calls.resolved(value["parts"])
        tell = partial(_tell, parts=parts, model=text_in(self.facts, "model") or None)
        yield Share(value=value, tell=tell, second=holds_both(parts) and value["role"] != "model")


def _tell(values: tuple[Any, ...], *, parts: list[Any], model: str | None) -> Told:
    value = values[0]
    fields = {k: v for k, v in value.items() if k not in ("role", "parts")}
    if value["role"] == "model":
        return said([turn_of(parts, model=model)], fields=fields, model=model)
    return said(spoken_by_user(parts), fields=fields)


def _tell_instructions(values: tuple[Any, ...]) -> Told:
    (words,) = values[0].values()
    parts = tuple(parts_of(words.get("parts") if isinstance(words, dict) else words, model=None))
    return said([Message(role="system", content=parts)])


def _tell_other(values: tuple[Any, ...]) -> Told:
    return happened("gemini_contents.other", values[0])


GEMINI_CONTENTS = Dialect(
    format=FORMAT,
    lists=("contents", "history", "clientHistory"),
    names=("id", "conversation_id", "session_id", "messageId"),
    is_message=is_content,
    is_listed=lambda value: isinstance(value, dict),
    is_users=lambda value: isinstance(value, dict) and value.get("role") == "user",
    certainty=certainty,
    voice=lambda facts, _: _Voice(facts),
)
