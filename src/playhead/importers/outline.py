"""The small facts of a large value: long texts and lists are replaced by how much was left out."""

from __future__ import annotations

from typing import Any

from playhead.entry.frozen import FrozenDict, FrozenList

LONGEST_TEXT = 1_000
LONGEST_LIST = 50
REPEATED_FROM = 64
"""A text of this many characters that stands elsewhere is not kept twice."""


def outline(value: Any, *, limit: int, seen: str = "") -> Any:
    """Return a JSON value cut to about `limit` characters.

    A text that is too long or stands in `seen`, and the end of a list that is too long, become `{"omitted": count}`
    (characters, items).
    """
    return _Outline(limit, seen).of(value)


class _Outline:
    def __init__(self, room: int, seen: str) -> None:
        self._room = room
        self._seen = seen

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, list):
            kept = [self.of(v) for v in value[:LONGEST_LIST] if self._room > 0]
            return FrozenList([*kept, _omitted(len(value) - len(kept))] if len(kept) < len(value) else kept)
        self._room -= 8
        return value

    def _text(self, text: str) -> Any:
        if len(text) > min(LONGEST_TEXT, max(self._room, 0)) or (len(text) >= REPEATED_FROM and text in self._seen):
            self._room -= 16
            return _omitted(len(text))
        self._room -= len(text) + 4
        return text

    def _dict(self, value: dict[str, Any]) -> FrozenDict:
        kept: dict[str, Any] = {}
        for key, member in value.items():
            if self._room <= 0:
                return FrozenDict({**kept, **_omitted(len(value) - len(kept))})
            self._room -= len(key) + 4
            kept[key] = self.of(member)
        return FrozenDict(kept)


def _omitted(count: int) -> FrozenDict:
    return FrozenDict({"omitted": count})
