"""Proving the entries of a store: each as it was written, at its place, and its columns as its meta and payload say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from playhead.entry import codec
from playhead.entry.entry import ANCHOR
from playhead.store.blobs import names_in, refs_in
from playhead.store.condition.flaws import Flaws
from playhead.store.parting import apart
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.rows.row import LAST_SEQ, is_sealed, text
from playhead.store.rules.tails import LONG_AGO

Full = tuple[Any, ...]
"""An entry with all that is proved: place, kind, ts, digest, meta, body, peak, uid, idem_key, anchor, mark, enc, search."""

_SEALED = 6


class Filing(NamedTuple):
    """Under what an entry is filed, by its uid, its idempotency key, and the name of the anchor that it is."""

    uid: Callable[[str], Any]
    key: Callable[[str], Any]
    anchor: Callable[[str], Any]


@dataclass(slots=True, kw_only=True)
class EntryCheck:
    """Proves the own entries of one tape number, in the order of their ids.

    `filing` says under what they are to be found, `has_blob` tells whether there is a blob; `before` is the id they stand behind, `is_marked`
    whether they are a sidecar's, `lowest` the mark of the one they stand behind.
    """

    tape: str
    before: int
    is_marked: bool
    flaws: Flaws
    filing: Filing
    has_blob: Callable[[str], bool]
    lowest: int = 0
    peak: int = LONG_AGO
    seen: int = 0

    def check(self, row: Full) -> None:
        """Take note of whatever is wrong with the next row."""
        id = row[0] & LAST_SEQ
        if id > self.before + 1:
            self.gone(id - 1)
        elif id <= self.before:
            self.flaws.entry(f"it stands among the tape's own entries, which begin behind {self.before}", tape=self.tape, id=id, severity="fault")
        self.before = max(self.before, id)
        self.seen += 1
        if is_sealed(row[:_SEALED]):
            faults = list(_column_faults(row, self.filing))
            self._check_blobs(row[4], row[5], id)
        else:
            self.flaws.entry("it is not as it was written", tape=self.tape, id=id)
            faults = []
        for what in (*faults, *self._peak_faults(row[2], row[6]), *self._mark_faults(row[10])):
            self.flaws.entry(what, tape=self.tape, id=id, severity="fault")

    def _check_blobs(self, meta: bytes, body: bytes, id: int) -> None:
        """Take note of blobs of the entry that are not there; whether those there are right is looked at with the blobs."""
        if not (names_in(meta) or names_in(body)):
            return
        with suppress(ValueError, RecursionError):
            payload, parts = apart(body)
            self.flaws.blobs(parts=parts, refs=refs_in(codec.decode(meta), payload), tape=self.tape, id=id, has=self.has_blob)

    def gone(self, last: int) -> None:
        """Take note that the next entries up to one are missing."""
        self.flaws.lost("missing, though others stand behind" if self.before + 1 == last else "missing, though others stand behind them", tape=self.tape, first=self.before + 1, last=last)
        self.before = last

    def _peak_faults(self, ts: Any, peak: Any) -> Iterator[str]:
        """Yield what is wrong with the newest date so far: it is the one before, or this entry's own."""
        if type(peak) is not int or peak not in (self.peak, max(self.peak, ts) if type(ts) is int else peak):
            yield f"the newest date up to it is told as {peak!r}"
        if type(peak) is int:
            self.peak = max(self.peak, peak)

    def _mark_faults(self, mark: Any) -> Iterator[str]:
        if not self.is_marked:
            if mark is not None:
                yield f"it has the mark {mark!r}, which only entries of sidecars have"
            return
        if type(mark) is not int or mark < 0:
            yield f"its mark is {mark!r}"
        elif mark < self.lowest:
            yield "its mark lies before that of the entry in front of it"
        else:
            self.lowest = mark


def _column_faults(row: Full, filing: Filing) -> Iterator[str]:
    """Yield what is wrong with the columns beside what an entry says; its digest covers only that."""
    _, kind, _, _, meta, body, _, uid, key, anchor, _, enc, search = row
    try:
        said, (payload, _) = codec.decode(meta), apart(body)
    except (ValueError, RecursionError) as exc:
        yield f"its meta or payload is no JSON ({exc})"
        return
    said, payload = said if isinstance(said, dict) else {}, payload if isinstance(payload, dict) else {}
    wanted_uid, wanted_key = said.get("uid"), said.get(IDEMPOTENCY_KEY)
    if not isinstance(wanted_uid, str) or uid != filing.uid(wanted_uid):
        yield f"it is filed under another uid than its own, {wanted_uid!r}"
    if key != (filing.key(wanted_key) if isinstance(wanted_key, str) else None):
        yield f"it is filed under another idempotency key than its own, {wanted_key!r}"
    if anchor != _anchor(kind, payload, filing):
        yield "it is filed under another anchor's name than its own" if text(kind) == ANCHOR else "it is filed as an anchor and is none"
    if enc != 0:
        yield f"its body is written in a way ({enc!r}) that this version does not know"
    if search is not None:
        yield "it has a text to search for, which this version never keeps"


def _anchor(kind: Any, payload: dict[str, Any], filing: Filing) -> Any:
    if text(kind) != ANCHOR:
        return None
    name = payload.get("name")
    return filing.anchor(name if isinstance(name, str) else "")
