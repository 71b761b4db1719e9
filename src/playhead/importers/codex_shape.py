"""The shape of a Codex rollout: where the user's turns begin, which of them were rolled back, and who is told of in items."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.importers.codex_records import EVENT, ITEM, Record, words_of
from playhead.importers.places import key_of
from playhead.importers.told import text_in

_NEAR = 2
_CONTEXT = ("<environment_context", "<user_instructions", "<permissions", "<turn_aborted", "<skill", "<user_shell_command", "<collaboration_mode", "<subagent", "<model_switch", "# AGENTS.md")
"""How messages begin that the client writes in the user's place."""


@dataclass(slots=True)
class _Begun:
    """Where a turn of the user began, and the key of its words; the file tells it as an item and as an event, one near the other."""

    place: int
    kind: str
    words: int


@dataclass(slots=True)
class CodexShape:
    """Takes records in the order of the file. `has_items` are the roles whose words stand in the file as items."""

    has_items: set[str] = field(default_factory=set)
    _begun: list[_Begun] = field(default_factory=list)
    _rolled_back: list[tuple[int, int]] = field(default_factory=list)
    _count: int = 0

    def add(self, record: Record) -> None:
        """Add a record."""
        place = self._count
        self._count += 1
        if record.kind == ITEM and record.type == "message":
            role = text_in(record.payload, "role")
            self.has_items.add(role)
            words = words_of(record.payload).strip()
            if role == "user" and not words.startswith(_CONTEXT):
                self._begin(place, ITEM, words)
        elif record.kind == EVENT and record.type == "user_message":
            self._begin(place, EVENT, text_in(record.payload, "message").strip())
        elif record.kind == EVENT and record.type == "thread_rolled_back":
            self._roll_back(record.payload.get("num_turns"), place)

    def is_rolled_back(self, place: int) -> bool:
        """Tell whether what stands there was taken back."""
        return any(first <= place < end for first, end in self._rolled_back)

    def _begin(self, place: int, kind: str, words: str) -> None:
        last, said = (self._begun[-1] if self._begun else None), key_of(words)
        if last is not None and last.kind not in (kind, "") and (last.words == said or place - last.place <= _NEAR):
            last.kind = ""
        else:
            self._begun.append(_Begun(place, kind, said))

    def _roll_back(self, turns: object, place: int) -> None:
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1 or not self._begun:
            return
        self._rolled_back.append((self._begun[-turns:][0].place, place))
        del self._begun[-turns:]
