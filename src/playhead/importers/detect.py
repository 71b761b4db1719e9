"""Which format a file has, told by what is in it, and the reader for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers.certainty import Certainty
from playhead.importers.documents import DocumentReader
from playhead.importers.formats import FORMATS
from playhead.importers.items import Source
from playhead.importers.lines import TOO_DEEP, Fault, LineReader, Raw, decode_value

AUTO = "auto"
"""The name that looks at the file."""

LOOKED_AT = 200
"""How many lines, or elements of a document, are looked at for a format's marks."""

SOUND = 2
"""A file whose first line is no JSON is JSON Lines where so many times as many of the next lines are objects as are none."""

STRAY = 10
"""A file is of the format that has so many times the marks of any other: a stray line makes no doubt."""

_LISTS = frozenset[str]().union(*(format.lists for format in FORMATS.values()))
_SIGNATURES = (
    (b"\xff\xfe", "it is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16 text; save it as UTF-8"),
    (b"\x1f\x8b", "it is gzip-compressed; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it is zstd-compressed; unpack it first"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"SQLite format 3\0", "it is a SQLite database, no transcript; read it with the program that wrote it, and give what that returns to import_items"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file that is open for reading: the part of it that was there when it was opened, its path and its name."""

    file: BinaryIO
    size: int
    path: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Whether a file is one JSON document, how many marks of which formats it bears, and else which ones it may have.

    `fault` says what could not be read first, and where; None where all that was looked at could be.
    """

    as_document: bool
    fault: str | None
    marks: Mapping[str, int]
    maybe: Collection[str]

    @property
    def says_something(self) -> bool:
        """Whether anything in it tells of a format."""
        return bool(self.marks or self.maybe)


def checked_format(format: str) -> str:
    """Return the name of a format. Raises InvalidInput with the known names for any other."""
    if format != AUTO and format not in FORMATS:
        raise InvalidInput(f"Unknown format {format!r}; it is one of {', '.join((AUTO, *FORMATS))}.", format=str(format))
    return format


def source_of(opened: Opened, *, format: str) -> Source:
    """Return the reader for a file. Raises UnreadableFile for an empty file, and for one of no known format or of several."""
    _check_text(opened)
    found = _found(opened)
    if format == AUTO:
        format = _told(found, opened)
    chosen = FORMATS[format]
    raws = DocumentReader(opened.file, size=opened.size, lists=chosen.lists) if found.as_document else LineReader(opened.file, size=opened.size)
    return chosen.reader(raws, path=opened.path, source=opened.name)


def _check_text(opened: Opened) -> None:
    opened.file.seek(0)
    head = opened.file.read(min(4096, opened.size))
    for signature, why in _SIGNATURES:
        if head.startswith(signature):
            raise UnreadableFile(opened.path, why)
    if not opened.size or not next(iter(LineReader(opened.file, size=opened.size)), None):
        raise UnreadableFile(opened.path, "it is empty")


def _told(found: _Found, opened: Opened) -> str:
    """Return the one format of a file."""
    path = opened.path
    if not found.marks:
        known = next((name for name in FORMATS if name in found.maybe), None)
        if known is None:
            raise UnreadableFile(path, _too_deep(opened) or f"it is in none of the formats {', '.join(FORMATS)}{_because(found, opened)}; name one with format= if it is")
        return known
    covered = frozenset[str]().union(*(FORMATS[name].covers for name in found.marks))
    marks = {name: found.marks[name] for name in FORMATS if name in found.marks and name not in covered}
    formats = [name for name, count in marks.items() if count * STRAY > max(marks.values())]
    if len(formats) > 1:
        raise UnreadableFile(path, f"it bears marks of several formats, {' and '.join(formats)}; name the one to read it in with format=")
    return formats[0]


def _because(found: _Found, opened: Opened) -> str:
    """Return what could not be read of a file that tells of no format, where it begins like JSON."""
    first = next(iter(LineReader(opened.file, size=opened.size)), None)
    return f" ({found.fault})" if found.fault and first is not None and first.body.startswith((b"{", b"[")) else ""


def _too_deep(opened: Opened) -> str | None:
    """Return that the file begins with a value that nests too deep, where it does: what is in it cannot be told then."""
    first = next(iter(LineReader(opened.file, size=opened.size)), None)
    value = decode_value(first.body) if first is not None and first.fault is None else None
    return f"it is {TOO_DEEP.why}" if value is TOO_DEEP else None


def _found(opened: Opened) -> _Found:
    """Return what a file looks like.

    A first line that is a JSON object of its own, or a list with another line behind it, makes it JSON Lines; so do
    lines that are objects behind a first one that cannot be read. Otherwise a document's elements are asked before its
    lines: a line of a document may look like a record.
    """
    lines = LineReader(opened.file, size=opened.size)
    whole = _whole(lines)
    first, second = next(whole, None), next(whole, None)
    value = _value(first) if first is not None else None
    if isinstance(value, dict) or (isinstance(value, list) and second is not None):
        return _looked_at(lines, as_document=False)
    if value is None and second is not None and _are_objects(chain([second], islice(whole, LOOKED_AT))):
        return _looked_at(lines, as_document=False)
    found = _looked_at(DocumentReader(opened.file, size=opened.size, lists=_LISTS), as_document=True)
    if found.says_something:
        return found
    among_lines = _looked_at(lines, as_document=False)
    return found if found.fault is None and not among_lines.says_something else among_lines


def _whole(raws: Iterable[Raw]) -> Iterator[Raw]:
    """Yield one Raw for each line or element, also where it comes in parts."""
    return (raw for raw in raws if not raw.part)


def _are_objects(lines: Iterable[Raw]) -> bool:
    """Tell whether most lines are objects by themselves; of a document hardly one is."""
    counts = Counter(isinstance(_value(line), dict) for line in lines)
    return counts[True] > 0 and counts[True] >= SOUND * counts[False]


def _looked_at(raws: Iterable[Raw], *, as_document: bool) -> _Found:
    """Judge the first values of a file, and the members that stand beside a document's lists as one value."""
    marks: Counter[str] = Counter()
    maybe: set[str] = set()
    members: dict[str, Any] = {}
    fault: str | None = None
    for raw in islice(_whole(raws), LOOKED_AT):
        value = _read(raw)
        if isinstance(value, Fault):
            fault = fault or f"line {raw.line}: {value.why}"
        elif raw.member is not None:
            members[raw.member] = value
        else:
            _judge(value, marks, maybe)
    _judge(members, marks, maybe)
    return _Found(as_document=as_document, fault=fault, marks=marks, maybe=maybe)


def _judge(value: Any, marks: Counter[str], maybe: set[str]) -> None:
    for format in FORMATS.values():
        certainty = format.judge(value)
        if certainty is Certainty.SURE:
            marks[format.name] += 1
        elif certainty is Certainty.MAYBE:
            maybe.add(format.name)


def _read(raw: Raw) -> object:
    """Return the value of a line or an element, or why it has none."""
    return decode_value(raw.body) if raw.fault is None else Fault(raw.fault)


def _value(raw: Raw) -> object:
    value = _read(raw)
    return None if isinstance(value, Fault) else value
