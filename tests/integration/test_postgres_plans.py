"""Every statement that the PostgreSQL store sends goes by an index, as the server itself tells."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

import anyio
import psycopg

from playhead.entry.entry import TapeEntry
from playhead.store.change import Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.testing.families import forked, merge_of
from playhead.testing.stage import keyed, note
from tests.postgres import Server, private_server

TELLING = {
    "shared_preload_libraries": "'auto_explain'",
    "auto_explain.log_min_duration": -1,
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_format": "json",
}
PARTS = {"tapes", "segments", "search_volumes", "search_pages", *(f"entries_{n}" for n in range(64))}


async def merge(store: PostgresTapeStore) -> object:
    return await store.apply(await merge_of(store, branch_name("t", "b"), key="merge"), unless=("t", "merge"))


ROWS = 100_000
ARCHIVED = 6_000
MOST = 400
"""Pages that one statement may look at, however long the tape is: fifty entries are found on a few, their sidecar's and their branch's, too."""
DEEDS: dict[str, Callable[[PostgresTapeStore], Awaitable[object]]] = {
    "append": lambda store: store.append_many("t", [note("x"), keyed("y", "key")]),
    "append again": lambda store: store.append_many("t", [keyed("y", "key")]),
    "append behind a head": lambda store: store.append_many("t", [note("z")], expected_head=Head(0, ROWS + 2)),
    "append beside": lambda store: store.append_many(sidecar_name("t", "s"), [note("s")]),
    "the last fifty": lambda store: store.fetch_all(TapeQuery(tape="t").newest_first().limit(50)),
    "fifty in the middle": lambda store: store.fetch_all(TapeQuery(tape="t").after(ROWS // 2).limit(50)),
    "fifty archived ones": lambda store: store.fetch_all(TapeQuery(tape="t").after(ARCHIVED // 2).limit(50)),
    "archived ones here and there": lambda store: store.fetch_all(TapeQuery(tape="t").kinds("rare").up_to(ARCHIVED)),
    "an archived one by uid": lambda store: store.find("t", uids=["rare 0"]),
    "what is archived already": lambda store: store.archive("t", upto=ARCHIVED),
    "of a rare kind": lambda store: store.fetch_all(TapeQuery(tape="t").kinds("rare").limit(20)),
    "of a rare kind from the end": lambda store: store.fetch_all(TapeQuery(tape="t").kinds("rare").newest_first().limit(20)),
    "behind the last anchor": lambda store: store.fetch_all(TapeQuery(tape="t").last_anchor().limit(20)),
    "behind a named anchor": lambda store: store.fetch_all(TapeQuery(tape="t").after_anchor("early").limit(20)),
    "of a day": lambda store: store.fetch_all(TapeQuery(tape="t").between_dates("2020-01-01", "2020-01-01").limit(20)),
    "by uid and key": lambda store: store.find("t", uids=["rare 0", "unknown"], keys=["key", "no key"]),
    "head": lambda store: store.head("t"),
    "fork": lambda store: forked(store, "t", "b"),
    "append to the branch": lambda store: store.append_many(branch_name("t", "b"), [note("on the branch"), keyed("q", "q")]),
    "the last fifty of the branch": lambda store: store.fetch_all(TapeQuery(tape=branch_name("t", "b")).newest_first().limit(50)),
    "by uid in the branch": lambda store: store.find(branch_name("t", "b"), uids=["rare 0"], keys=["key", "q"]),
    "a fork in the past": lambda store: store.apply([Fork(tape=branch_name("t", "c"), parent="t", at=ROWS // 2)]),
    "merge": merge,
    "a search that makes volumes": lambda store: store.search(TapeQuery(tape="said"), "w7 w8"),
    "a search": lambda store: store.search(TapeQuery(tape="said"), "w1009"),
    "lease": lambda store: store.lease("t", owner="o", seconds=60),
    "cursor": lambda store: store.move_cursor("t", "c", Head(0, 1)),
    "branches": lambda store: store.branches("t"),
    "sidecars": lambda store: store.sidecars("t"),
    "marks": lambda store: store.marks(sidecar_name("t", "s")),
}


async def filled(store: PostgresTapeStore) -> None:
    """Put a long tape beside others: dates that rise, a rare kind, two anchors, a sidecar."""
    for start in range(0, ROWS, 5_000):
        batch = [TapeEntry(0, "note", {}, {}, f"202{n * 6 // ROWS}-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}") for n in range(start, start + 5_000)]
        batch[7] = TapeEntry(0, "rare", {}, {"uid": f"rare {start}"}, "2020-01-01")
        if start == 0:
            batch[9] = TapeEntry.anchor("early")
        if start == ROWS - 5_000:
            batch[-30] = TapeEntry.anchor("late")
        await store.append_many("t", batch)
    for n in range(40):
        await store.append_many(f"other {n}", [note("x")])
    await store.append_many("said", [note(f"w{n}") for n in range(1_100)])
    await store.append_many(sidecar_name("t", "s"), [note("side") for _ in range(10)])
    await store.archive("t", upto=ARCHIVED)


def nodes(plan: dict[str, object]) -> Iterator[dict[str, object]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def explained(server: Server) -> list[dict[str, object]]:
    """Return the statements that ran, each with the plan by which it ran."""
    log = Path(server.folder, "server.log").read_text()
    return [json.loads(found) for found in re.findall(r"duration: [\d.]+ ms\s+plan:\s*(\{.*?\n\t?\})\s*$", log, re.DOTALL | re.MULTILINE)]


def faults_of(plan: dict[str, object]) -> list[tuple[object, ...]]:
    """Return where a statement read a table from end to end, many pages, or many rows that it left out."""
    found = []
    for node in nodes(plan["Plan"]):
        pages, left_out = node.get("Shared Hit Blocks", 0) + node.get("Shared Read Blocks", 0), node.get("Rows Removed by Filter", 0)
        if (node["Node Type"] == "Seq Scan" and node["Relation Name"] in PARTS) or pages > MOST or left_out > 200:
            found.append((node["Node Type"], node.get("Relation Name"), pages, left_out, plan["Query Text"][:200]))
    return found


async def asked(server: Server, deeds: Iterable[str]) -> dict[str, list[tuple[object, ...]]]:
    """Return what is amiss with the statements of each deed; each deed sends some."""
    amiss = {}
    async with PostgresTapeStore(server.url(), durability="process") as store:
        for name in deeds:
            before = len(explained(server))
            await DEEDS[name](store)
            plans = explained(server)[before:]
            assert plans
            if faults := [fault for plan in plans for fault in faults_of(plan)]:
                amiss[name] = faults
    return amiss


def test_every_statement_goes_by_an_index_whatever_stands_on_the_tape():
    """None reads a table from end to end, or many pages, of a hundred thousand entries; without its index one does, and is found out."""
    with private_server(**TELLING) as server:

        async def fill() -> None:
            async with PostgresTapeStore(server.url(), durability="process") as store:
                await filled(store)

        anyio.run(fill)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("ALTER SYSTEM SET auto_explain.log_min_duration = 0")
            connection.execute("SELECT pg_reload_conf()")
        assert anyio.run(asked, server, DEEDS) == {}
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("DROP INDEX playhead.entries_uid")
        assert list(anyio.run(asked, server, ["by uid and key", "head"])) == ["by uid and key"]
