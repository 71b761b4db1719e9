"""What a SQLite store keeps when the power goes: every write that was not flushed may be lost, whole, in part or out of order."""

from __future__ import annotations

import os
import pickle
import random
import sys

import anyio
import pytest

from playhead.store.change import MERGED
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from tests.crash.power import Aftermath
from tests.crash.processes import finished
from tests.crash.sqlite_disk import is_within_reach
from tests.crash.test_sqlite_crash import integrity

MOMENTS = 400 if os.environ.get("PLAYHEAD_SOAK") else 60
within_reach = pytest.mark.skipif(sys.platform == "win32" or not is_within_reach(), reason="SQLite is built into Python's own module here")

LIFE = """
import pickle, sys
from pathlib import Path
import anyio
from playhead.entry.entry import TapeEntry
from playhead.store.rows import connection
from playhead.store.change import MERGED, Append, Close, Fork
from playhead.store.family import branch_name
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.rows.statements import statements
from tests.crash.sqlite_disk import Recorder

def note(text):
    return TapeEntry(0, "note", {"text": text}, {})

async def go(path, durability):
    store = SQLiteTapeStore(path, durability=durability)
    for n in range(12):
        for i in range(3):
            stored = await store.append("t", note(f"{n}.{i} " + "x" * 700))
            recorder.note("kept", "t", stored.id)
        branch = branch_name("t", str(n))
        await store.apply([Fork(tape=branch, parent="t")])
        recorder.note("forked", branch)
        delta = [note(f"{n} own {i}") for i in range(2)]
        await store.append_many(branch, delta)
        recorder.note("kept", branch, stored.id + 2)
        *_, last = (await store.apply([Append(tape="t", entries=delta), Close(tape=branch, outcome=MERGED)]))[0]
        recorder.note("kept", "t", last.id)
    await store.aclose()

if sys.argv[2] == "off":
    found = {**statements("connection"), "sync_disk": "PRAGMA synchronous = OFF"}
    connection.statements = lambda file: found if file == "connection" else statements(file)
recorder = Recorder()
anyio.run(go, sys.argv[1], "process" if sys.argv[2] == "process" else "disk")
Path(sys.argv[3]).write_bytes(pickle.dumps(recorder.events))
"""


def lived(tmp_path, how):
    """Let a store live in a process of its own and return what it did to the disk, and when it acknowledged what."""
    place, told = tmp_path / "disk", tmp_path / "events"
    place.mkdir()
    finished(LIFE, place / "tapes.db", how, told, cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    events = pickle.loads(told.read_bytes())
    assert sum(event[0] == "change" for event in events) > 100
    assert any(event[0] == "flush" for event in events) is (how != "off")
    return place, events


async def left(path):
    """Return how many entries there are of each tape that is left; each must be dense, and no merge cut."""
    found = {}
    async with SQLiteTapeStore(path) as store:
        records = await store.branches("t")
        for tape in ("t", *(record.name for record in records)):
            entries = await store.fetch_all(TapeQuery(tape=tape))
            assert [e.id for e in entries] == list(range(1, len(entries) + 1))
            assert all(e.payload["text"] for e in entries)
            found[tape] = len(entries)
        merged = [e for e in await store.fetch_all(TapeQuery(tape="t")) if " own " in e.payload["text"]]
        assert len(merged) == 2 * sum(record.state == MERGED for record in records)
    return found


def lost(tmp_path, how):
    """Return what was acknowledged and lost at some moments of a life, told by the moment."""
    place, events = lived(tmp_path, how)
    chance, losses = random.Random(5), []
    for moment in sorted(chance.sample(range(len(events)), min(MOMENTS, len(events)))):
        for kept in ("nothing", "some", "holes"):
            target = tmp_path / f"{moment} {kept}"
            target.mkdir()
            Aftermath([e for e in events[:moment] if e[0] in ("name", "change", "flush", "flush directory")]).write(place, target, kept=kept, chance=chance)
            losses += [(moment, kept, tape) for tape in missing(target / "tapes.db", events[:moment])]
    return losses


def missing(path, events):
    acknowledged = {}
    for event in events:
        if event[0] == "kept":
            acknowledged[event[1]] = event[2]
        elif event[0] == "forked":
            acknowledged.setdefault(event[1], 0)
    if not acknowledged:
        return []
    if not path.exists():
        return sorted(acknowledged)
    try:
        found = anyio.run(left, path)
    except Exception as error:  # noqa: BLE001 - a store that cannot be read any more has lost everything
        return [f"all, by {error!r}"]
    assert integrity(path) == [("ok",)]
    return [tape for tape, count in acknowledged.items() if found.get(tape, -1) < count]


@within_reach
def test_what_was_acknowledged_at_disk_survives_a_loss_of_power(tmp_path):
    assert lost(tmp_path, "disk") == []


@within_reach
def test_the_test_finds_a_store_that_does_not_flush(tmp_path):
    """synchronous=OFF loses what it acknowledged, or all."""
    assert len(lost(tmp_path, "off")) > 10


@within_reach
def test_at_process_the_newest_may_be_missing_and_the_rest_is_whole(tmp_path):
    found = lost(tmp_path, "process")
    assert found
    assert [loss for loss in found if loss[2].startswith("all")] == []
