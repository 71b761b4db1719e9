"""The built-in projections: which kinds of entries a view shows, each as the message it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from playhead.entry.entry import ANCHOR, EVENT, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry, event_name
from playhead.entry.message import Message
from playhead.view.pairing import ORPHAN, Built, Pairing
from playhead.view.pieces import BOOTSTRAP, Piece, read_piece
from playhead.view.tokens import Counter, default_counter

BEGINNING = "the anchor that begins a tape, which says nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A built-in selector: shows the entries of some kinds.

    `anchor_state` puts the state of the anchor that reading starts behind first, as a note; `events` are shown by name.
    Called like any selector, it returns the messages of the entries it is given.
    """

    name: str
    shown: frozenset[str]
    anchor_state: bool = False
    events: frozenset[str] = frozenset()

    def __call__(self, entries: Sequence[TapeEntry], context: object = None) -> list[Message]:
        """Return the messages of entries in order."""
        return [m for unit in self.build(entries, counter=default_counter()).units for m in unit.messages]

    def why_hidden(self, entry: TapeEntry) -> str | None:
        """Return why the projection shows nothing for an entry, None where it shows it."""
        if entry.kind not in self.shown and not (entry.kind == EVENT and event_name(entry) in self.events):
            return f"kind not shown by the {self.name} projection"
        if entry.meta.get("context") is False:
            return "meta.context is False"
        return BEGINNING if self.anchor_state and entry.kind == ANCHOR and event_name(entry) == BOOTSTRAP else None

    def feed(self, pairing: Pairing, entries: Iterable[TapeEntry], *, read: Callable[[TapeEntry], Piece]) -> None:
        """Add entries in order to a pairing; `read` says what an entry stands for."""
        for entry in entries:
            why = self.why_hidden(entry)
            if why is None:
                pairing.add(read(entry), id=entry.id, uid=entry.uid, kind=entry.kind)
            else:
                pairing.hide(entry.id, entry.kind, why)

    def build(self, entries: Iterable[TapeEntry], *, counter: Counter, orphan: str = ORPHAN, read: Callable[[TapeEntry], Piece] | None = None) -> Built:
        """Return the units of entries in order; `read` may remember pieces it has read before."""
        pairing = Pairing(counter=counter, orphan=orphan)
        self.feed(pairing, entries, read=read or (lambda entry: read_piece(entry, counter=counter)))
        return pairing.built()


MINIMAL: Final = Projection(name="minimal", shown=frozenset({MESSAGE}))
DEFAULT: Final = Projection(name="default", shown=frozenset({MESSAGE, TOOL_CALL, TOOL_RESULT, ANCHOR}), anchor_state=True)
