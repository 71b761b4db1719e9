"""Writers put blobs and refer to them while collectors remove what nothing names, and all of them are killed: nothing that is referred to is lost."""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.store.blobs import digest_of
from playhead.testing.clock import FakeClock
from tests.crash.processes import finished, started

ROUNDS = 40 if os.environ.get("PLAYHEAD_SOAK") else 4
LIMIT, BLOBS = 2_000, 300
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of Unix")

COMMON = f"""
import os, random, signal, sqlite3, sys, anyio
from datetime import timedelta
from pathlib import Path
import playhead as ph
from playhead import clock
from playhead.store.file.disk import Disk
from playhead.testing.clock import FakeClock
from playhead.testing.stage import note

kind, place = sys.argv[1], sys.argv[2] if sys.argv[1] == "postgres" else Path(sys.argv[2])

def opened(disk=None):
    if kind == "postgres":
        return ph.PostgresTapeStore(place, durability="process", inline_limit={LIMIT})
    if kind == "sqlite":
        return ph.SQLiteTapeStore(place / "tapes.db", durability="process", inline_limit={LIMIT})
    return ph.FileTapeStore(place / "tapes", durability="process", inline_limit={LIMIT}, disk=disk, on_finding=lambda finding: None)
"""

WRITER = (
    COMMON
    + """
async def main():
    chance = random.Random(sys.argv[4])
    with clock.using(FakeClock(clock.now() + timedelta(hours=1), step=timedelta(microseconds=1))):
        async with opened() as store:
            while True:
                number = chance.randrange(int(sys.argv[5]))
                blob = await store.put_blob(f"round {sys.argv[3]}, blob {number}".encode())
                length = chance.choice([10, 1_000])
                (entry,) = await store.append_many(chance.choice("abc"), [note(f"round {sys.argv[3]}, {number} " * length, ref=blob.digest)])
                print(entry.uid, blob.digest, number, length, flush=True)

anyio.run(main)
"""
)
"""Its clock is an hour ahead, so what it uses is within the grace of the collectors, however slow the machine is; what was there before is not."""

COLLECTOR = (
    COMMON
    + """
async def main():
    async with opened() as store:
        while True:
            report = await ph.gc_blobs(store, grace=timedelta(0))
            print(len(report.unused), flush=True)

anyio.run(main)
"""
)


def opened(kind: str, place: Any) -> Any:
    if kind == "postgres":
        return ph.PostgresTapeStore(place, durability="process", inline_limit=LIMIT)
    if kind == "sqlite":
        return ph.SQLiteTapeStore(place / "tapes.db", durability="process", inline_limit=LIMIT)
    return ph.FileTapeStore(place / "tapes", durability="process", inline_limit=LIMIT, on_finding=lambda finding: None)


async def prepared(kind: str, place: Any, number: int) -> None:
    """Leave blobs that were put yesterday and that nothing names: half of them the writer will put again, as media and as parts of payloads."""
    with clock.using(FakeClock(clock.now() - timedelta(days=1))):
        async with opened(kind, place) as store:
            for blob in range(BLOBS):
                await store.put_blob(f"round {number}, blob {blob}".encode())
                await store.put_blob((f"round {number}, {blob} " * 1_000).encode(), mime="text/plain; charset=utf-8")


async def checked(kind: str, place: Any, acknowledged: dict[str, tuple[int, str, int, int]]) -> None:
    """Prove that every entry that was acknowledged is there with all that it refers to, and that nothing is damaged."""
    async with opened(kind, place) as store:
        there = {entry.uid: entry for tape in "abc" for entry in await store.fetch_all(ph.TapeQuery(tape=tape))}
        for uid, (round_, digest, number, length) in acknowledged.items():
            assert there[uid].meta["ref"] == digest == digest_of(f"round {round_}, blob {number}".encode())
            assert there[uid].payload["text"] == f"round {round_}, {number} " * length
        for entry in there.values():
            assert digest_of(await store.get_blob(entry.meta["ref"])) == entry.meta["ref"] and entry.payload["text"]
    url = place if kind == "postgres" else place / ("tapes.db" if kind == "sqlite" else "tapes")
    assert not [flaw for flaw in ph.verify(url).flaws if flaw.severity != "remnant"]


@pytest.mark.parametrize("kind", ["sqlite", "file", "postgres"])
def test_nothing_that_is_referred_to_is_lost_whoever_is_killed(kind: str, tmp_path: Path, request: pytest.FixtureRequest):
    place = request.getfixturevalue("postgres_url") if kind == "postgres" else tmp_path
    chance = random.Random(11)
    acknowledged: dict[str, tuple[int, str, int, int]] = {}
    for number in range(ROUNDS):
        anyio.run(prepared, kind, place, number)
        others = [started(COLLECTOR, kind, place) for _ in range(2)]
        writer = started(WRITER, kind, place, number, number, BLOBS // 2)
        told = [writer.stdout.readline() for _ in range(chance.randrange(1, 60))]
        order = chance.sample([*others, writer], 3)
        for process in order[:2]:
            process.kill()
        if writer is order[2]:
            told += [writer.stdout.readline() for _ in range(5)]
        order[2].kill()
        told += writer.stdout.readlines()
        for process in order:
            process.communicate()
        for uid, digest, blob, length in (line.decode().split() for line in told if line.endswith(b"\n")):
            acknowledged[uid] = (number, digest, int(blob), int(length))
        anyio.run(checked, kind, place, acknowledged)
    assert len(acknowledged) > ROUNDS * 5

    async def last() -> None:
        async with opened(kind, place) as store:
            entries = [entry for tape in "abc" for entry in await store.fetch_all(ph.TapeQuery(tape=tape))]
            named = {entry.meta["ref"] for entry in entries} | {digest_of(text.encode()) for entry in entries if len(text := entry.payload["text"]) > LIMIT}
            with clock.using(FakeClock(clock.now() + timedelta(hours=2))):
                await ph.gc_blobs(store, grace=timedelta(0))
            assert {blob.digest for blob in await store.blobs()} == named

    anyio.run(last)
    anyio.run(checked, kind, place, acknowledged)


SWEEP = (
    COMMON
    + """
import json, shutil

class Toll:
    '''Counts calls once it is armed, and kills this process at one of them.'''

    at, armed, count = 0, False, 0

    def due(self):
        self.count += self.armed
        if self.armed and self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

toll = Toll()

class MortalDisk(Disk):
    pass

def mortal(name):
    real = getattr(Disk, name)
    def call(self, *args):
        toll.due()
        return real(self, *args)
    return call

for name in ("open_to_write", "write", "date", "rename", "remove"):
    setattr(MortalDisk, name, mortal(name))

def connect(*args, **options):
    connection = real_connect(*args, **options)
    connection.set_trace_callback(lambda statement: toll.due())
    return connection

real_connect, sqlite3.connect = sqlite3.connect, connect

async def prepared():
    with clock.using(FakeClock(clock.now() - timedelta(days=1))):
        async with opened() as store:
            for number in range(6):
                await store.put_blob(b"blob %d" % number, mime="image/png")
            await store.append_many("t", [note("x", ref=(await store.put_blob(b"blob 0")).digest)])

async def deed():
    async with opened(MortalDisk()) as store:
        await store.head("t")
        toll.armed = True
        await ph.gc_blobs(store, grace=timedelta(hours=1))
        blob = await store.put_blob(b"blob 1")
        await store.append_many("t", [note("long " * 1_000, ref=blob.digest)])
        toll.armed = False

async def seen():
    async with opened() as store:
        entries = await store.fetch_all(ph.TapeQuery(tape="t"))
        for entry in entries:
            assert await store.get_blob(entry.meta["ref"]) and entry.payload["text"]
        kept = [(await store.get_blob(blob.digest)).decode()[:6] for blob in await store.blobs()]
        await ph.gc_blobs(store, grace=timedelta(0))
        left = sorted([(await store.get_blob(blob.digest)).decode()[:6] for blob in await store.blobs()])
    flaws = [str(flaw) for flaw in ph.verify(place / ("tapes.db" if kind == "sqlite" else "tapes")).flaws if flaw.severity != "remnant"]
    return len(entries), len(kept), left, flaws

sound = place
place = sound / "sound"
place.mkdir()
anyio.run(prepared)
at, died, found = 0, True, []
while died:
    at += 1
    place = sound / str(at)
    shutil.copytree(sound / "sound", place)
    child = os.fork()
    if not child:
        toll.at = at
        anyio.run(deed)
        os._exit(7)
    status = os.waitpid(child, 0)[1]
    died = os.WIFSIGNALED(status)
    if not died and os.WEXITSTATUS(status) != 7:
        sys.exit(f"a child failed: {status}")
    found.append(anyio.run(seen))
print(json.dumps(found))
"""
)


@unix
@pytest.mark.parametrize("kind", ["sqlite", "file"])
def test_a_collection_and_an_append_behind_it_are_killed_at_each_of_their_calls(kind: str, tmp_path: Path):
    found = json.loads(finished(SWEEP, kind, tmp_path))
    assert len(found) > 8
    for entries, kept, left, flaws in found:
        assert flaws == []
        assert left == (["blob 0"] if entries == 1 else ["blob 0", "blob 1", "long l"])
        assert kept >= len(left)
    assert [entries for entries, _, _, _ in found] == sorted(entries for entries, _, _, _ in found)
    assert found[0][:2] == [1, 6] and found[-1][:2] == [2, 3]
