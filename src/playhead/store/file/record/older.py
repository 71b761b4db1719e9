"""Lines without checksums, as other programs wrote them: read as they are, and appended to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from playhead.entry import codec
from playhead.entry.entry import TapeEntry, canonical_date, format_date
from playhead.errors import InvalidDate, PlayheadError
from playhead.store.file.findings import Finding
from playhead.store.file.place import damaged
from playhead.store.file.record.lines import BadLine, Line, begins_like_a_line, is_anchor, is_checked
from playhead.store.file.record.snapshot import Snapshot

_MARK = b"\xef\xbb\xbf"
_AROUND = b" \t\r\0"
_SPELLED_OUT = 20
_EPOCH = format_date(datetime.fromtimestamp(0, UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderPart:
    """The front of a file that another program wrote: where its entries stand, in order, and their ids.

    The ids are those of the lines where they rise, else the entries are counted. `stop` is where the part ends,
    `anchors` are places in `offsets`, `findings` say what was passed over.
    """

    file: Snapshot
    stop: int
    offsets: list[int]
    ids: list[int]
    anchors: list[int]
    findings: tuple[Finding, ...]

    @property
    def last(self) -> int:
        """The highest id, 0 where there is no entry."""
        return self.ids[-1] if self.ids else 0

    def up_to(self, id: int) -> OlderPart:
        """Return what stands up to an entry."""
        count = bisect_right(self.ids, id)
        stop = self.offsets[count] if count < len(self.offsets) else self.stop
        return replace(self, stop=stop, offsets=self.offsets[:count], ids=self.ids[:count], anchors=[place for place in self.anchors if place < count])

    def at(self, place: int) -> tuple[int, Line]:
        """Return an entry's line, and where it begins in the file."""
        offset = self.offsets[place]
        for _, raw in self.file.forwards(offset, self.stop):
            return offset, parsed(raw, id=self.ids[place])
        return offset, parsed(self.file.read(offset, self.stop), id=self.ids[place])


def read_older(file: Snapshot, stop: int) -> OlderPart:
    """Look through the lines before `stop`, or the end of the file where what stands behind is a whole entry without a newline.

    Lines that are no entries are passed over, which the findings say. Raises StoreDamaged where lines with and without checksums are mixed.
    """
    offsets: list[int] = []
    ids: list[int] = []
    anchors: list[int] = []
    findings: list[Finding] = []
    for number, (offset, raw) in enumerate(_unchecked(file, stop), 1):
        try:
            line = parsed(raw)
        except BadLine as exc:
            if offset == stop and begins_like_a_line(raw):
                break
            if raw.strip():
                findings.append(Finding(path=file.path, what=f"a line that is no entry was passed over: {exc}", offset=offset, size=len(raw), line=number))
        else:
            if is_anchor(line.kind):
                anchors.append(len(offsets))
            offsets.append(offset)
            ids.append(line.id)
        stop = max(stop, offset + len(raw))
    if ids and (ids[0] < 1 or any(one >= other for one, other in pairwise(ids))):
        findings.append(Finding(path=file.path, what="the ids of its older lines do not rise, so these entries are counted from 1", offset=0, size=stop))
        ids = list(range(1, len(ids) + 1))
    return OlderPart(file=file, stop=stop, offsets=offsets, ids=ids, anchors=anchors, findings=_few(findings, file.path))


def parsed(raw: bytes, *, id: int | None = None) -> Line:
    """Return the line of an entry as other programs write them: id, kind, payload, meta, and a date or a timestamp in seconds, else 1970.

    Raises BadLine where it is none.
    """
    try:
        found = codec.decode(raw.removeprefix(_MARK).strip(_AROUND))
    except (ValueError, RecursionError) as exc:
        raise BadLine("it is no JSON") from exc
    if not isinstance(found, dict):
        raise BadLine("it is no JSON object")
    number, kind, payload, meta = (found.get(name) for name in ("id", "kind", "payload", "meta"))
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(kind, str) or not isinstance(payload, dict):
        raise BadLine("it lacks a whole number as id, a text as kind or an object as payload")
    try:
        entry = TapeEntry(number if id is None else id, kind, payload, meta if isinstance(meta, dict) else {}, _date(found))  # type: ignore[arg-type]
    except PlayheadError as exc:
        raise BadLine(exc.message) from exc
    return Line(entry.id, entry.kind, msgspec.Raw(codec.encode(entry.payload)), msgspec.Raw(codec.encode(entry.meta)), entry.date)


def _date(found: dict[str, Any]) -> str:
    date, seconds = found.get("date"), found.get("timestamp")
    try:
        if isinstance(date, str) and date:
            return canonical_date(date)
        if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
            return format_date(datetime.fromtimestamp(seconds, UTC))
    except (InvalidDate, ValueError, OverflowError, OSError):
        return _EPOCH
    return _EPOCH


def _unchecked(file: Snapshot, stop: int) -> Iterator[tuple[int, bytes]]:
    """Yield each line and where it begins; what no newline ends comes last."""
    checked = None
    for offset, raw in file.forwards(0, stop):
        if is_checked(raw):
            checked = offset
        elif checked is not None:
            raise damaged(file.path, offset, "no checksum stands at its end")
        else:
            yield offset, raw
    if checked is not None:
        raise damaged(file.path, checked, "a line with a checksum stands behind lines without one")
    if stop < file.size and not is_checked(rest := file.read(stop, file.size)):
        yield stop, rest


def _few(findings: list[Finding], path: str) -> tuple[Finding, ...]:
    """Return findings few enough to be read: those of a file full of other things are summed up."""
    if len(findings) <= _SPELLED_OUT:
        return tuple(findings)
    rest = findings[_SPELLED_OUT:]
    more = Finding(path=path, what=f"{len(rest):,} more lines that are no entries were passed over", offset=rest[0].offset, size=sum(found.size for found in rest))
    return (*findings[:_SPELLED_OUT], more)
