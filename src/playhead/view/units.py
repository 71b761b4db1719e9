"""Units: the smallest things a plan may move, and what is known of the entries around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from playhead.entry.message import Message

UnitKind = Literal["message", "round", "anchor", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Which part of a long message a unit is: the shard of number `index`, from 0, of the `count` that the body `id` was stored in."""

    id: str
    index: int
    count: int

    def follows(self, before: Body | None) -> bool:
        """Return whether it goes on with the part before it: of the same body, with a higher index. The same text posted again starts anew."""
        return before is not None and self.id == before.id and self.index > before.index


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True, repr=False)
class Unit:
    """One message, or one tool round (a turn with its calls and all their results), or a note; priced.

    `ids` are the entries it was made from, rising, `uids` their lasting names (both empty for a message that a
    selector made up; `origin` then names the selector). `tokens` is the price of showing it whole.
    `event` is the name and data of an event that is shown; `how` says which selectors changed what is shown.
    `body` says which part of a long message it is, where it was stored in parts.
    `is_open` says that a call of the round has no result on the tape. `fault` says, where its messages are no whole
    round, which call or result stands alone. Units are compared by identity.
    """

    kind: UnitKind
    messages: tuple[Message, ...]
    ids: tuple[int, ...]
    uids: tuple[str, ...]
    tokens: int
    is_open: bool = False
    origin: str | None = None
    event: tuple[str, object] | None = None
    how: str | None = None
    body: Body | None = None
    fault: str | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fault", pairing_fault(self.messages))

    def __repr__(self) -> str:
        return f"Unit({self.kind}, entries {self.first}-{self.last}, {self.tokens} tokens)"

    @property
    def first(self) -> int:
        """The id of its first entry, 0 where it has none."""
        return self.ids[0] if self.ids else 0

    @property
    def last(self) -> int:
        """The id of its last entry, 0 where it has none."""
        return self.ids[-1] if self.ids else 0

    @property
    def role(self) -> str:
        """Who speaks first in it."""
        return self.messages[0].role


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """An entry inside the view that shows nothing, and why."""

    id: int
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A run of entries that was not loaded, without a break in their ids; it lies before the unit of index `at`.

    `reason` is set where a selector left the run out.
    """

    first: int
    last: int
    count: int
    at: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The entries up to and with the anchor that reading starts behind."""

    name: str
    id: int


def pairing_fault(messages: Iterable[Message]) -> str | None:
    """Return what is wrong with the calls and results of messages in order, None where every one has its other half and a role that may hold it."""
    waiting: list[str] = []
    for message in messages:
        calls, results, role = message.calls, message.results, message.role
        if calls and role != "assistant":
            return f"a message of role '{role}' that calls a tool"
        if (results and role not in ("tool", "user")) or (role == "tool" and message.content and not results):
            return f"a message of role '{role}' {'that holds a result' if results else 'without a result'}"
        if waiting and not results:
            break
        for result in results:
            if result.call_id not in waiting:
                return f"a result for call {result.call_id!r} without the call"
            waiting.remove(result.call_id)
        waiting += [c.id for c in calls]
    return f"call {waiting[0]!r} without its result" if waiting else None
