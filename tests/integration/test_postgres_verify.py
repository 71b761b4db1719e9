"""Proving a PostgreSQL store: sound after all that can be done to tapes, and whatever is altered is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

import playhead as ph
from playhead.store.blobs import digest_of
from playhead.store.change import Append, Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.testing.stage import keyed, note

LONG = "Grüße an alle. " * 400
TRIAL = branch_name("t", "trial")
SIDE = sidecar_name("t", "s")


async def lived(url: str) -> None:
    """Do everything to a few tapes."""
    async with ph.PostgresTapeStore(url, durability="process", inline_limit=2_000) as store:
        blob = await store.put_blob(b"picture", mime="image/png")
        await store.append_many("t", [note("a", ref=blob.digest), keyed("b", "k"), ph.TapeEntry.anchor("here", {"x": 1}), note("odd \ud800 kind", kind="k\ud800")])
        await store.append_many(SIDE, [note("side"), note(LONG)])
        await store.append_many("t", [keyed("long key", "k" * 200)], expected_head=ph.Head(0, 4))
        await store.apply([Fork(tape=TRIAL, parent="t", at=3), Append(tape=TRIAL, entries=[note("on the branch")])])
        await store.append_many(sidecar_name(TRIAL, "s"), [note("beside the branch")])
        await store.apply([Fork(tape=branch_name("t", "deep"), parent=TRIAL), Close(tape=TRIAL, outcome="discarded")])
        await store.append_many(branch_name("t", "deep"), [note(LONG + "2") for _ in range(3)])
        await store.append_many("u", [note("to be reset")])
        await store.apply([Fork(tape=branch_name("u", "b"), parent="u")])
        await store.reset("u", entries=[note("again")])
        await store.reset("t2", entries=[note("first")])
        await store.rename("t2", "v")
        await store.lease("t", owner="o", seconds=60)
        await store.move_cursor("t", "reader", ph.Head(0, 2))


def test_a_store_in_which_everything_was_done_is_sound(postgres_url: str):
    anyio.run(lived, postgres_url)
    report = ph.verify(postgres_url)
    assert [str(flaw) for flaw in report.flaws] == []
    assert (report.is_sound, report.tapes, report.entries) == (True, 9, 15)
    assert ph.verify(ph.PostgresTapeStore(postgres_url)) == report
    assert ph.verify(ph.PostgresTapeStore(postgres_url, tenant="another")).tapes == 0


ALTERED = {
    "a payload": ("UPDATE entries SET body = '{}' WHERE seq = 2 AND idem_key = 'k'", "damage", "tape 't', entry 2", "not as it was written"),
    "a date": ("UPDATE entries SET ts = ts + 1, peak = peak + 1 WHERE seq = 5", "damage", "tape 't', entry 5", "not as it was written"),
    "an entry in the middle": ("DELETE FROM entries WHERE idem_key = 'k'", "damage", "tape 't', entry 2", "missing"),
    "the last entry": ("DELETE FROM entries WHERE seq = 5", "damage", "tape 't', entry 5", "missing"),
    "a key": ("UPDATE entries SET idem_key = 'q' WHERE idem_key = 'k'", "fault", "tape 't', entry 2", "another idempotency key"),
    "a uid": ("UPDATE entries SET uid = 'q' WHERE idem_key = 'k'", "fault", "tape 't', entry 2", "another uid"),
    "an anchor": ("UPDATE entries SET anchor = ':there' WHERE anchor IS NOT NULL", "fault", "tape 't', entry 3", "another anchor's name"),
    "a mark": ("UPDATE entries SET mark = 9 WHERE convert_from(body, 'UTF8') LIKE '%\"side\"%'", "fault", f"tape '{SIDE}', entry 2", "its mark lies before"),
    "a head": ("UPDATE tapes SET head = head - 1 WHERE name = 't'", "fault", "tape 't', entry 5", "behind the end"),
    "a peak": ("UPDATE tapes SET peak = peak + 1 WHERE name = 't'", "fault", "tape 't'", "the newest date on it"),
    "a lineage": (f"UPDATE tapes SET lineage = '[[77,3]]' WHERE name = '{TRIAL}'", "fault", f"tape '{TRIAL}'", "reads through tape number 77"),
    "a branch's state": (f"UPDATE tapes SET outcome = 'lost' WHERE name = '{TRIAL}'", "fault", f"tape '{TRIAL}'", "which a branch never has"),
    "a name": ("UPDATE tapes SET name = 'x' WHERE name = 'u'", "fault", "tape 'x'", "not found under its name"),
    "a family": ("DELETE FROM families WHERE root_id = (SELECT root_id FROM tape_names WHERE name = 'u')", "fault", "tape 'u'", "no family of that name"),
    "a number": ("UPDATE entries SET tape_no = 99 WHERE seq = 5 AND idem_key IS NOT NULL", "fault", "tape 't', number 99", "belong to no tape"),
    "a cursor": ("UPDATE cursors SET seq = 6", "fault", "tape 't'", "'reader' is said to have read"),
    "an index": ("DROP INDEX entries_key", "fault", "index entries_key", "missing"),
    "a part": ("DELETE FROM blobs WHERE mime <> 'image/png'", "damage", "", "a part of it is kept as the blob"),
    "a part's bytes": ("UPDATE blobs SET data = 'x' WHERE mime <> 'image/png'", "damage", "blob sha256:", "not as it was written"),
    "a size": ("UPDATE blobs SET size = 1 WHERE mime = 'image/png'", "fault", f"blob {digest_of(b'picture')}", "said to be 1 bytes long"),
    "a reference": ("DELETE FROM blobs WHERE mime = 'image/png'", "remnant", "tape 't', entry 1", "refers to the blob"),
}


def test_whatever_is_altered_is_named(postgres: Any):
    """Each in a copy of the same store."""
    with postgres.database(fresh=True) as url:
        anyio.run(lived, url)
        for what, (statement, severity, where, why) in ALTERED.items():
            with postgres.copy(url) as copy:
                with psycopg.connect(copy, options="-c search_path=playhead") as connection:
                    assert connection.execute(statement).rowcount != 0, what
                flaws = ph.verify(copy).flaws
                assert [flaw for flaw in flaws if flaw.severity == severity and where in flaw.where and why in flaw.what], (what, list(map(str, flaws)))


@pytest.mark.parametrize("ask", [ph.salvage, lambda url: ph.backup(url, Path("copy"))])
def test_what_only_files_need_names_the_servers_own_tools(postgres_url: str, ask: Any):
    with pytest.raises(ph.InvalidInput, match="pg_dump"):
        ask(postgres_url)


def test_a_database_without_a_store_is_left_as_it_is(empty_postgres_url: str):
    with pytest.raises(ph.StoreUnavailable, match="holds no store"):
        ph.verify(empty_postgres_url)
    with psycopg.connect(empty_postgres_url) as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'playhead'").fetchall() == []


def test_a_store_that_is_written_meanwhile_is_sound(postgres_url: str):
    async def scenario() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process", inline_limit=2_000) as store:

            async def write(number: int) -> None:
                for step in range(12):
                    await store.append_many(f"t{number}", [note(f"{LONG}{step}"), note("x")])
                    await store.append_many(sidecar_name(f"t{number}", "s"), [note("side")])
                    if step % 4 == 3:
                        await store.reset(f"t{number}", entries=[note("anew")])
                        await store.rename(f"t{number}", f"moved {number} {step}")

            async with anyio.create_task_group() as tasks:
                for number in range(3):
                    tasks.start_soon(write, number)
                for _ in range(6):
                    report = await anyio.to_thread.run_sync(ph.verify, postgres_url)
                    assert list(map(str, report.flaws)) == []

    anyio.run(scenario)
