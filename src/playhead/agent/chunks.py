"""Long texts on a sidecar's tape, cut into chunks: how they are written, and how a chunk is found again.

Each chunk is an anchor `spill/HANDLE/chunk/I` and a tool_result; an anchor `spill/HANDLE/manifest` and an event `spill.manifest`
close the text: without them it is not whole.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from playhead.entry.entry import EVENT, TOOL_RESULT, TapeEntry, event_name
from playhead.errors import AnchorNotFound, NoAnchors
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.tape.tape import Tape

CHUNK = 16_384
"""How many bytes of UTF-8 a chunk has at most."""

MANIFEST = "spill.manifest"
HANDLE, INDEX, LINE = "spill_handle", "spill_chunk", "spill_line"
"""What the meta of a chunk says: which text it is of, which chunk it is, and in which line it begins, from 1."""

_BATCH, _PAGE = 128, 32
_CONTINUES, _BEGINS = 0x80, 0xC0


class Incomplete(Exception):
    """A chunk of a text is not there, or not the one it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """A tool's result that stands on a sidecar: under which handle, from which tool, how large, since when.

    `entry` is the id of the event there that closes it.
    """

    handle: str
    tool: str
    bytes: int
    chars: int
    lines: int
    chunks: int
    date: str = ""
    entry: int = 0

    def __str__(self) -> str:
        return f"spilled tool result {self.handle}: {self.bytes:,} bytes in {self.chunks:,} chunk{'' if self.chunks == 1 else 's'}, {self.lines:,} line{'' if self.lines == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text: which one it is, in which line of the text it begins, from 1, and what it says."""

    index: int
    line: int
    text: str


def cut(text: str) -> Iterator[Chunk]:
    """Yield the chunks of a text; no character is cut in two."""
    raw = memoryview(text.encode("utf-8", "surrogatepass"))
    start, line, index = 0, 1, 0
    while start < len(raw):
        end = boundary(raw, start + CHUNK)
        part = str(raw[start:end], "utf-8", "surrogatepass")
        yield Chunk(index, line, part)
        start, line, index = end, line + part.count("\n"), index + 1


def boundary(raw: memoryview | bytes, end: int) -> int:
    """Return the last place up to `end` where a character of UTF-8 ends."""
    if end >= len(raw):
        return len(raw)
    while raw[end] & _BEGINS == _CONTINUES:
        end -= 1
    return end


def line_count(text: str) -> int:
    """Return how many lines a text has; a newline at its end begins no other."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


async def write(side: Tape, text: str, *, handle: str, tool: str) -> Spilled:
    """Keep a text on a sidecar's tape, a batch of chunks at a time, and return what is known of it. Raises what the store raises."""
    size, count = len(text.encode("utf-8", "surrogatepass")), 0
    parts = cut(text)
    while len(batch := list(islice(parts, _BATCH))) == _BATCH:
        await side.append_many([entry for chunk in batch for entry in _entries(chunk, handle)])
        count += _BATCH
    facts = {"handle": handle, "chunks": count + len(batch), "bytes": size, "chars": len(text), "lines": line_count(text), "tool": tool}
    anchor = TapeEntry.anchor(_anchor(handle), None, **{HANDLE: handle})
    event = TapeEntry.event(MANIFEST, facts, **{HANDLE: handle, IDEMPOTENCY_KEY: _anchor(handle)})
    stored = await side.append_many([*(entry for chunk in batch for entry in _entries(chunk, handle)), anchor, event])
    return _spilled(facts, stored[-1])


async def manifest(side: Tape, handle: str) -> Spilled | None:
    """Return what is known of a text, None where none of that handle is whole."""
    key = _anchor(handle)
    entry = (await side.store.find(side.name, keys=[key])).get(key)
    if entry is None or event_name(entry) != MANIFEST or entry.meta.get(HANDLE) != handle:
        return None
    return _spilled(entry.payload["data"], entry)


async def manifests(side: Tape) -> list[Spilled]:
    """Return what is known of all texts that are whole, the newest first."""
    return [_spilled(entry.payload["data"], entry) async for entry in side.query().kinds(EVENT).newest_first() if event_name(entry) == MANIFEST]


async def run(side: Tape, found: Spilled, first: int = 0, behind: int | None = None) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of a text in order, from one up to another. Raises Incomplete where one is not there."""
    behind = found.chunks if behind is None else behind
    for start in range(first, behind, _PAGE):
        for one in await _page(side, found, start, min(_PAGE, behind - start)):
            yield one


async def chunk(side: Tape, found: Spilled, index: int) -> Chunk:
    """Return one chunk of a text. Raises Incomplete."""
    return (await _page(side, found, index, 1))[0]


async def _page(side: Tape, found: Spilled, first: int, count: int) -> list[Chunk]:
    """Return some chunks: from where the first one stands if nobody else wrote meanwhile, else from behind its anchor."""
    near = await _results(side, found.entry - 2 * (found.chunks - first), count)
    if not near or not _is_chunk(near[0], found.handle, first):
        entry = await _behind(side, _anchor(found.handle, first), TOOL_RESULT)
        near = [] if entry is None else await _results(side, entry.id, count)
    return [await _chunk(side, found.handle, first + number, near[number] if number < len(near) else None) for number in range(count)]


async def _results(side: Tape, id: int, count: int) -> list[TapeEntry]:
    """Return so many results, the first of them at an id or behind it."""
    found: list[TapeEntry] = await side.query().after(max(id - 1, 0)).kinds(TOOL_RESULT).limit(count).all()
    return found


async def _chunk(side: Tape, handle: str, index: int, near: TapeEntry | None) -> Chunk:
    """Return a chunk: an entry that is it, else the one behind its anchor."""
    entry = near if _is_chunk(near, handle, index) else await _behind(side, _anchor(handle, index), TOOL_RESULT)
    if entry is None or not _is_chunk(entry, handle, index):
        raise Incomplete(f"chunk {index} of {handle} is missing")
    line, results = entry.meta.get(LINE), entry.payload.get("results")
    if not isinstance(line, int) or not isinstance(results, list) or len(results) != 1 or not isinstance(results[0], str):
        raise Incomplete(f"chunk {index} of {handle} cannot be read")
    return Chunk(index, line, results[0])


def _is_chunk(entry: TapeEntry | None, handle: str, index: int) -> bool:
    return entry is not None and entry.meta.get(HANDLE) == handle and entry.meta.get(INDEX) == index


def _anchor(handle: str, index: int | None = None) -> str:
    return f"spill/{handle}/manifest" if index is None else f"spill/{handle}/chunk/{index}"


def _entries(chunk: Chunk, handle: str) -> tuple[TapeEntry, TapeEntry]:
    meta = {HANDLE: handle, INDEX: chunk.index, LINE: chunk.line}
    return TapeEntry.anchor(_anchor(handle, chunk.index), None, **meta), TapeEntry.tool_result([chunk.text], **meta)


async def _behind(side: Tape, anchor: str, kind: str) -> TapeEntry | None:
    """Return the first entry of a kind behind an anchor, None where there is none."""
    try:
        found = await side.query().after_anchor(anchor).kinds(kind).limit(1).all()
    except (AnchorNotFound, NoAnchors):
        return None
    return found[0] if found else None


def _spilled(facts: Mapping[str, Any], closed_by: TapeEntry) -> Spilled:
    return Spilled(**{name: facts[name] for name in ("handle", "tool", "bytes", "chars", "lines", "chunks")}, date=closed_by.date, entry=closed_by.id)
