"""One conversation of a file while it is read: the names of its messages, and what becomes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.importers.cutting import Cutter
from playhead.importers.dialect import Dialect, Share
from playhead.importers.items import Item, short_digest
from playhead.importers.lines import Raw
from playhead.importers.origin import Origin, date_of
from playhead.importers.places import Tally, key_of
from playhead.importers.report import Notes
from playhead.importers.told import Maker, Telling, begun_anew
from playhead.importers.turns import Step

_DATES = ("timestamp", "created_at", "create_time", "date")
_NOTED = ("extra", "data")
"""Where some programs put what they note beside a message."""


def date_in(fields: Any) -> str | None:
    """Return the date that a record tells in one of the fields that usually hold it, None where it tells none."""
    if not isinstance(fields, dict):
        return None
    places = [fields, *(fields[k] for k in _NOTED if isinstance(fields.get(k), dict))]
    return next((date for place in places for key in _DATES if (date := date_of(place.get(key)))), None)


class Talks:
    """Makes the steps of one reading of a file of conversations."""

    def __init__(self, dialect: Dialect, origin: Origin, *, several: bool, notes: Notes) -> None:
        self.dialect = dialect
        self.cutter = Cutter(origin, notes=notes)
        self.several = several
        self.heads, self.openings = Tally(), Tally()
        self.begun = 0

    def begin(self, fields: Mapping[str, Any], *, lists: Collection[str], raws: Mapping[str, Raw] | None = None) -> Talk:
        """Return a conversation that has these fields; `raws` say where each stands in the file."""
        return Talk(self, fields, lists=lists, raws=raws or {})

    def whole(self, raw: Raw, fields: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> Iterator[Step]:
        """Yield a conversation that stands in one value: its anchor, its other fields as an event, its messages."""
        talk = self.begin(fields, lists=[name for name, members in lists.items() if members])
        self.cutter.date = date_in(fields) or ""
        size = len(raw.body) // max(1, sum(map(len, lists.values())))
        first = next((m for members in lists.values() for m in members), None)
        yield from talk.start(raw, first)
        rest = FrozenDict({k: v for k, v in fields.items() if k not in lists and k not in talk.told})
        if rest:
            yield talk.aside(raw, rest)
        for name, members in lists.items():
            for value in members:
                yield from talk.message(raw, value, size=size, within=name or None)

    def beside(self, raw: Raw, value: Any, what: str) -> Iterator[Step]:
        """Yield what belongs to no conversation as an event."""
        yield Step(item=self.cutter.event(raw, what, value), beside=True)

    def unreadable(self, raw: Raw, why: str) -> Iterator[Step]:
        """Yield the parts of a line that cannot be read."""
        for item in self.cutter.unreadable(raw, why):
            yield Step(item=item, beside=True)


class Talk:
    """One conversation.

    A message's name holds what the conversation opens with, the message's digest, and how many equal messages came
    before; so it stays when the file grows, moves, is written anew with other spaces, or is edited elsewhere. What
    comes before the first user's message is named by the first message alone: it is all that is known by then.
    """

    def __init__(self, talks: Talks, fields: Mapping[str, Any], *, lists: Collection[str], raws: Mapping[str, Raw]) -> None:
        dialect = talks.dialect
        self._talks = talks
        self._fields = fields
        self._raws = raws
        self._voice = dialect.voice(fields, lists)
        self._opening = blake2b(codec.encode_sorted({k: fields[k] for k in dialect.names if k in fields}), digest_size=8)
        self._head = self._id = ""
        self._equal = Tally()
        self._number = self._items = 0
        self.told = frozenset(share.field for share in self._voice.opening())
        """The fields that are told as messages, at the beginning."""

    def start(self, raw: Raw, first: Any) -> Iterator[Step]:
        """Begin the conversation: its anchor, where the file holds several, and what its fields say."""
        self._talks.begun += 1
        self._number = self._talks.begun
        head = self._opening.copy()
        head.update(codec.encode_sorted(first))
        self._head = f"head:{_numbered(head.hexdigest(), self._talks.heads)}"
        if self._talks.several:
            yield self._anchor(raw)
        for i, share in enumerate(self._voice.opening()):
            digest = short_digest(codec.encode_sorted(share.value))
            yield self._step(self._raws.get(share.field, raw), f"{self._head}:opening/{i}:{digest.hex()}", digest, share, size=0)

    def message(self, raw: Raw, value: Any, *, size: int, within: str | None) -> Iterator[Step]:
        """Yield what becomes of a message."""
        if not self._head:
            yield from self.start(raw, value)
        digest = short_digest(codec.encode_sorted(value))
        name = self._name(value, digest)
        self._talks.cutter.date = date_in(value) or self._talks.cutter.date
        self._items += 1
        for i, share in enumerate(self._voice.shares(value, within=within)):
            self._talks.cutter.date = date_of(share.date) or self._talks.cutter.date
            part = digest if share.value is value else short_digest(codec.encode_sorted(share.value))
            yield self._step(raw, f"{name}/{i}" if i else name, part, share, size=0 if i else size)

    def aside(self, raw: Raw, fields: FrozenDict) -> Step:
        """Return the conversation's other fields as an event."""
        digest = short_digest(codec.encode_sorted(fields))
        cutter = self._talks.cutter
        piece = cutter.piece(raw, f"{self._head}:fields:{digest.hex()}", digest, fields, size=0)
        name = f"{cutter.origin.prefix}.conversation"
        return Step(item=Item(pieces=(piece,), make=lambda pieces: (cutter.origin.event(name, pieces[0].value, pieces),)), beside=True)

    def end(self, *, whole: Raw | None = None) -> Iterator[Step]:
        """Yield what a document says that holds no list: it is a message itself (`whole` says where), or its fields say all."""
        if whole is not None:
            yield from self.message(whole, FrozenDict(self._fields), size=0, within=None)
        elif not self._head and self.told:
            yield from self.start(next(self._raws[k] for k in self.told if k in self._raws), None)

    def _name(self, value: Any, digest: bytes) -> str:
        if not self._id:
            self._opening.update(digest)
            if self._talks.dialect.is_users(value):
                self._id = _numbered(self._opening.hexdigest(), self._talks.openings)
        part_of = self._id or self._head
        before = self._equal.count(key_of(part_of.encode() + digest))
        return f"{part_of}:{digest.hex()}:{before}" if before else f"{part_of}:{digest.hex()}"

    def _anchor(self, raw: Raw) -> Step:
        ids = {k: self._fields[k] for k in self._talks.dialect.names if k in self._fields}
        piece = self._talks.cutter.piece(raw, f"{self._head}:start", b"", size=0)
        told = begun_anew(f"conversation/{self._number}", {}, ids={"conversation": self._number, **({"fields": ids} if ids else {})})
        return Step(item=Item(pieces=(piece,), make=self._maker(lambda _: told)))

    def _step(self, raw: Raw, name: str, digest: bytes, share: Share, *, size: int) -> Step:
        piece = self._talks.cutter.piece(raw, name, digest, share.value, size=size)
        ids = {"conversation": self._number, **({"item": self._items} if self._items else {})}
        item = Item(pieces=(piece,), make=replace(self._maker(share.tell), ids=ids), second=share.second)
        return Step(item=item, joins=share.joins, beside=share.beside)

    def _maker(self, tell: Telling) -> Maker:
        origin = self._talks.cutter.origin
        return Maker(origin=origin, tell=tell, name=f"{origin.prefix}.message")


def _numbered(digest: str, tally: Tally) -> str:
    before = tally.count(key_of(digest))
    return f"{digest}.{before}" if before else digest
