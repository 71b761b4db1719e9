"""Spill: a tool's result that is too large for a prompt goes to a sidecar, and a preview with a handle takes its place."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

from playhead import clock
from playhead.agent import chunks
from playhead.agent.chunks import HANDLE, Incomplete, Spilled
from playhead.agent.spill_tools import OWN, spill_tools
from playhead.agent.tools import Tool, ToolContext
from playhead.entry import codec
from playhead.entry.entry import TapeEntry, format_date, stamped
from playhead.entry.frozen import freeze
from playhead.entry.message import Media, ProviderItem, Text, ToolResult
from playhead.errors import Conflict, InvalidInput, NotFound, PlayheadError, StoreDamaged
from playhead.store.archiving.age import ago
from playhead.store.change import Append, Reset
from playhead.tape.sidecar import TapeSidecar
from playhead.tape.tape import Tape
from playhead.wire import media as media_forms

THRESHOLD = 4_096
"""From how many tokens on a result is spilled, where nobody says."""

CHARACTERS = 4
"""How many characters are taken for a token."""

SHOWN = 300
"""How many characters of its beginning, and of its end, a preview shows."""

VARIABLE = "PLAYHEAD_SPILL_THRESHOLD"
"""The environment variable that says the threshold where no argument does."""

_ATTEMPTS = 5
_log = logging.getLogger("playhead")


class SpillSidecar(TapeSidecar):
    """Keeps the results of tools that are too large for a prompt; mounted as `spill` beside a tape.

    A result of at least `threshold` tokens, taken as four characters each, is spilled: 4096, or what PLAYHEAD_SPILL_THRESHOLD says.
    0 spills nothing; what was spilled can be read all the same. Raises InvalidInput for other values.
    """

    def __init__(self, *, threshold: int | None = None, name: str = "spill") -> None:
        super().__init__(name)
        self.threshold = _checked(threshold, "A spill's threshold") if threshold is not None else _from_environment()

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools with which a model reads what was spilled: spill.read, spill.list."""
        return spill_tools(self.name)

    async def shrink(self, result: ToolResult, context: ToolContext) -> ToolResult:
        """Return a tool's result as the model and the tape see it: itself, or, where it is too large, a preview with a handle.

        The whole text stands on the sidecar by then, and an event `spill.write` on the tape. Where it could not be kept, the model
        gets the preview alone. Media stays where it is, and does not count; a result that is an error stays one.
        """
        if not self.threshold or context.name in OWN or result.name in OWN:
            return result
        text, rest = _parted(result)
        if len(text) < self.threshold * CHARACTERS:
            return result
        told = await self._spilled(text, context)
        return replace(result, content=(Text(text=told), *rest) if rest else told)

    async def handles(self, tape: Tape) -> list[Spilled]:
        """Return what was spilled on a tape, the newest first."""
        return await chunks.manifests(tape.sidecar(self.name))

    async def text(self, tape: Tape, handle: str) -> str:
        """Return the whole text of a handle. Raises NotFound, StoreDamaged where a part of it is missing."""
        side = tape.sidecar(self.name)
        found = await chunks.manifest(side, handle)
        if found is None:
            raise NotFound(f"No tool's result was spilled on '{tape.name}' under the handle '{handle}'; handles() lists those that were.", handle=handle)
        try:
            return "".join([part.text async for part in chunks.run(side, found)])
        except Incomplete as exc:
            raise StoreDamaged(f"The spilled result is not whole: {exc}; the preview on the tape '{tape.name}' is what is left of it.", handle=handle) from exc

    async def gc(self, tape: Tape, *, older_than: timedelta | None = None, most_bytes: int | None = None) -> list[str]:
        """Remove what was spilled so long ago, then the oldest until the rest has no more than so many bytes; return the handles.

        Also what a run that died left half written, where it is that old. What stays is written anew, so it needs that much memory,
        and a branch forked further back than now no longer shows it. Branches that are there keep what they show. Raises Conflict
        where the tape never stops growing.
        """
        side = tape.sidecar(self.name)
        for _ in range(_ATTEMPTS):
            head = await side.head()
            entries = await side.query().up_to(head.id).all() if head.id else []
            gone = _outdated(entries, older_than=older_than, most_bytes=most_bytes)
            if not gone:
                return []
            kept = [entry for entry in entries if entry.meta.get(HANDLE) not in gone]
            facts = {"sidecar": self.name, "removed": len(gone), "bytes": sum(gone.values()), "kept": len({e.meta[HANDLE] for e in kept if HANDLE in e.meta})}
            event = stamped(TapeEntry.event("spill.gc", facts, context=False))
            try:
                await tape.store.apply([Reset(tape=side.name, entries=kept, expected_head=head), Append(tape=tape.name, entries=[event])])
            except Conflict:
                continue
            return list(gone)
        raise Conflict(expected="an end", found="more entries", message=f"The sidecar '{self.name}' of '{tape.name}' kept growing; stop those who spill, then collect again.")

    async def _spilled(self, text: str, context: ToolContext) -> str:
        """Keep a text, note that on the tape, and return what is told in its place."""
        handle = sha256(clock.new_uid().encode()).hexdigest()[:12]
        try:
            kept = await chunks.write(context.tape.sidecar(self.name), text, handle=handle, tool=context.name)
        except Exception as exc:  # noqa: BLE001 - a store of the user's raises whatever it likes, and the full text must not get through
            _log.exception("The result of the tool %s could not be spilled.", context.name)
            size = len(text.encode("utf-8", "surrogatepass"))
            why = exc.message if isinstance(exc, PlayheadError) else repr(exc)
            await _noted(context, {"status": "error", "handle": handle, "bytes": size, "tool": context.name, "error": why})
            return f"[tool output truncated: {size:,} bytes; spill storage failed]\n{_preview(text)}"
        await _noted(context, {"status": "ok", "handle": handle, "bytes": kept.bytes, "chunks": kept.chunks, "tool": context.name})
        return "\n".join(
            [
                f"[{kept}]",
                f'[read it with spill_read(handle="{handle}", cursor=0, count=1, from_end=False), from a line on with line=1, or search it with pattern="..."]',
                _preview(text),
            ]
        )


def _from_environment() -> int:
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return THRESHOLD
    if not said.lstrip("-").isdecimal():
        raise InvalidInput(f"{VARIABLE} is a whole number of tokens from 0, which spills nothing, not {said!r}.")
    return _checked(int(said), VARIABLE)


def _checked(threshold: object, what: str) -> int:
    if not isinstance(threshold, int) or isinstance(threshold, bool) or threshold < 0:
        raise InvalidInput(f"{what} is a whole number of tokens from 0, which spills nothing, not {threshold!r}.")
    return threshold


def _parted(result: ToolResult) -> tuple[str, tuple[Media, ...]]:
    """Return the words of a result, as they stand on a tape, and its media; a text document is words."""
    if isinstance(result.content, str):
        return freeze(result.content), ()
    media = tuple(part for part in result.content if isinstance(part, Media) and media_forms.words_of(part) is None)
    return freeze("\n".join(_words(part) for part in result.content if part not in media)), media


def _words(part: Text | Media | ProviderItem) -> str:
    match part:
        case Text():
            return part.text
        case Media():
            return media_forms.document_text(part, media_forms.words_of(part) or "")
    return codec.encode(part.value).decode()


def _preview(text: str) -> str:
    left_out = len(text) - 2 * SHOWN
    return text if left_out <= 0 else f"{text[:SHOWN]}\n[... {left_out:,} characters left out ...]\n{text[-SHOWN:]}"


async def _noted(context: ToolContext, facts: Mapping[str, object]) -> None:
    """Note on the tape what became of a spill; that this fails is no reason to lose the result."""
    run = {"run_id": context.run_id} if context.run_id else {}
    try:
        await context.tape.append_event("spill.write", facts, context=False, **run)
    except Exception:  # noqa: BLE001 - as above
        _log.exception("What was spilled of the tool %s could not be noted.", context.name)


def _outdated(entries: list[TapeEntry], *, older_than: timedelta | None, most_bytes: int | None) -> dict[str, int]:
    """Return the handles to remove, the oldest first, each with its size."""
    sizes: dict[str, int] = {}
    dates: dict[str, str] = {}
    whole: set[str] = set()
    for entry in entries:
        if (handle := entry.meta.get(HANDLE)) is not None:
            sizes[handle] = sizes.get(handle, 0) + sum(len(text.encode("utf-8", "surrogatepass")) for text in entry.payload.get("results", ()))
            dates[handle] = max(dates.get(handle, ""), entry.date)
            whole |= {handle} if entry.payload.get("name") == chunks.MANIFEST else set()
    before = None if older_than is None else format_date(ago(older_than, what="An age"))
    left = sum(sizes[handle] for handle in whole)
    gone: dict[str, int] = {}
    for handle in sorted(sizes, key=lambda handle: dates[handle]):
        is_old = before is not None and dates[handle] <= before
        if is_old or (most_bytes is not None and handle in whole and left > most_bytes):
            gone[handle] = sizes[handle]
            left -= sizes[handle] if handle in whole else 0
    return gone
