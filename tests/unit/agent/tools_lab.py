"""What tests of tools share: a tape in memory, a context on it, and a way to answer a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from playhead.agent.calling import Answer, answered
from playhead.agent.hooks import Hooks
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import ToolContext
from playhead.entry import codec
from playhead.entry.message import ToolCall
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context


def fresh_tape(store: Any = None) -> Tape:
    return Tape(store or InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))


def context_on(tape: Tape | None = None, **state: Any) -> ToolContext:
    return ToolContext(tape=tape or fresh_tape(), state=state, run_id="run-1")


async def answer(tools: Any, call: str, arguments: Any = None, *, plugins: Any = (), context: ToolContext | None = None, **more: Any) -> Answer:
    tools = tools if isinstance(tools, (list, tuple)) else [tools]
    return await answered(ToolCall(id="c1", name=call, arguments=arguments or {}), toolbox=Toolbox(tools), context=context or context_on(), hooks=Hooks(plugins), **more)


def told(answer: Answer) -> Any:
    """Return what a failure tells the model."""
    assert answer.result.is_error
    return codec.decode(answer.result.content)


def run(function: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(function)
