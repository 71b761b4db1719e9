"""A merge is killed at each of its statements, or at each of its calls to the system: it was made or it was not, and made again it is made once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.crash.processes import finished

ROOT = Path(__file__).resolve().parents[2]
SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
DURABILITY = "disk" if SOAK else "process"
DEEDS = ("append", "replace", "fork", "squash", "long") if SOAK else ("append", "replace", "fork")
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of Unix")

SWEEP = """
import json, os, shutil, signal, sqlite3, sys, anyio
from pathlib import Path

kind, place, durability, root = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
sys.path.insert(0, root)
from playhead.entry.entry import TapeEntry
from playhead.store.change import MERGED, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.disk import Disk
from playhead.store.file.store import FileTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.testing.families import everything
from playhead.testing.stage import keyed, note

BRANCH, INNER, SIDE = branch_name("t", "try"), branch_name("t", "inner"), sidecar_name("t", "s")

class Toll:
    '''Counts calls once it is armed, and kills this process at one of them: before it is carried out, or in the middle of it where it writes.'''

    def __init__(self, at, how):
        self.at, self.how, self.armed, self.count = at, how, False, 0

    def is_due(self):
        self.count += self.armed
        return self.armed and self.count == self.at

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

class MortalDisk(Disk):
    def __init__(self, toll):
        self.toll = toll

def mortal(name):
    real = getattr(Disk, name)
    def call(self, *args):
        if (self.toll.how == "torn" and name != "write") or not self.toll.is_due():
            return real(self, *args)
        if self.toll.how == "torn":
            real(self, args[0], args[1][: len(args[1]) // 2], args[2])
        self.toll.die()
    return call

for name in ("open_to_write", "write", "flush", "cut", "rename", "link", "remove", "flush_directory", "make_directory"):
    setattr(MortalDisk, name, mortal(name))

toll = Toll(0, "")

def connect(*args, **options):
    connection = real_connect(*args, **options)
    connection.set_trace_callback(lambda statement: toll.die() if toll.is_due() else None)
    return connection

def opened(folder, disk=None):
    if kind == "sqlite":
        return SQLiteTapeStore(folder / "tapes.db", durability=durability)
    return FileTapeStore(folder / "tapes", durability=durability, disk=disk, on_finding=lambda finding: None)

async def prepared(folder):
    async with opened(folder) as store:
        await store.append_many("t", [note(f"a {n}") for n in range(3)])
        await store.append_many(SIDE, [note("side")])
        await store.apply([Fork(tape=BRANCH, parent="t", owner="run")])
        await store.append_many(BRANCH, [keyed("b 1", "b 1"), note("b 2")])
        await store.append_many(sidecar_name(BRANCH, "s"), [note("side of the branch")])
        await store.append_many(sidecar_name(BRANCH, "new"), [note("first there")])
        await store.apply([Fork(tape=INNER, parent=BRANCH, at=4)])
        await store.append_many("t", [note("meanwhile")])

OWN = [keyed("b 1", "b 1"), note("b 2")]
END = [Append(tape=SIDE, entries=[note("side of the branch")], marks=[2]), Append(tape=sidecar_name("t", "new"), entries=[note("first there")], marks=[2])]

def applied(changes):
    return lambda store: store.apply(changes, unless=("t", "merge"))

DEEDS = {
    "append": applied([Append(tape="t", entries=[*OWN, keyed("merge", "merge")]), *END, Close(tape=BRANCH, outcome=MERGED)]),
    "squash": applied([Append(tape="t", entries=[keyed("merge", "merge")]), Close(tape=BRANCH, outcome=SQUASHED)]),
    "replace": applied([Reset(tape="t", entries=[*OWN, keyed("merge", "merge")]), Reset(tape=SIDE, entries=[note("side of the branch")]), Close(tape=BRANCH, outcome=MERGED)]),
    "fork": applied([Fork(tape=branch_name("t", "third"), parent=BRANCH), Append(tape=branch_name("t", "third"), entries=[note("on")]), Append(tape="t", entries=[keyed("merge", "merge")])]),
}
async def piecemeal(store):
    '''Make a merge change by change, as a store without `apply` would.'''
    if not (await store.branch(BRANCH)).is_open:
        return None
    for change in (Append(tape="t", entries=[*OWN, keyed("merge", "merge")]), *END, Close(tape=BRANCH, outcome=MERGED)):
        await store.apply([change])

DEEDS["piecemeal"] = piecemeal
DEEDS["long"] = applied([Append(tape="t", entries=[note("x" * 5_000) for _ in range(100)] + [keyed("merge", "merge")]), *END, Close(tape=BRANCH, outcome=MERGED)])

async def seen(folder):
    async with opened(folder) as store:
        return plain(await everything(store, "t"))

def plain(found):
    '''Leave out what differs from one attempt to the next: the uids and dates of entries and records.'''
    def one(value):
        if isinstance(value, TapeEntry):
            return [value.id, value.kind, value.payload, value.meta.get("idempotency_key")]
        if isinstance(value, list):
            return [one(each) for each in value]
        if hasattr(value, "closed_at"):
            return [value.name, value.parent, *value.base, value.state, value.owner]
        return value
    return json.loads(json.dumps(one(found), default=repr))

async def done(folder, deed, disk=None, told=None):
    async with opened(folder, disk) as store:
        await store.head("t")
        toll.armed = True
        result = await DEEDS[deed](store)
        if toll.how == "unsaid":
            toll.die()
        if told is not None:
            os.write(told, b"made")
        toll.armed = False
        return result

def attempted(folder, deed, at, how):
    '''Let a child do it and die on the way; return whether it died and whether it had said that it was done.'''
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        toll.at, toll.how, toll.count = at, how, 0
        anyio.run(done, folder, deed, MortalDisk(toll), writing)
        os._exit(7)
    os.close(writing)
    told = os.read(reading, 10)
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) != 7:
        sys.exit(f"a child failed: {status}")
    return os.WIFSIGNALED(status), told == b"made"

real_connect, sqlite3.connect = sqlite3.connect, connect
sound = place / "sound"
sound.mkdir()
anyio.run(prepared, sound)
before = anyio.run(seen, sound)
for deed in sys.argv[5:]:
    folder = place / deed
    shutil.copytree(sound, folder)
    anyio.run(done, folder, deed)
    after = anyio.run(seen, folder)
    for how in ("unsaid", "before") if kind == "sqlite" else ("unsaid", "before", "torn"):
        at, died = 0, True
        while died and not (how == "unsaid" and at):
            at += 1
            folder = place / f"{deed} {how} {at}"
            shutil.copytree(sound, folder)
            died, told = attempted(folder, deed, 0 if how == "unsaid" else at, how)
            found = anyio.run(seen, folder)
            again = anyio.run(done, folder, deed) is not None
            finally_ = anyio.run(seen, folder)
            state = "made" if found == after else "not made" if found == before else "TORN"
            print(json.dumps({"deed": deed, "how": how, "at": at, "died": died, "told": told, "state": state, "again": again, "sound": finally_ == after}), flush=True)
            shutil.rmtree(folder)
"""


def swept(kind: str, place: Path, *deeds: str) -> list[dict[str, object]]:
    """Return what came of each attempt at each deed."""
    return [json.loads(line) for line in finished(SWEEP, kind, place, DURABILITY, ROOT, *deeds).splitlines()]


@unix
@pytest.mark.parametrize("kind", ["sqlite", "file"])
def test_a_merge_that_is_killed_was_made_or_was_not_and_is_made_once(tmp_path: Path, kind: str):
    """With its sidecars and the end of its branch; what was acknowledged is there; a reset and a fork as part of it, too."""
    attempts = swept(kind, tmp_path, *DEEDS)
    assert [attempt for attempt in attempts if attempt["state"] == "TORN" or not attempt["sound"]] == []
    assert [attempt for attempt in attempts if attempt["state"] == "not made" and (attempt["told"] or not attempt["died"])] == []
    assert [attempt for attempt in attempts if attempt["again"] != (attempt["state"] == "not made")] == []
    assert {attempt["state"] for attempt in attempts if attempt["how"] == "unsaid"} == {"made"}
    for deed in DEEDS:
        killed = [attempt["state"] for attempt in attempts if attempt["deed"] == deed and attempt["died"]]
        assert len(killed) > 10
        assert "not made" in killed


@unix
def test_a_merge_in_several_steps_is_found_to_be_torn(tmp_path: Path):
    assert "TORN" in {attempt["state"] for attempt in swept("file", tmp_path, "piecemeal")}
