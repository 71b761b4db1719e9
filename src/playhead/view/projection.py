"""The built-in projections: which kinds of entries a view shows, each as the message it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from playhead.entry.entry import AMEND, ANCHOR, EVENT, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry, event_name
from playhead.entry.message import Media, Message, Text
from playhead.view.amends import reading
from playhead.view.bodies import messages
from playhead.view.pairing import ORPHAN, Built, Pairing
from playhead.view.pieces import BOOTSTRAP, Piece
from playhead.view.tokens import Counter, default_counter

BEGINNING = "the anchor that begins a tape, which says nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A built-in selector: shows the entries of some kinds.

    `anchor_state` puts the state of the anchor that reading starts behind first, as a note; `events` are shown by name. `agent` is
    who reads: what other agents said, by the names of their messages, is then what users said.
    Called like any selector, it returns the messages of the entries it is given.
    """

    name: str
    shown: frozenset[str]
    anchor_state: bool = False
    events: frozenset[str] = frozenset()
    agent: str | None = None

    def __call__(self, entries: Sequence[TapeEntry], context: object = None) -> list[Message]:
        """Return the messages of entries in order."""
        return list(messages(self.build(entries, counter=default_counter()).units))

    def why_hidden(self, entry: TapeEntry) -> str | None:
        """Return why the projection shows nothing for an entry, None where it shows it, or where what it changes says why."""
        if entry.kind == AMEND:
            return None
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
                pairing.add(seen_by(read(entry), self.agent), id=entry.id, uid=entry.uid, kind=entry.kind)
            else:
                pairing.hide(entry.id, entry.kind, why)

    def build(self, entries: Sequence[TapeEntry], *, counter: Counter, orphan: str = ORPHAN, read: Callable[[TapeEntry], Piece] | None = None) -> Built:
        """Return the units of entries in order; `read` says what each stands for, by default with the changes among them."""
        pairing = Pairing(counter=counter, orphan=orphan)
        self.feed(pairing, entries, read=read or reading(entries, counter=counter))
        return pairing.built()


def seen_by(piece: Piece, agent: str | None) -> Piece:
    """Return what an entry stands for to an agent: its own words without its name, those of another one as a user's; of tool work the words alone."""
    message = piece.message
    if agent is None or message is None or message.role != "assistant" or message.name is None:
        return piece
    if message.name.casefold() == agent.casefold():
        return replace(piece, message=replace(message, name=None))
    if isinstance(message.content, str):
        return replace(piece, message=replace(message, role="user"))
    words = tuple(part for part in message.parts if isinstance(part, (Text, Media)))
    return replace(piece, message=replace(message, role="user", content=words)) if words else Piece(hidden=f"work of {message.name} without words")


MINIMAL: Final = Projection(name="minimal", shown=frozenset({MESSAGE}))
DEFAULT: Final = Projection(name="default", shown=frozenset({MESSAGE, TOOL_CALL, TOOL_RESULT, ANCHOR}), anchor_state=True)
