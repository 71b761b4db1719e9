"""How the demo's conversation is written down: turns, tool calls, and the answers behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message, ToolCall, assistant, tool_result_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One use of a tool and what it answered; None where the answer never came."""

    tool: str
    arguments: dict[str, object]
    answer: str | None
    is_error: bool = False


class Desk:
    """Numbers the calls of a conversation and writes its turns."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def turn(self, words: str, *asked: Asked) -> Iterator[Message]:
        """Yield a turn of the model, then each tool's answer as it arrives."""
        calls = [ToolCall(id=f"call_{next(self._numbers):04d}", name=use.tool, arguments=freeze_dict(use.arguments, path="arguments")) for use in asked]
        yield assistant(words, calls=calls)
        for call, use in zip(calls, asked, strict=True):
            if use.answer is not None:
                yield tool_result_message(call.id, use.answer, is_error=use.is_error, name=use.tool)


def run(host: str, command: str, answer: str | None) -> Asked:
    """Return a command on a machine."""
    return Asked(tool="run", arguments={"host": host, "command": command}, answer=answer)


def failed(host: str, command: str, answer: str) -> Asked:
    """Return a command that ended in an error."""
    return Asked(tool="run", arguments={"host": host, "command": command}, answer=answer, is_error=True)


def read_file(path: str, answer: str) -> Asked:
    """Return the reading of a file."""
    return Asked(tool="read_file", arguments={"path": path}, answer=answer)


def search(query: str, *hits: dict[str, object], where: str = "tickets") -> Asked:
    """Return a search and its hits."""
    return Asked(tool="search", arguments={"query": query, "in": where}, answer=json.dumps({"hits": hits, "total": len(hits)}, ensure_ascii=False))


def ticket(action: str, number: str, **fields: object) -> Asked:
    """Return an action on a ticket and the ticket as it then stands."""
    return Asked(tool="ticket", arguments={"action": action, "number": number, **fields}, answer=json.dumps({"ok": True, "number": number, "action": action, **fields}, ensure_ascii=False))
