"""Tools with which a model reads what was spilled: a page, some lines, or where a text stands; each answer is bounded."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import Annotated

from playhead.agent import chunks
from playhead.agent.chunks import CHUNK, Chunk, Incomplete, Spilled, boundary
from playhead.agent.tools import Tool, ToolContext, tool
from playhead.tape.tape import Tape

MOST_CHUNKS = 4
"""How many chunks a page has at most."""

MOST_LISTED = 50
"""How many handles an answer lists at most."""

LONGEST_PATTERN = 1_000
"""How many characters a pattern has at most, which is less than a chunk holds."""

MATCHES = 50
"""After how many matches an answer ends, with the chunk it is in."""

IN_CHUNK = 10
"""How many matches in one chunk are shown."""

AROUND = 80
"""How many characters before and behind a match are shown."""

OWN = frozenset({"spill.read", "spill_read", "spill.list", "spill_list"})
"""The tools whose own results are never spilled."""

UNAVAILABLE = "spill sidecar unavailable in this context."


def spill_tools(sidecar: str = "spill") -> tuple[Tool, ...]:
    """Return the tools with which a model reads what was spilled on the sidecar of that name: spill.read, spill.list."""

    async def read(
        handle: Annotated[str, "the handle that the preview names"],
        cursor: Annotated[int, "the chunk to begin with, from 0; from_end counts from the last one"] = 0,
        count: Annotated[int, "how many chunks, at most 4"] = 1,
        *,
        from_end: Annotated[bool, "count chunks from the end"] = False,
        line: Annotated[int | None, "read lines instead, beginning with this one, from 1"] = None,
        lines: Annotated[int, "how many lines"] = 100,
        pattern: Annotated[str | None, "search for this text instead, word for word, from the chunk `cursor` on"] = None,
        context: ToolContext,
    ) -> str:
        """Read a tool's result that was too large to show: by chunks, by lines, or search it for a text."""
        if wrong := _wrong(cursor=cursor, count=count, line=line, lines=lines, pattern=pattern):
            return wrong
        if context.tape.get_sidecar(sidecar) is None:
            return UNAVAILABLE
        side = context.tape.sidecar(sidecar)
        found = await chunks.manifest(side, handle)
        if found is None:
            return f"[no spilled tool result for handle '{handle}']"
        try:
            if pattern is not None:
                return await _matches(side, found, pattern, first=cursor)
            if line is not None:
                return await _lines(side, found, line, lines)
            return await _page(side, found, cursor, min(count, MOST_CHUNKS), from_end=from_end)
        except Incomplete as exc:
            return f"[incomplete spilled tool result: {exc}]"

    async def list_(
        cursor: Annotated[int, "how many of the newest to pass over"] = 0,
        count: Annotated[int, "how many, at most 50"] = 20,
        *,
        context: ToolContext,
    ) -> str:
        """List the results of tools that were too large to show, the newest first: handle, tool, size, date."""
        if wrong := _wrong(cursor=cursor, count=count):
            return wrong
        if context.tape.get_sidecar(sidecar) is None:
            return UNAVAILABLE
        found = await chunks.manifests(context.tape.sidecar(sidecar))
        shown = found[cursor : cursor + min(count, MOST_LISTED)]
        rest = [f"next_cursor: {cursor + len(shown)}"] if cursor + len(shown) < len(found) else []
        return "\n".join([f"{len(found):,} spilled tool result{'' if len(found) == 1 else 's'}", *map(_listed, shown), *rest])

    make = partial(tool, context=True)
    return make(name="spill.read")(read), make(name="spill.list")(list_)


def _listed(one: Spilled) -> str:
    return f"- {one.handle}  {one.tool}  {one.bytes:,} bytes, {one.lines:,} line{'' if one.lines == 1 else 's'}  {one.date}"


def _wrong(*, cursor: int, count: int, line: int | None = None, lines: int = 1, pattern: str | None = None) -> str:
    """Return what is wrong with the arguments, "" where nothing is."""
    least = {"cursor": (cursor, 0), "count": (count, 1), "line": (1 if line is None else line, 1), "lines": (lines, 1)}
    told = [f"`{name}` must be >= {lowest}." for name, (value, lowest) in least.items() if value < lowest]
    if pattern is not None and not 0 < len(pattern) <= LONGEST_PATTERN:
        told.append(f"`pattern` must have 1 to {LONGEST_PATTERN} characters.")
    return " ".join(told)


def _told(found: Spilled, *facts: str, content: str) -> str:
    return "\n".join([f"[{found}]", *facts, "content:", content])


def _ending(name: str, following: int | None) -> tuple[str, str]:
    return f"{name}: {'none' if following is None else following}", f"complete: {'true' if following is None else 'false'}"


async def _page(side: Tape, found: Spilled, cursor: int, count: int, *, from_end: bool) -> str:
    """Return chunks as they stand in the text; following pages joined are the text."""
    last = min(cursor + count, found.chunks)
    if cursor >= found.chunks:
        return _told(found, "chunks: none", *_ending("next_cursor", None), content="")
    first, behind = (found.chunks - last, found.chunks - cursor) if from_end else (cursor, last)
    text = "".join([part.text async for part in chunks.run(side, found, first, behind)])
    return _told(found, f"chunks: {first}-{behind - 1}", *_ending("next_cursor", last if last < found.chunks else None), content=text)


async def _lines(side: Tape, found: Spilled, line: int, count: int) -> str:
    """Return whole lines, as many as fit a chunk's size; of one that is longer its beginning, and the chunk in which it goes on."""
    if line > found.lines:
        return _told(found, "lines: none", *_ending("next_line", None), content="")
    at = await _chunk_before(side, found, line)
    pieces = [Chunk(at.index, line, at.text.split("\n", line - at.line)[-1])]
    while _is_short(pieces, count) and pieces[-1].index + 1 < found.chunks:
        pieces.append(await chunks.chunk(side, found, pieces[-1].index + 1))
    taken = _fitting(_first_lines("".join(piece.text for piece in pieces), count))
    following = line + max(chunks.line_count(taken), 1)
    if not taken.endswith("\n") and len(taken) < sum(len(piece.text) for piece in pieces):
        onward = next(piece.index for number, piece in enumerate(pieces) if sum(len(before.text) for before in pieces[: number + 1]) > len(taken))
        return _told(found, f"lines: {line}-{line}, cut: it goes on in chunk {onward}", f"next_cursor: {onward}", *_next_line(following, found), content=taken)
    return _told(found, f"lines: {line}-{following - 1}", *_next_line(following, found), content=taken)


def _next_line(following: int, found: Spilled) -> tuple[str, str]:
    return _ending("next_line", following if following <= found.lines else None)


async def _chunk_before(side: Tape, found: Spilled, line: int) -> Chunk:
    """Return the last chunk that begins in an earlier line, or the first one: in it, or right behind it, the line begins."""
    low, high, best = 1, found.chunks - 1, await chunks.chunk(side, found, 0)
    while low <= high:
        middle = (low + high) // 2
        looked_at = await chunks.chunk(side, found, middle)
        if looked_at.line < line:
            low, best = middle + 1, looked_at
        else:
            high = middle - 1
    return best


def _is_short(pieces: list[Chunk], count: int) -> bool:
    """Return whether more chunks are needed for so many lines, or for as much as an answer holds."""
    return sum(piece.text.count("\n") for piece in pieces) < count and sum(len(piece.text) for piece in pieces) <= CHUNK


def _first_lines(text: str, count: int) -> str:
    """Return the first lines of a text, with their ends."""
    end = -1
    for _ in range(count):
        end = text.find("\n", end + 1)
        if end < 0:
            return text
    return text[: end + 1]


def _fitting(text: str) -> str:
    """Return the whole lines of a text that fit a chunk's size; where the first is longer, what of it does."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= CHUNK:
        return text
    head = raw[: boundary(raw, CHUNK)].decode("utf-8", "surrogatepass")
    return head[: head.rfind("\n") + 1] or head


async def _matches(side: Tape, found: Spilled, pattern: str, *, first: int) -> str:
    """Return where a text stands, from a chunk on to the end of the chunk with which there are enough matches.

    A match counts for the chunk in which it ends, so none is missed or told twice where it lies across two.
    """
    shown: list[str] = []
    number, index, before = 0, first, ""
    if 0 < first < found.chunks:
        before = (await chunks.chunk(side, found, first - 1)).text
    async with aclosing(chunks.run(side, found, first)) as parts:
        async for one in parts:
            told = _told_matches(before, one, pattern)
            number += len(told)
            shown += told[:IN_CHUNK] + ([f"({len(told) - IN_CHUNK} more in chunk {index})"] if len(told) > IN_CHUNK else [])
            before, index = one.text, index + 1
            if number >= MATCHES:
                break
    where = f"chunks {first}-{index - 1}" if index > first else "no chunks"
    return _told(found, f"matches: {number} in {where}", *_ending("next_cursor", index if index < found.chunks else None), content="\n".join(shown))


def _told_matches(before: str, one: Chunk, pattern: str) -> list[str]:
    """Return a line for each match that ends in a chunk: in which line it begins, and what stands around it."""
    carried = before[-(AROUND + len(pattern)) :]
    text, end = carried + one.text, len(carried)
    line = one.line - carried.count("\n")
    told, counted = [], 0
    at = text.find(pattern, max(0, end - len(pattern) + 1))
    while at >= 0:
        line, counted = line + text.count("\n", counted, at), at
        told.append(f"line {line}, chunk {one.index}: {_around(text, at, at + len(pattern))}")
        at = text.find(pattern, at + len(pattern))
    return told


def _around(text: str, start: int, end: int) -> str:
    """Return a match with what stands around it in its line, as one line."""
    left = max(text.rfind("\n", 0, start) + 1, start - AROUND)
    newline = text.find("\n", end)
    right = min(len(text) if newline < 0 else newline, end + AROUND)
    return text[left:right].replace("\n", "\\n")
