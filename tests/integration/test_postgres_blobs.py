"""Blobs and parted payloads on a server: kept once, loaded late, by whoever looks, and never left half written."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import anyio
import psycopg
import pytest

import playhead as ph
from playhead import clock
from playhead.store.blobs import digest_of
from playhead.store.change import Append, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.testing.stage import keyed, note
from tests.crash.processes import finished

LONG = "Grüße an alle. " * 400
DIGEST = digest_of(LONG.encode())

LOOKS = """
import os, sys, threading, anyio
import playhead as ph

store = ph.PostgresTapeStore(sys.argv[1], inline_limit=2_000)

async def read():
    return await store.fetch_all(ph.TapeQuery(tape="t"))

def look(entries):
    os.write(1, b"%d\\n" % len({entry.payload["text"] for entry in entries}))

entries = anyio.run(read)
entries[0].payload
child = os.fork()
if not child:
    look(entries[1:] + anyio.run(read)[:1])
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
threads = [threading.Thread(target=look, args=(anyio.run(read),)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
anyio.run(store.aclose)
"""


def play(scenario: Callable[[Any], Awaitable[Any]], url: str, *, backend: str = "asyncio", **options: Any) -> Any:
    async def go() -> Any:
        async with ph.PostgresTapeStore(url, **{"durability": "process", "inline_limit": 2_000, **options}) as store:
            return await scenario(store)

    return anyio.run(go, backend=backend)


async def append(store: Any, tape: str = "t") -> ph.TapeEntry:
    (stored,) = await store.append_many(tape, [note(LONG)])
    return stored


async def entries(store: Any, tape: str = "t") -> list[ph.TapeEntry]:
    return list(await store.fetch_all(ph.TapeQuery(tape=tape)))


def found(url: str, question: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(question).fetchall()


def changed(url: str, statement: str, *values: object) -> int:
    with psycopg.connect(url) as connection:
        return connection.execute(statement, values).rowcount


def sessions(url: str) -> int:
    ((count,),) = found(url, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    return int(count)


def ended(url: str) -> bool:
    """Return whether all sessions but ours end; a server takes a moment to notice that one has."""
    deadline = time.monotonic() + 60
    while is_there := sessions(url) > 0:
        if time.monotonic() > deadline:
            break
    return not is_there


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_long_text_is_kept_once_by_appends_batches_and_changes_alike(postgres_url: str, backend: str):
    async def scenario(store: Any) -> None:
        for _ in range(3):
            await append(store)
        await store.append_many("t", [note(LONG, more={"a": 1}), note("short")])
        await store.append_many(sidecar_name("t", "s"), [note(LONG)])
        await store.apply([Fork(tape=branch_name("t", "b"), parent="t"), Append(tape=branch_name("t", "b"), entries=[note(LONG)])])
        assert await store.blobs() == [ph.Blob(digest=DIGEST, size=len(LONG.encode()), mime="text/plain; charset=utf-8")]
        assert await store.get_blob(DIGEST) == LONG.encode()
        assert [entry.payload["text"] for entry in await entries(store, branch_name("t", "b"))] == [LONG] * 4 + ["short", LONG]

    play(scenario, postgres_url, backend=backend)
    assert max(size for (size,) in found(postgres_url, "SELECT octet_length(body) FROM playhead.entries")) < 400


def test_what_is_not_looked_at_is_not_loaded_and_what_is_gone_is_told_with_its_entry(postgres_url: str):
    async def read(store: Any) -> list[ph.TapeEntry]:
        assert await store.count(ph.TapeQuery(tape="t").kinds("note")) == 2
        assert (await store.find("t", uids=["u"]))["u"].id == 1
        return list(await store.fetch_all(ph.TapeQuery(tape="t").newest_first()))

    play(lambda store: store.append_many("t", [note(LONG, uid="u"), note("short")]), postgres_url)
    assert changed(postgres_url, "DELETE FROM playhead.blobs") == 1
    short, long = play(read, postgres_url)
    assert (long.id, long.kind, long.uid, short.payload["text"]) == (1, "note", "u", "short")
    with pytest.raises(ph.StoreDamaged, match=rf"part of entry 1 of .*t.* is kept as the blob {DIGEST}, which is not there; restore a backup, or put the same bytes again"):
        long.payload  # noqa: B018
    assert [(flaw.severity, flaw.tape, flaw.id) for flaw in ph.verify(postgres_url).flaws] == [("damage", "t", 1)]
    play(lambda store: store.put_blob(LONG.encode()), postgres_url)
    assert long.payload["text"] == LONG
    assert ph.verify(postgres_url).is_sound


def test_a_part_that_was_altered_is_refused_and_mended_by_the_next_append(postgres_url: str):
    play(append, postgres_url)
    assert changed(postgres_url, "UPDATE playhead.blobs SET data = %s", LONG.encode()[:-1]) == 1
    with pytest.raises(ph.StoreDamaged, match="not as it was written"):
        play(entries, postgres_url)[0].payload  # noqa: B018
    play(append, postgres_url)
    assert [entry.payload["text"] for entry in play(entries, postgres_url)] == [LONG, LONG]


def test_an_entry_that_outlives_its_store_is_read_and_leaves_no_connection(postgres_url: str):
    play(append, postgres_url)
    (entry,) = play(entries, postgres_url, read_only=True)
    assert ended(postgres_url)
    assert entry.payload["text"] == LONG
    assert ended(postgres_url)


def test_many_threads_and_a_forked_process_look_at_the_same_entries(postgres_url: str):
    play(lambda store: store.append_many("t", [note(f"{LONG}{number}") for number in range(8)]), postgres_url)
    assert finished(LOOKS, postgres_url).split() == ["8"] * 4


def test_a_long_entry_with_a_key_is_compared_before_it_is_committed(postgres_url: str):
    async def scenario(store: Any) -> None:
        found: list[tuple[ph.TapeEntry, ...]] = []

        async def send(text: str) -> None:
            found.append(await store.append_many("t", [keyed(text, "k")]))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(send, LONG)
        assert {(entry.id, entry.payload["text"]) for (entry,) in found} == {(1, LONG)}
        with pytest.raises(ph.KeyConflict):
            await store.append_many("t", [keyed(LONG + "!", "k")])
        with pytest.raises(ph.Conflict):
            await store.append_many("t", [note(LONG + "2")], expected_head=ph.Head(0, 7))
        assert len(await entries(store)) == 1

    play(scenario, postgres_url)


def test_entries_of_many_megabytes_go_together(postgres_url: str):
    texts = [f"{number}" * 6_000_000 for number in range(4)]

    async def scenario(store: Any) -> None:
        await store.append_many("t", [note("first")])
        await store.append_many("t", [note(text) for text in texts])
        assert [entry.payload["text"] == text for entry, text in zip((await entries(store))[1:], texts, strict=True)] == [True] * 4

    play(scenario, postgres_url)


def test_a_removal_passes_by_what_is_put_or_named_at_that_moment(postgres_url: str):
    async def scenario(store: Any) -> None:
        held, free = [(await store.put_blob(text)).digest for text in (b"held", b"free")]
        since = clock.now() + timedelta(seconds=1)
        with psycopg.connect(postgres_url) as other:
            other.execute("UPDATE playhead.blobs SET used_at = used_at WHERE digest = %s", [bytes.fromhex(held.removeprefix("sha256:"))])
            assert await store.drop_blobs([held, free], idle_since=since) == [free]
            other.rollback()
        assert await store.drop_blobs([held, free], idle_since=since) == [held]

    play(scenario, postgres_url)


def test_a_collection_minds_one_tenant(postgres_url: str):
    async def put(store: Any) -> None:
        await store.put_blob(b"nobody's")
        await store.append_many("t", [note((await store.put_blob(b"named")).digest)])

    for tenant in ("one", "other"):
        play(put, postgres_url, tenant=tenant)
    play(lambda store: store.reset("t"), postgres_url, tenant="other")

    async def collect(store: Any) -> list[bytes]:
        await ph.gc_blobs(store, grace=timedelta(0))
        return [await store.get_blob(blob.digest) for blob in await store.blobs()]

    assert play(collect, postgres_url, tenant="one") == [b"named"]
    assert len(found(postgres_url, "SELECT 1 FROM playhead.blobs WHERE tenant = 'other'")) == 2


def test_a_collection_reads_long_tapes_a_part_at_a_time(postgres_url: str):
    """By number and by size, over families and tapes, each entry once."""

    async def scenario(store: Any) -> None:
        digests = [(await store.put_blob(b"%d" % number)).digest for number in range(6)]
        for number, tape in enumerate(("a", sidecar_name("a", "s"), "b", "c")):
            await store.append_many(tape, [*(note("x") for _ in range(700)), note(digests[number])])
        await store.append_many("d", [*(note("y" * 1_500_000) for _ in range(7)), note(digests[4])])
        parts = [part async for part in store.named_blobs()]
        assert frozenset().union(*(part.digests for part in parts)) == set(digests[:5])
        assert len(parts) >= 2 and max(part.done - before.done for before, part in pairwise(parts)) <= 2_000
        assert parts[-1].done == parts[-1].total == 4 * 701 + 8
        assert [blob.digest for blob in (await ph.gc_blobs(store, grace=timedelta(0))).unused] == digests[5:]

    play(scenario, postgres_url, inline_limit=None)


def test_a_damaged_entry_stops_a_collection(postgres_url: str):
    async def scenario(store: Any) -> None:
        await store.put_blob(b"unnamed")
        await store.append_many("t", [note("a"), note("b")])
        changed(postgres_url, "UPDATE playhead.entries SET body = '{}' WHERE seq = 2")
        with pytest.raises(ph.StoreDamaged, match="Entry 2 of the tape 't'"):
            await ph.gc_blobs(store, grace=timedelta(0))
        assert len(await store.blobs()) == 1

    play(scenario, postgres_url)


def test_writers_that_name_the_same_blobs_never_wait_in_a_circle(postgres: Any):
    """Whether they append, change a family or remove, over two stores, and in whatever order the digests stand in their entries."""

    async def scenario(url: str) -> None:
        async with ph.PostgresTapeStore(url, durability="process", inline_limit=2_000) as one, ph.PostgresTapeStore(url, durability="process", inline_limit=2_000) as other:
            digests = [(await one.put_blob(b"%d" % number)).digest for number in range(4)]

            async def write(number: int) -> None:
                store, named = (one, digests) if number % 2 else (other, digests[::-1])
                for step in range(6):
                    many = [note(f"{LONG}{(number + step + place) % 5}", ref=digest) for place, digest in enumerate(named)]
                    if number % 3:
                        await store.append_many(f"t{number}", many)
                    else:
                        await store.apply([Append(tape=f"t{number % 4}", entries=many[:2]), Append(tape=f"t{number % 4}", entries=many[2:])])
                    await store.drop_blobs(named, idle_since=clock.now() - timedelta(days=1))

            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(write, number)

    with postgres.database(fresh=True) as url:
        anyio.run(scenario, url)
        assert found(url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [(0,)]
        assert ph.verify(url).is_sound
