"""Agents as tools of other agents: each call is a run of its own, on a tape that its session says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playhead import clock
from playhead.agent.tools import Tool, ToolContext, tool
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.tape.delta import Delta

if TYPE_CHECKING:
    from playhead.agent.agent import Agent
    from playhead.model.protocol import Model

TEMP, INHERIT = "temp", "inherit"


def subagent(agent: Agent, *, name: str, description: str, model: Model | str | None, session: str) -> Tool:
    """Return a tool that gives a task to an agent and returns its words.

    `session` is "temp" (a tape of which nothing remains), "inherit" (a branch of the very tape that the caller writes to, so that it
    sees the running turn; what it did comes back out of the caller's context, and only where it succeeds), or the name of a tape.
    """

    async def give(task: str, *, context: ToolContext) -> str:
        if session == INHERIT:
            return await _inherited(agent, task, context, model=model)
        tape = f"temp/{clock.new_uid()[-8:]}" if session == TEMP else session
        async with agent.run(task, model=model, tape=tape, state=context.state, merge_back=session != TEMP) as stream:
            return await _words(stream)

    return tool(give, name=name, description=description, context=True)


async def _inherited(agent: Agent, task: str, context: ToolContext, *, model: Model | str | None) -> str:
    branch = await context.tape.fork()
    try:
        async with agent.run(task, model=model, tape=branch, state=context.state) as stream:
            words = await _words(stream)
    except BaseException:
        await branch.discard()
        raise
    await branch.merge(_out_of_context)
    return words


def _out_of_context(delta: Delta) -> Iterable[TapeEntry]:
    """Keep what a subagent did beside the caller's context: its words come back as the tool's result."""
    return [replace(entry, meta=freeze_dict({**entry.meta, "context": False}, path="meta")) for entry in delta.entries]


async def _words(stream: Any) -> str:
    words = [delta async for delta in stream.text_deltas()]
    return "".join(words)
