"""The shape of a Gemini CLI session: which record says a message last, what was rewound, where the history was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead.importers.gemini_records import is_record
from playhead.importers.told import text_in

Place = tuple[int, int]
"""A record's number, and where in it: 0, or the place in a list of messages that it holds, from 1."""


@dataclass(slots=True)
class GeminiShape:
    """Takes records in the order of the file.

    The client writes a message again whenever more of it is known; a `$rewindTo` takes back a message and all behind
    it, and a `$set` of the messages replaces all of them: where it drops some, the history was compressed.
    """

    rewritten: set[int] = field(default_factory=set)
    compressed: set[int] = field(default_factory=set)
    _rewound: list[tuple[Place, Place]] = field(default_factory=list)
    _first: dict[str, Place] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def add(self, value: Mapping[str, Any]) -> None:
        """Add a record."""
        place = self._count
        self._count += 1
        if is_record(value):
            self._message(text_in(value, "id"), place)
        elif "$rewindTo" in value:
            self._rewind(text_in(value, "$rewindTo"), place)
        elif (messages := replaced_by(value)) is not None:
            self._replace([text_in(m, "id") for m in messages], place)

    def is_rewound(self, place: Place) -> bool:
        """Tell whether what stands there was taken back."""
        return any(first <= place < end for first, end in self._rewound)

    def _message(self, name: str, place: int) -> None:
        if not name:
            return
        if name in self._last:
            self.rewritten.add(self._last[name])
        self._first.setdefault(name, (place, 0))
        self._last[name] = place

    def _rewind(self, name: str, place: int) -> None:
        begin = self._first.get(name) or min(self._first.values(), default=(place, 0))
        self._rewound.append((begin, (place, 0)))
        self._first = {n: p for n, p in self._first.items() if p < begin}
        self._last = {n: p for n, p in self._last.items() if n in self._first}

    def _replace(self, names: list[str], place: int) -> None:
        if self._first.keys() <= set(names):
            return
        self.compressed.add(place)
        self._first = {name: (place, i) for i, name in enumerate(names, 1) if name}
        self._last = {}


def replaced_by(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages that replace the history, None where a record does not replace it."""
    told = value.get("$set")
    messages = told.get("messages") if isinstance(told, Mapping) else None
    return messages if isinstance(messages, list) and messages else None
