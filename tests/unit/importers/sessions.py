"""Claude Code sessions written by hand, record by record, and files read without a tape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

from playhead.entry.entry import EVENT, TapeEntry
from playhead.importers.detect import Opened, source_of
from playhead.importers.items import Marks
from playhead.importers.known import Known
from playhead.importers.report import Notes
from playhead.importers.writing import Writing
from playhead.tape.tape import Tape

SESSION = "5e551011-0000-4000-8000-000000000001"


class Session:
    """Writes records that hang on each other in order, unless told otherwise; every method returns the uuid it wrote."""

    def __init__(self, *, session: str = SESSION, side: bool = False, agent: str | None = None) -> None:
        self.records: list[dict[str, Any]] = []
        self.session = session
        self.side = side
        self.agent = agent
        self.last: str | None = None
        self.count = 0

    def add(self, type_: str, *, parent: str | EllipsisType | None = ..., uuid: str | None = None, **fields: Any) -> str:
        """Write a record; `parent` is the record before unless named."""
        self.count += 1
        uuid = uuid or f"{self.count:08d}-{self.session[-12:]}"
        record = {
            "parentUuid": self.last if parent is ... else parent,
            "isSidechain": self.side,
            "cwd": "/home/user/project",
            "sessionId": self.session,
            "version": "2.1.39",
            "type": type_,
            "uuid": uuid,
            "timestamp": f"2026-02-11T20:{self.count // 60 % 60:02d}:{self.count % 60:02d}.000Z",
            **({"agentId": self.agent} if self.agent else {}),
            **fields,
        }
        self.records.append(record)
        self.last = uuid
        return uuid

    def prompt(self, text: Any, **fields: Any) -> str:
        """Write what a user says."""
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def turn(self, *blocks: Mapping[str, Any], id: str, **fields: Any) -> str:
        """Write one record of a model turn."""
        usage = {"input_tokens": 3, "output_tokens": self.count}
        message = {"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": list(blocks), "stop_reason": None, "usage": usage}
        return self.add("assistant", message=message, requestId=f"req_{id}", **fields)

    def result(self, call: str, content: Any = "done", *, words: Sequence[Mapping[str, Any]] = (), is_error: bool = False, **fields: Any) -> str:
        """Write the result of a call, with words beside it."""
        block = {"tool_use_id": call, "type": "tool_result", "content": content, **({"is_error": True} if is_error else {})}
        return self.add("user", message={"role": "user", "content": [block, *words]}, **fields)

    def compaction(self, summary: str, *, trigger: str = "auto") -> str:
        """Write a compaction: its boundary and the summary behind it."""
        boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": {"trigger": trigger, "preTokens": 160_000}}
        self.add("system", logicalParentUuid=self.last, parent=None, **boundary)
        return self.add("user", message={"role": "user", "content": summary}, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def bare(self, **fields: Any) -> None:
        """Write a record outside the tree."""
        self.records.append(fields)

    def lines(self) -> list[bytes]:
        """Return the records as lines."""
        return [json.dumps(r).encode() for r in self.records]

    def write(self, path: Path) -> Path:
        """Write the session's file."""
        path.write_bytes(b"".join(line + b"\n" for line in self.lines()))
        return path


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "sig") -> dict[str, Any]:
    """Return a thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def read(path: Path, *, format: str = "auto", strict: bool = False) -> tuple[list[TapeEntry], Notes]:
    """Return the entries a file becomes on an empty tape, and the notes."""
    with path.open("rb") as file:
        source = source_of(Opened(file=file, size=path.stat().st_size, path=str(path), name=path.name), format=format)
        list(source.index(strict=strict))
        notes = Notes()
        batches = Writing(Known(), notes, format=source.format).batches(source.items(marks=Marks(), notes=notes, seen=lambda done: None))
        return [entry for batch in batches for entry in batch], notes


def shown(entries: Sequence[TapeEntry]) -> list[TapeEntry]:
    """Return the entries a view shows."""
    return [e for e in entries if e.kind != EVENT and e.meta.get("context") is not False]


def told(entries: Sequence[TapeEntry]) -> list[str]:
    """Return in short what entries say: kind and words, calls, or results."""
    return [f"{e.kind} {_short(e)}" for e in entries]


def _short(entry: TapeEntry) -> str:
    payload = entry.payload
    if entry.kind == "tool_call":
        return ",".join(c["id"] for c in payload["calls"])
    if entry.kind == "tool_result":
        return ",".join(payload["call_ids"])
    if entry.kind in ("event", "anchor"):
        return str(payload["name"])
    content = payload.get("content", payload.get("message"))
    return content if isinstance(content, str) else " ".join(p.get("text", p["type"]) for p in content)


def a_session() -> Session:
    """Return a session with a bit of everything."""
    session = Session()
    session.prompt("Look around.")
    session.turn(thinking("Where to start?"), id="m1")
    session.turn(text("I look."), id="m1")
    first = session.turn(call("c1"), id="m1")
    session.add("progress", data={"type": "hook_progress"})
    second = session.turn(call("c2"), id="m1", parent=first)
    session.result("c1", "one file", parent=first)
    session.result("c2", "two files", parent=second)
    session.turn(call("c3"), id="m2")
    session.bare(type="queue-operation", operation="enqueue", sessionId=session.session)
    session.result("c3", words=[text("[Request interrupted by user]")])
    session.prompt("Go on.")
    session.turn(text("Done."), id="m3")
    session.compaction("We looked around.")
    session.prompt("And now?")
    session.turn(text("Nothing."), id="m4")
    return session


async def entries(tape: Tape) -> list[TapeEntry]:
    """Return all entries of a tape."""
    return [e async for e in tape.query()]
