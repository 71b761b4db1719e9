"""Managers over small windows, for tests: a conversation of a few messages has something to fold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from playhead.fold.ledger.memory import FoldMemory
from playhead.model.protocol import ModelRequest, ToolSpec
from playhead.model.scripted import ScriptedModel
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore

SMALL = {"recent_window_tokens": 100, "target_chunk_tokens": 60, "summary_target_tokens": 25, "identifier_index_tokens": 10, "min_chunk_chars_for_llm": 0}
PING = ToolSpec(name="ping", description="Ask a host.", parameters={"type": "object", "properties": {}})
WIDE = Budget(100_000, reserve_for_response=0)


def room(tokens: int) -> Budget:
    """Return a budget that leaves so much for a prompt of a view: the frame of the provider takes 24 tokens."""
    return Budget(tokens + 24, reserve_for_response=0)


@asynccontextmanager
async def managed(
    store: object = None, *, writer: object = "extractive", strategy: type[AutobiographicalStrategy] = AutobiographicalStrategy, manager: dict[str, object] | None = None, **options: object
) -> AsyncIterator[ContextManager]:
    """Yield a manager on a store in memory, or another."""
    made = strategy(compression_model=writer, **{**SMALL, **options})
    async with ContextManager.open(store=store or InMemoryTapeStore(), strategy=made, **(manager or {})) as opened:
        opened.set_tool_definitions([PING])
        yield opened


def told(answer: str | Callable[[ModelRequest], object] = "I remember that.", *, count: int = 1_000) -> ScriptedModel:
    """Return a model that writes the same memory each time, or what a function says of the request."""
    return ScriptedModel([answer] * count, name="scripted:memory")


async def talk(manager: ContextManager, count: int, *, start: int = 0, words: int = 12) -> list[str]:
    """Add so many messages of user and agent in turn, each of about 20 tokens and words of its own; return their ids."""
    said = " ".join(f"w{n}" for n in range(words))
    return [await manager.add_message("Claude" if number % 2 else "User", f"Message {number}: {said}.") for number in range(start, start + count)]


async def call(manager: ContextManager, number: int, *, result: str | None = "pong") -> list[str]:
    """Add a turn that calls a tool, and its result unless that is None; return their ids."""
    ids = [await manager.add_message("Claude", [{"type": "text", "text": f"Call {number}."}, {"type": "tool_use", "id": f"c{number}", "name": "ping", "input": {"host": f"gw-{number}"}}])]
    if result is not None:
        ids.append(await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": f"c{number}", "content": result}]))
    return ids


def memory(manager: ContextManager) -> FoldMemory:
    """Return what is kept beside a manager's tape, read anew."""
    return FoldMemory(manager.tape.scoped(manager.tape.name), namespace=manager.namespace)


async def spans(manager: ContextManager, level: int = 1) -> list[tuple[int, int]]:
    """Return the runs of entries that summaries of a level tell."""
    return sorted([node.span async for node in memory(manager).nodes() if node.level == level])


def shown(prompt: object) -> list[str]:
    """Return the names of the summaries that a prompt shows, in order."""
    return [span.node for span in prompt.plan.spans if span.form == "summary"]
