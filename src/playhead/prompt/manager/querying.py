"""Querying messages: by who spoke, by what a host noted, by where they came from, by when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.prompt.manager.stored import StoredMessage, is_agent, metadata_of, participant_of
from playhead.store.query import TapeQuery

ChannelId = str | int

_ABSENT = object()
_EARLIEST, _LATEST = date.min, date.max


class Page(NamedTuple):
    """A stretch of the messages of a tape, the place of its first among all of them, and how many there are."""

    messages: tuple[StoredMessage, ...]
    start: int
    total: int


class Matches(NamedTuple):
    """Messages that were asked for, up to a limit, and how many there are without it."""

    messages: tuple[StoredMessage, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which messages are wanted; what is None does not matter.

    `metadata` names fields by their path, with dots, and the values they must have; True is not 1. `source` and `external_ids`
    compare `metadata.external`, `channel` compares `metadata.channelId` and `metadata.external.channelId`.
    """

    participant: str | None = None
    metadata: Mapping[str, Any] | None = None
    source: str | None = None
    external_ids: Collection[ChannelId] | None = None
    channel: ChannelId | None = None

    def __post_init__(self) -> None:
        if self.metadata is not None and not (isinstance(self.metadata, Mapping) and all(isinstance(key, str) for key in self.metadata)):
            raise InvalidInput(f"Messages are found by metadata such as {{'external.channelId': 'c7'}}, not by {self.metadata!r:.100}.")
        if isinstance(self.external_ids, str) or (self.external_ids is not None and not isinstance(self.external_ids, Collection)):
            raise InvalidInput(f"external_ids is a list of ids, not {self.external_ids!r:.100}.")

    @property
    def is_open(self) -> bool:
        """Whether every message passes."""
        return self == Filter()

    def admits(self, entry: TapeEntry, *, agent: str) -> bool:
        """Return whether the message of an entry is wanted."""
        if self.participant is not None and participant_of(entry, agent=agent) != (agent if is_agent(self.participant, agent=agent) else self.participant):
            return False
        noted = metadata_of(entry)
        if self.source is not None and _at(noted, "external.source") != self.source:
            return False
        if self.external_ids is not None and not any(_equal(_at(noted, "external.id"), id) for id in self.external_ids):
            return False
        if self.channel is not None and not any(_equal(channel, self.channel) for channel in channels_of(entry)):
            return False
        return all(_equal(_at(noted, path), value) for path, value in (self.metadata or {}).items())


def channels_of(entry: TapeEntry) -> tuple[ChannelId, ...]:
    """Return the channels that a message is of, each once, wherever its metadata names it."""
    noted = metadata_of(entry)
    named = (_at(noted, "channelId"), _at(noted, "external.channelId"))
    return tuple(dict.fromkeys(channel for channel in named if isinstance(channel, str | int) and not isinstance(channel, bool)))


def between(query: TapeQuery, since: date | str | None, until: date | str | None) -> TapeQuery:
    """Return a query for what was written from `since` to `until`, both included. Raises InvalidInput, InvalidDate."""
    if since is None and until is None:
        return query
    return query.between_dates(_EARLIEST if since is None else since, _LATEST if until is None else until)


def checked_limit(limit: int | None) -> int | None:
    """Return a limit. Raises InvalidInput for anything but a whole number from 1, or None."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise InvalidInput(f"A limit is a whole number from 1, or None for all messages, not {limit!r:.80}.")
    return limit


def _at(noted: Mapping[str, Any], path: str) -> object:
    """Return what stands under a path with dots; a key that holds dots itself comes first."""
    if path in noted:
        return noted[path]
    key, dot, rest = path.partition(".")
    inner = noted.get(key)
    return _at(inner, rest) if dot and isinstance(inner, Mapping) else _ABSENT


def _equal(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
