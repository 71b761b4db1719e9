"""How a format writes a conversation: what a reader of conversations must know of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from playhead.importers.certainty import Certainty, surest
from playhead.importers.told import Telling


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What becomes one item, from a message or a part of it.

    `tell` says what `value` tells. `second`: it may be two entries. `joins`: it is a part of the model's turn.
    `beside`: it is no part of the conversation and ends no turn. `field` names the field of the conversation that it
    tells, where it is no message. `date` is when it was said, as the source writes it.
    """

    value: Any
    tell: Telling
    second: bool = False
    joins: bool = False
    beside: bool = False
    field: str = ""
    date: object = None


class Voice(Protocol):
    """Reads the messages of one conversation, in order."""

    def opening(self) -> Iterable[Share]:
        """Return what is said before the first message, from the conversation's own fields."""
        ...

    def shares(self, value: Any, *, within: str | None) -> Iterable[Share]:
        """Return what becomes of a message; `within` names the list it stands in, where it is in one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A voice for which each message is one item, and nothing is said elsewhere."""

    tell: Telling
    second: bool = False

    def opening(self) -> tuple[Share, ...]:
        """Return nothing."""
        return ()

    def shares(self, value: Any, *, within: str | None) -> tuple[Share, ...]:
        """Return the message."""
        return (Share(value=value, tell=self.tell, second=self.second),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A format of conversations.

    `lists` name the members of a conversation that hold its messages, `names` those that tell conversations apart
    which open with the same words, `alone` fields that are a conversation without any list. `certainty` judges one value that is a message, or the fields of a conversation;
    `is_listed` tells what may stand in a list of messages. `voice` gets a conversation's fields, and which of its
    lists hold anything.
    """

    format: str
    lists: tuple[str, ...]
    names: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    is_message: Callable[[object], bool]
    is_listed: Callable[[object], bool]
    is_users: Callable[[Mapping[str, Any]], bool]
    certainty: Callable[[Mapping[str, Any]], Certainty]
    voice: Callable[[Mapping[str, Any], Collection[str]], Voice]

    def judge(self, value: object) -> Certainty:
        """Return how sure it is that a value is a message or a conversation of this format."""
        own = self.certainty(value) if isinstance(value, dict) else Certainty.NONE
        lists = conversation_lists(self, value) if own is not Certainty.SURE else {}
        return max(own, surest(self.certainty(m) for members in lists.values() for m in members if isinstance(m, dict))) if lists else own


def stands_alone(dialect: Dialect, value: object) -> bool:
    """Tell whether a value is a conversation although no list of messages is in it."""
    return isinstance(value, dict) and not dialect.is_message(value) and any(isinstance(value.get(name), str) and value[name] for name in dialect.alone)


def conversation_lists(dialect: Dialect, value: object) -> dict[str, list[Any]]:
    """Return the lists of messages of a conversation that stands in one value, in its order; empty where it is none."""
    if isinstance(value, list):
        return {"": value} if value and all(map(dialect.is_listed, value[:10])) else {}
    if not isinstance(value, dict) or dialect.is_message(value):
        return {}
    found = {name: value[name] for name in value if name in dialect.lists and isinstance(value[name], list)}
    is_conversation = any(found.values()) and all(all(map(dialect.is_listed, members[:10])) for members in found.values())
    return found if is_conversation else {}
