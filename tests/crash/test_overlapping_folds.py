"""Two who fold the same span, at once or on branches that are merged, leave a sound forest in which nothing is told twice."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import anyio
import pytest

from playhead.fold.ledger.memory import FoldMemory
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import MAIN
from playhead.store.urls import open_store
from tests.crash.folding import URLS, folded, managed, shape, talked
from tests.crash.processes import started
from tests.unit.fold.telling import check
from tests.unit.prompt.folding.shown import check_told_once

ROOT = Path(__file__).resolve().parents[2]
FOLDS = "import sys; from tests.crash.folding import fold_until_told; fold_until_told(*sys.argv[1:])"
WIDE = Budget(100_000, reserve_for_response=0)


def spans(found, level):
    return [(node[1], node[2]) for node in found[0] if node[0].startswith(f"L{level}-")]


@pytest.mark.parametrize("writers", [("extractive", "extractive"), ("model", "extractive")])
@pytest.mark.parametrize("url", URLS)
def test_two_processes_that_fold_one_tape_tell_every_span_once(url, writers, tmp_path):
    stores = {name: url.format(tmp_path / name) for name in ("alone", "together")}
    for name, store in stores.items():
        (tmp_path / name).mkdir()
        anyio.run(lambda store=store: talked(store, messages=60))
    anyio.run(lambda: folded(stores["alone"], writer="extractive", ledger=tmp_path / "alone.ledger"))
    processes = [started(FOLDS, stores["together"], writer, tmp_path / f"{number}.ledger", cwd=ROOT, stdin=subprocess.PIPE) for number, writer in enumerate(writers)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    wrote = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()[-3000:]
        wrote.append(json.loads(out))
    alone, together = anyio.run(shape, stores["alone"]), anyio.run(shape, stores["together"])
    assert sum(map(len, wrote)) == len(together[0]) == len(set(wrote[0]) | set(wrote[1]))
    if writers == ("extractive", "extractive"):
        assert spans(together, 1) == spans(alone, 1)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("url", URLS)
def test_branches_that_folded_the_same_span_merge_to_one_telling_of_it(url, first, tmp_path):
    url = url.format(tmp_path)

    async def go():
        await talked(url, messages=60)
        store = open_store(url)
        try:
            managers = [await managed(store, writer=writer, ledger=tmp_path / "ledger") for writer in ("extractive", "model")]
            for number, manager in enumerate(managers):
                await manager.fork(f"b{number}")
                await manager.add_message("User", f"Only branch {number} knows this.")
                await manager.drain()
            told = [[node.span async for node in FoldMemory(manager.tape).nodes() if node.level == 1] for manager in managers]
            assert set(told[0]) & set(told[1])
            for manager in managers[:: 1 if first == 0 else -1]:
                await manager.tape.merge()
            await _checked(store, branches=2)
        finally:
            await store.aclose()

    async def _checked(store, branches):
        async with managed(store, writer="extractive", ledger=tmp_path / "ledger") as manager:
            assert manager.current_branch() == MAIN
            forest = await check(FoldMemory(manager.tape))
            assert sum(forest.ignored.values()) > 0
            await check_told_once(manager, await manager.compile(WIDE))
            await manager.drain()
            await check(FoldMemory(manager.tape))
            prompt = await manager.compile(Budget(1_500, reserve_for_response=0))
            await check_told_once(manager, prompt)
            said = "\n".join(m.text for m in prompt.messages)
            assert all(f"Only branch {number} knows this." in said for number in range(branches))

    anyio.run(go)
