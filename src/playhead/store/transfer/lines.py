"""A family as lines of JSON: its outline, then the entries of one strip after the other; the same content gives the same bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from typing import Any, BinaryIO

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import entry_from_json, entry_to_json
from playhead.errors import InvalidInput, UnreadableFile
from playhead.store.protocol import Head
from playhead.store.transfer.original import PAGE, Page
from playhead.store.transfer.outline import VERSION, Member, Outline, Strip, outline_in
from playhead.store.transfer.rebuilding import Source

LONGEST = 1 << 30
"""How long a line may be, in bytes."""

_PAGE_BYTES = 8 << 20


async def lines_of(source: Source) -> AsyncIterator[bytes]:
    """Yield the lines of a family, a page at a time."""
    yield b"".join(source.outline.lines())
    for member, strip in source.outline.strips():
        yield _title(member, strip)
        after = strip.first - 1
        while after < strip.last:
            page = await source.page(member, strip, after=after, upto=strip.last)
            yield b"".join(_line(entry, mark) for entry, mark in page)
            after += len(page)


async def digest_of(source: Source) -> str:
    """Return the digest of a family's lines, in hex."""
    digest = sha256()
    async for lines in lines_of(source):
        digest.update(lines)
    return digest.hexdigest()


class Written:
    """A family in a file: its outline, and its entries, read on from where the last page ended, or from where a strip begins.

    Raises UnreadableFile, with the line, at what is none of ours.
    """

    def __init__(self, path: str, outline: Outline, offsets: dict[tuple[str | None, str | None, int], tuple[int, int]]) -> None:
        self.outline = outline
        self._path = path
        self._begins, self._offsets = dict(offsets), offsets

    @classmethod
    def read(cls, path: str, file: BinaryIO) -> Written:
        """Look through an open file, from its front."""
        said, offsets = _opening(path, file), {}
        outline = _outline(path, file, said)
        for member, strip in outline.strips():
            if file.readline(LONGEST) != _title(member, strip):
                raise UnreadableFile(path, f"the entries of {member.name('the tape')} in generation {strip.generation} are not where they should be")
            offsets[(*member.key, strip.generation)] = strip.first, file.tell()
            for _ in range(strip.count):
                if not file.readline(LONGEST).endswith(b"\n"):
                    raise UnreadableFile(path, "it ends too early, or a line is too long; export the tape again")
        if file.read(1):
            raise UnreadableFile(path, "it goes on behind its last entry")
        return cls(path, outline, offsets)

    async def page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return the first entries of a strip behind an id, none behind `upto`."""
        from anyio import to_thread  # noqa: PLC0415 - the outline alone is read without it

        return await to_thread.run_sync(self._page, member, strip, after, min(upto, strip.last))

    def _page(self, member: Member, strip: Strip, after: int, upto: int) -> Page:
        key = (*member.key, strip.generation)
        next_id, offset = self._offsets[key]
        if next_id > after + 1:
            next_id, offset = self._begins[key]
        page: Page = []
        with open(self._path, "rb") as file:
            file.seek(offset)
            size = 0
            while next_id <= upto and len(page) < PAGE and size < _PAGE_BYTES:
                raw = file.readline(LONGEST)
                if next_id > after:
                    page.append(_entry(self._path, raw, next_id, is_marked=member.sidecar is not None))
                    size += len(raw)
                next_id += 1
            self._offsets[key] = next_id, file.tell()
        return page


def outline_at(path: str) -> list[bytes]:
    """Return the lines of the outline that a file begins with, as they stand there; none where it is no family's."""
    with open(path, "rb") as file:
        try:
            said = _opening(path, file)
            return [codec.encode_sorted(said) + b"\n", *(file.readline(LONGEST) for _ in range(int(said["members"])))]
        except (UnreadableFile, KeyError, TypeError, ValueError):
            return []


def _opening(path: str, file: BinaryIO) -> dict[str, Any]:
    said = _object(path, file.readline(LONGEST))
    if said.get("playhead") != "tape" or not isinstance(said.get("version"), int):
        raise UnreadableFile(path, "it is no tape that was exported with export_store()")
    if said["version"] > VERSION:
        raise UnreadableFile(path, f"a newer version wrote it (form {said['version']}, this one reads {VERSION}); upgrade playhead to read it")
    return said


def _outline(path: str, file: BinaryIO, said: dict[str, Any]) -> Outline:
    members = said.get("members")
    if not isinstance(members, int) or members < 1:
        raise UnreadableFile(path, "its first line does not say how many members it has")
    try:
        return outline_in(_lines(path, file, members))
    except InvalidInput as exc:
        raise UnreadableFile(path, exc.message) from exc


def _lines(path: str, file: BinaryIO, count: int) -> Iterator[dict[str, Any]]:
    return (_object(path, file.readline(LONGEST)) for _ in range(count))


def _object(path: str, raw: bytes) -> dict[str, Any]:
    try:
        said = codec.decode(raw)
    except (ValueError, RecursionError) as exc:
        raise UnreadableFile(path, "a line of it is no JSON") from exc
    if not isinstance(said, dict):
        raise UnreadableFile(path, "a line of it is no JSON object")
    return said


def _title(member: Member, strip: Strip) -> bytes:
    """Return the line that comes before the entries of a strip."""
    return codec.encode_sorted({"strip": {"branch": member.label, "sidecar": member.sidecar, "generation": strip.generation}}) + b"\n"


def _line(entry: TapeEntry, mark: Head | None) -> bytes:
    said = entry_to_json(entry)
    return codec.encode(said if mark is None else {**said, "mark": [*mark]}) + b"\n"


def _entry(path: str, raw: bytes, id: int, *, is_marked: bool) -> tuple[TapeEntry, Head | None]:
    said = _object(path, raw)
    try:
        mark = Head(*map(int, said.pop("mark"))) if is_marked else None
        entry = entry_from_json(said)
    except (InvalidInput, KeyError, TypeError, ValueError) as exc:
        raise UnreadableFile(path, f"entry {id} cannot be read: {exc}") from exc
    if entry.id != id or not entry.uid or not said.get("date"):
        raise UnreadableFile(path, f"entry {id} should stand where entry {entry.id} does, with a uid and a date")
    return entry, mark
