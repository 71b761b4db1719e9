"""Entries as Markdown: a heading each, words as they are, calls, results and data in fenced blocks."""

from __future__ import annotations

import json
import re

from playhead.cli.plain import one_line
from playhead.cli.words import entry_words, part_words, speaker
from playhead.entry.entry import ANCHOR, EVENT, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.message import Message, Part, ToolCall, ToolResult
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload

_TICKS = re.compile("`{3,}")
_MARKS = re.compile(r"([\\`*_\[\]<>#])")


def title(tape: str) -> str:
    """Return the heading of a whole tape."""
    return f"# {escaped(tape)}\n"


def entry_markdown(entry: TapeEntry) -> str:
    """Return one entry as Markdown, a blank line before it."""
    blocks = _blocks(entry)
    return "".join(f"\n{block}\n" for block in (f"## {entry.id} · {escaped(speaker(entry))} · {entry.date[:19].replace('T', ' ')}", *blocks) if block)


def _blocks(entry: TapeEntry) -> list[str]:
    if entry.kind == MESSAGE and (message := message_from_payload(entry.payload)) is not None:
        return _message(message)
    if entry.kind == TOOL_CALL:
        return _message(turn_from_payload(entry.payload))
    if entry.kind == TOOL_RESULT and (results := results_from_payload(entry.payload)):
        return [_result(r) for r in results]
    if entry.kind in (ANCHOR, EVENT):
        held = {k: v for k, v in entry.payload.items() if k != "name"}
        return [fenced(_pretty(held), "json")] if held else []
    return [fenced(_pretty(entry.payload), "json")] if entry_words(entry).startswith("{") else [entry_words(entry)]


def _message(message: Message) -> list[str]:
    return [_part(p) for p in message.parts]


def _part(part: Part) -> str:
    if isinstance(part, ToolCall):
        return f"**→ {escaped(part.name)}**\n\n{fenced(_pretty(part.arguments), 'json')}"
    if isinstance(part, ToolResult):
        return _result(part)
    return part_words(part)


def _result(result: ToolResult) -> str:
    words = result.content if isinstance(result.content, str) else "\n".join(map(part_words, result.content))
    said = " ".join(filter(None, ("←", escaped(result.name or "result"), "(failed)" if result.is_error else "")))
    return f"**{said}**\n\n{fenced(words)}"


def fenced(text: str, language: str = "") -> str:
    """Return the text in a fence longer than any it holds."""
    ticks = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(text))])
    return f"{ticks}{language}\n{text.rstrip(chr(10))}\n{ticks}"


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def coded(text: str) -> str:
    """Return a name as code: word for word, in more backticks than it holds."""
    line = one_line(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def escaped(text: str) -> str:
    """Return a name as one line in which nothing is Markdown."""
    return _MARKS.sub(r"\\\1", one_line(text))
