"""Everything above a store works over PostgreSQL: agents, memory that folds, spilled bodies, blobs, the blocking twins, without psycopg a plain word."""

from __future__ import annotations

import subprocess
import sys

import anyio
import psycopg
import pytest

import playhead as ph
from playhead.testing import ScriptedModel, call
from tests.postgres import with_words

BUDGET = ph.Budget(max_tokens=4_000, reserve_for_response=500)


@ph.tool
async def look(place: str) -> str:
    """Look somewhere."""
    return f"nothing in {place} " + "x" * 20_000


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_agent_runs_spills_and_remembers(postgres_url: str, backend: str):
    async def scenario() -> None:
        async with ph.PostgresTapeStore(postgres_url) as store:
            for question in ("first", "second"):
                agent = ph.Agent("Be brief.", store=store, tools=[look], sidecars=[ph.SpillSidecar(threshold=1_000)])
                model = ScriptedModel([[call("look", place=question)], f"answer {question}"])
                async with agent.run(question, model=model, tape="t") as stream:
                    assert await stream.text() == f"answer {question}"
            said = [message.text for message in model.requests[0].messages]
            assert any("answer first" in text for text in said)
            entries = [entry async for entry in agent.tape("t").query()]
            assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
            assert not any(record.is_open for record in await agent.tape("t").branches())
            assert [sidecar for sidecar in await store.sidecars("t") if sidecar]

    anyio.run(scenario, backend=backend)


def test_memory_folds_and_is_there_again(postgres_url: str):
    small = {"recent_window_tokens": 500, "target_chunk_tokens": 300, "summary_target_tokens": 120}

    async def scenario() -> None:
        strategy = ph.AutobiographicalStrategy(compression_model="extractive", **small)
        async with ph.PostgresTapeStore(postgres_url) as store, ph.ContextManager.open(store=store, tape="t", strategy=strategy) as manager:
            for day in range(60):
                await manager.add_message("User", f"Day {day}: batch B{day} goes to the warehouse in Lyon, as the cold store in Metz is full. I told driver D{day % 7}. " * 3)
                await manager.tick()
            before = await manager.compile(BUDGET, dry_run=True)
        async with ph.PostgresTapeStore(postgres_url) as store, ph.ContextManager.open(store=store, tape="t", strategy=strategy) as manager:
            after = await manager.compile(BUDGET, dry_run=True)
            assert after.digest == before.digest
            assert "summary" in str(after.explain())

    anyio.run(scenario)


def test_the_blocking_twins_work_over_a_server(postgres_url: str):
    url = with_words(postgres_url, durability="process", timeout=10)
    with ph.sync.open_tape(url, "t") as tape:
        tape.append(ph.user("My VPN drops every hour."))
        with tape.fork() as trial:
            trial.append(ph.user("Assume MTU 1400."))
            trial.merge(policy="append")
        assert "VPN" in str(ph.sync.compile(tape, BUDGET).messages)


def test_a_url_says_all_that_the_constructor_takes(postgres_url: str):
    async def scenario() -> None:
        url = with_words(postgres_url, schema="elsewhere", tenant="one", durability="process", timeout=7, connections=2, application_name="seen")
        async with ph.open_store(url.replace("postgresql:", "postgres:")) as store:
            await store.append("t", ph.TapeEntry.event("x"))
            assert (await store.head("t")).id == 1
        async with ph.PostgresTapeStore(postgres_url, schema="elsewhere", tenant="one", read_only=True) as store:
            assert await store.list_tapes() == ["t"]
        async with ph.open_store(f"{url}&mode=ro") as store:
            with pytest.raises(ph.ReadOnly):
                await store.append("t", ph.TapeEntry.event("x"))
        for word, wrong in {"durability": "memory", "timeout": "soon", "connections": "none", "mode": "rx", "no_such_word": "1"}.items():
            with pytest.raises(ph.InvalidInput):
                ph.open_store(with_words(postgres_url, **{word: wrong}))

    anyio.run(scenario)


def test_without_psycopg_a_store_in_postgres_names_the_extra():
    script = "import sys; sys.modules['psycopg'] = None\nimport playhead as ph\ntry:\n    ph.open_store('postgresql://localhost/x')\nexcept ph.MissingExtra as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "playhead[postgres]" in done.stdout


def test_the_entries_of_a_tape_that_was_reset_are_removed_in_time_and_those_a_branch_reads_stay(postgres_url: str):
    async def scenario() -> None:
        async with ph.PostgresTapeStore(postgres_url) as store:
            for tape in ("kept", "gone"):
                await store.append_many(tape, [ph.TapeEntry.event("noted", {"n": number}) for number in range(2_500)])
            branch = await ph.Tape(store, "kept").fork()
            for tape in ("kept", "gone"):
                await store.reset(tape)
            with psycopg.connect(postgres_url, autocommit=True) as connection, anyio.fail_after(60):
                while connection.execute("SELECT count(*) FROM playhead.entries").fetchone() != (2_500,):
                    await store.head("gone")
            assert len(await store.fetch_all(branch.query())) == 2_500

    anyio.run(scenario)
