"""Where entries come from: the meta they carry, and the events for what is no message."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from playhead.entry.entry import EVENT, TapeEntry, canonical_date, format_date
from playhead.entry.frozen import FrozenDict, FrozenList, freeze, freeze_dict
from playhead.errors import InvalidInput
from playhead.importers.items import Branch, Piece, digest_of, second_key
from playhead.importers.lines import Raw
from playhead.store.protocol import IDEMPOTENCY_KEY

UNREADABLE = "import.unreadable"
WHY = "why"
"""The field of `meta.import` that says why a record is an event and not what its type promises."""

_JAVASCRIPT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
LATEST = 1e11
"""Times above this many seconds since 1970 (in the year 5138) are taken for milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The format and the name (no folder) of the file that entries are made from."""

    format: str
    source: str

    @property
    def prefix(self) -> str:
        """What the names of the format's events begin with."""
        return self.format.replace("-", "_")

    def meta(self, pieces: tuple[Piece, ...], *, branch: Branch = "main", ids: Mapping[str, Any] | None = None, **more: Any) -> FrozenDict:
        """Return the meta of an entry made from pieces; `ids` are the source's own, `more` stands beside `import`.

        All values are frozen ones. Entries off the main branch are kept, not shown.
        """
        fields: dict[str, Any] = {"format": self.format, "source": self.source, "line": pieces[0].line, "digest": digest_of(pieces)}
        if len(pieces) > 1:
            fields["records"] = FrozenList([p.id for p in pieces])
            fields["lines"] = FrozenList(sorted({p.line for p in pieces}))
        repeats = [r for p in pieces for r in p.repeats]
        if repeats:
            fields["repeats"] = FrozenList([FrozenDict({"at": r.at, "json": r.json}) for r in repeats])
        if branch != "main":
            fields["branch"] = branch
            more["context"] = False
        known = {k: v for k, v in more.items() if v is not None}
        return FrozenDict({IDEMPOTENCY_KEY: pieces[0].key, "import": FrozenDict({**fields, **(ids or {})}), **known})

    def event(self, name: str, data: Any, pieces: tuple[Piece, ...], *, branch: Branch = "main", ids: Mapping[str, Any] | None = None) -> TapeEntry:
        """Return what is no message as an event."""
        return TapeEntry(0, EVENT, FrozenDict({"name": name, "data": freeze(data)}), self.meta(pieces, branch=branch, ids=ids), pieces[0].date)

    def unreadable(self, raw: Raw, why: str, piece: Piece) -> TapeEntry:
        """Return a part of a line that could not be read as an event that keeps it byte for byte."""
        data: dict[str, Any] = {"line": raw.line, "why": why}
        if raw.part or not raw.ends:
            data |= {"part": raw.part, "last": raw.ends}
        try:
            data["text"] = raw.body.decode()
        except UnicodeDecodeError:
            data["base64"] = b64encode(raw.body).decode()
        return self.event(UNREADABLE, data, (piece,))


def with_keys(entries: tuple[TapeEntry, ...]) -> tuple[TapeEntry, ...]:
    """Return the entries made from one item, each with an idempotency key of its own."""
    if len(entries) < 2:
        return entries
    first, *others = entries
    key = first.meta[IDEMPOTENCY_KEY]
    keys = (second_key(key), *(f"{key}#{n}" for n in range(3, len(entries) + 1)))
    return (first, *(replace(e, meta=freeze_dict({**e.meta, IDEMPOTENCY_KEY: k}, path="meta")) for e, k in zip(others, keys, strict=False)))


def date_of(value: object) -> str | None:
    """Return the date a record tells, as ISO text or in seconds (or milliseconds) since 1970; None where it tells none."""
    try:
        if isinstance(value, str) and value:
            return _in_milliseconds(value) or canonical_date(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return format_date(datetime.fromtimestamp(value / 1000 if value > LATEST else value, UTC))
    except (InvalidInput, OverflowError, OSError, ValueError):
        return None
    return None


def _in_milliseconds(value: str) -> str | None:
    """Return a date in the spelling of JavaScript as entries write it, without formatting it anew."""
    if _JAVASCRIPT.fullmatch(value) is None:
        return None
    datetime.fromisoformat(value)
    return f"{value[:-1]}000+00:00"
