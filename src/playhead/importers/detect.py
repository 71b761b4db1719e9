"""Which format a file has, told by what is in it, and the reader for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers import claude_code, openai_chat
from playhead.importers.claude_code import ClaudeCode
from playhead.importers.claude_records import FORMAT as CLAUDE_CODE
from playhead.importers.documents import DocumentReader
from playhead.importers.items import Source
from playhead.importers.lines import Fault, LineReader, Raw, decode_value
from playhead.importers.openai_chat import FORMAT as OPENAI_CHAT
from playhead.importers.openai_chat import OpenAIChat

AUTO = "auto"
FORMATS = (CLAUDE_CODE, OPENAI_CHAT)
"""The formats that can be named; `auto` looks at the file."""

LOOKED_AT = 200
"""How many lines, or elements of a document, are looked at for a format's marks."""

_LISTS = claude_code.LISTS.union(openai_chat.LISTS)
_SIGNATURES = (
    (b"\xff\xfe", "it is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16 text; save it as UTF-8"),
    (b"\x1f\x8b", "it is gzip-compressed; unpack it first"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"SQLite format 3\0", "it is a SQLite database, no transcript"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file that is open for reading: the part of it that was there when it was opened, its path and its name."""

    file: BinaryIO
    size: int
    path: str
    name: str


def checked_format(format: str) -> str:
    """Return the name of a format. Raises InvalidInput with the known names for any other."""
    if format not in (AUTO, *FORMATS):
        raise InvalidInput(f"Unknown format {format!r}; it is one of {', '.join((AUTO, *FORMATS))}.", format=str(format))
    return format


def source_of(opened: Opened, *, format: str) -> Source:
    """Return the reader for a file. Raises UnreadableFile for an empty file, and for one of no known format."""
    _check_text(opened)
    as_document, found = _found(opened)
    if format == AUTO and found is None:
        raise UnreadableFile(opened.path, f"it is in none of the formats {', '.join(FORMATS)}; name one with format= if it is")
    reader: type[ClaudeCode | OpenAIChat] = ClaudeCode if (found if format == AUTO else format) == CLAUDE_CODE else OpenAIChat
    raws = DocumentReader(opened.file, size=opened.size, lists=_LISTS) if as_document else LineReader(opened.file, size=opened.size)
    return reader(raws, path=opened.path, source=opened.name)


def _check_text(opened: Opened) -> None:
    opened.file.seek(0)
    head = opened.file.read(min(4096, opened.size))
    for signature, why in _SIGNATURES:
        if head.startswith(signature):
            raise UnreadableFile(opened.path, why)
    if not opened.size or not next(iter(LineReader(opened.file, size=opened.size)), None):
        raise UnreadableFile(opened.path, "it is empty")


def _found(opened: Opened) -> tuple[bool, str | None]:
    """Return whether the file is one JSON document, and its format; None where nothing in it tells.

    A first line that is a JSON object of its own makes it JSON Lines. Otherwise a document's elements are asked before
    its lines: a line of a document may look like a record.
    """
    lines = LineReader(opened.file, size=opened.size)
    first = next(iter(lines))
    if isinstance(_value(first), dict):
        return False, _format(lines)
    document = DocumentReader(opened.file, size=opened.size, lists=_LISTS)
    found = _format(document)
    return (True, found) if found is not None else (False, _format(lines))


def _format(raws: Iterable[Raw]) -> str | None:
    """Return the format of the first value that is of one."""
    for raw in islice(raws, LOOKED_AT):
        value = None if raw.member is not None else _value(raw)
        if claude_code.is_record(value):
            return CLAUDE_CODE
        if openai_chat.is_message(value) or openai_chat.messages_of(value) is not None:
            return OPENAI_CHAT
    return None


def _value(raw: Raw) -> object:
    value = decode_value(raw.body) if raw.fault is None else None
    return None if isinstance(value, Fault) else value
