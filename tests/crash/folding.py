"""A memory that is folded by processes that die or overlap: what they tell, where they are killed, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from hashlib import sha256
from itertools import cycle
from pathlib import Path

import anyio

from playhead import clock
from playhead.entry.message import assistant
from playhead.fold.ledger.memory import FoldMemory
from playhead.model.protocol import ModelRequest, Reply, texts
from playhead.model.scripted import ScriptedModel
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.protocol import WholeStore
from playhead.store.urls import open_store
from playhead.testing.clock import FakeClock
from tests.unit.fold.telling import check

URLS = ("sqlite:///{}/tapes.db?durability=process", "file:{}/tapes?durability=process")
WRITES = ("append_many", "apply")
STOPS = (1, 2, 3, 2, 5, 4, 9, 6)
"""Before or behind which write a process dies, counted from its start: odd ones before, even ones behind it."""

BUDGET = Budget(1_500, reserve_for_response=0)
OPTIONS = {"recent_window_tokens": 60, "target_chunk_tokens": 50, "summary_target_tokens": 40, "identifier_index_tokens": 10, "merge_threshold": 3, "min_chunk_chars_for_llm": 0}


async def talked(url: str, *, messages: int) -> None:
    """Make a tape with a conversation."""
    with clock.using(FakeClock()):
        async with ContextManager.open(path=url) as manager:
            for number in range(messages):
                await manager.add_message("Claude" if number % 2 else "User", f"Message {number} is about src/part_{number % 7}.py and the queue that is full there.")


def managed(store: WholeStore, *, writer: str, ledger: Path):
    """Return a manager that is being opened; a model that writes notes each request in the ledger, and refuses some."""

    def answered(request: ModelRequest) -> object:
        digest = sha256(texts(request.messages).encode()).hexdigest()
        with ledger.open("a") as book:
            print(digest, file=book, flush=True)
        return Reply(message=assistant("I would rather not."), stop="refusal") if int(digest[:2], 16) % 3 == 0 else f"I remember {digest[:12]}."

    model = "extractive" if writer == "extractive" else ScriptedModel([answered] * 10_000)
    return ContextManager.open(store=store, strategy=AutobiographicalStrategy(compression_model=model, **OPTIONS))


async def folded(url: str, *, writer: str, ledger: Path, at: int | None = None) -> None:
    """Write all summaries that are due and compile now and then; die at one of the writes on the way."""
    store = open_store(url)
    try:
        if at is not None:
            _mortal(store, at)
        async with managed(store, writer=writer, ledger=ledger) as manager:
            done = 0
            while await manager.tick():
                done += 1
                if done % 4 == 0:
                    await _compiled(manager)
            await _compiled(manager)
    finally:
        await store.aclose()


async def shape(url: str) -> object:
    """Return what the forest of a store comes to, which is sound."""
    store = open_store(url)
    try:
        async with ContextManager.open(store=store, strategy=AutobiographicalStrategy()) as manager:
            memory = FoldMemory(manager.tape)
            forest = await check(memory)
            nodes = [(node.id, node.first, node.last, node.text, list(node.index), [child.id for child in await memory.children(node)]) async for node in memory.nodes()]
            return [nodes, [(o.level, o.first, o.last, o.rung, o.outcome, o.is_stuck) for o in forest.outcomes]]
    finally:
        await store.aclose()


def asked(ledger: Path) -> list[str]:
    """Return the requests that a model got."""
    return ledger.read_text().split() if ledger.exists() else []


def kill_again_and_again(url: str, writer: str, ledger: str) -> None:
    """Fold in children that die, each a little further on, until one comes to the end; print how many died."""
    died = 0
    for at in cycle(STOPS):
        code = _in_child(lambda at=at: folded(url, writer=writer, ledger=Path(ledger), at=at))
        if code == 0:
            break
        if code != -signal.SIGKILL or _in_child(lambda: shape(url)) != 0:
            sys.exit(f"killed at write {at}, it left something that cannot be gone on with")
        died += 1
    print(died)


def fold_until_told(url: str, writer: str, ledger: str) -> None:
    """Fold beside others until nothing is due any more, and print what this process wrote."""

    async def go() -> list[str]:
        store, wrote = open_store(url), []
        try:
            async with managed(store, writer=writer, ledger=Path(ledger)) as manager:
                await manager.message_count()
                print("ready", flush=True)
                sys.stdin.readline()
                while (ticked := await manager.tick()).did != "nothing":
                    wrote += [ticked.node.uid] if ticked.node is not None else []
        finally:
            await store.aclose()
        return wrote

    print(json.dumps(anyio.run(go)))


def _mortal(store: WholeStore, at: int) -> None:
    """Have a process die at its write of a number: just before it, or right behind."""
    count = 0

    def reach() -> None:
        nonlocal count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def pointed(real: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def write(*given: object, **named: object) -> object:
            reach()
            answer = await real(*given, **named)
            reach()
            return answer

        return write

    for name in WRITES:
        setattr(store, name, pointed(getattr(store, name)))


async def _compiled(manager: ContextManager) -> None:
    """Keep a cut where the view fits; a refusal would have summaries written ahead of their time, as long as its process lives."""
    if (await manager.compile(BUDGET, dry_run=True)).over_budget is None:
        await manager.compile(BUDGET)


def _in_child(function: Callable[[], Awaitable[object]]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            anyio.run(function)
            code = 0
        except BaseException:  # noqa: BLE001 - the parent is told by the exit code
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
