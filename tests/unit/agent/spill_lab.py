"""What tests of spilling share: a tape with the sidecar mounted, on a store of any kind, and a model's view of its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

import playhead as ph
from playhead.agent.tools import ToolContext
from playhead.entry.message import ToolResult
from tests.unit.tape.opened import KINDS


def spilling(store: Any = None, *, threshold: int = 4_096, **more: Any) -> tuple[ph.SpillSidecar, ph.Tape]:
    """Return a sidecar and a tape that it is mounted beside."""
    spill = ph.SpillSidecar(threshold=threshold)
    return spill, ph.Tape(store or ph.InMemoryTapeStore(), "t", context=ph.default_tape_context(anchor=None), sidecars=[spill], **more)


def called(tape: ph.Tape, name: str = "shell") -> ToolContext:
    return ToolContext(tape=tape, run_id="run-1", call_id="c", name=name)


async def shrunk(spill: ph.SpillSidecar, tape: ph.Tape, content: Any, *, name: str = "shell", **more: Any) -> ToolResult:
    return await spill.shrink(ToolResult(call_id="c", content=content, name=name, **more), called(tape, name))


async def ask(tape: ph.Tape, tool: str = "spill.read", **arguments: Any) -> str:
    """Return what a model is told by one of the tools."""
    (found,) = [one for one in ph.SpillSidecar(threshold=1).tools() if one.name == tool]
    return str(await found.run(arguments, context=called(tape, tool)))


def parsed(answer: str) -> dict[str, str]:
    """Return the head line, the facts and the content of an answer."""
    head, _, rest = answer.partition("\n")
    facts, _, content = rest.partition("\ncontent:\n")
    return {"head": head, "content": content} | dict(line.split(": ", 1) for line in facts.splitlines())


def over(kind: str, place: Path, scenario: Callable[[ph.WholeStore], Awaitable[None]]) -> None:
    """Run a scenario on a store of a kind."""

    async def go() -> None:
        store = KINDS[kind](place)
        try:
            await scenario(store)
        finally:
            await store.aclose()

    anyio.run(go)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    anyio.run(scenario)
