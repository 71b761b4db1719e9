"""A process that imports is killed at a random moment; the next import completes what it began."""

import random
import subprocess
import sys
import time
from pathlib import Path

import anyio

from playhead.entry.entry import TapeEntry
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from tests.unit.importers.sessions import Session, call, text

CHILD = """
import sys, anyio
from playhead.importers.driver import import_file
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape

async def main():
    async with SQLiteTapeStore(sys.argv[2]) as store:
        print("ready", flush=True)
        await import_file(sys.argv[1], into=Tape(store, "t"), progress=lambda told: print(told.added, flush=True))

anyio.run(main)
"""
KILLS = 6


def a_long_session(path: Path) -> Path:
    session = Session()
    for n in range(700):
        session.prompt(f"question {n} " + "word " * 100)
        session.turn(text("I look."), id=f"m{n}")
        first = session.turn(call(f"a{n}"), id=f"m{n}")
        session.turn(call(f"b{n}"), id=f"m{n}")
        session.result(f"b{n}", "found " * 200)
        session.result(f"a{n}", parent=first)
        session.add("progress", data={"n": n})
        session.turn(text("ok"), id=f"n{n}")
    return session.write(path)


async def said(tape: Tape) -> list[object]:
    return [_said(e) async for e in tape.query()]


def _said(entry: TapeEntry) -> object:
    return entry.kind, entry.payload, {k: v for k, v in entry.meta.items() if k != "uid"}


def test_an_import_that_is_killed_anywhere_is_completed_by_the_next(tmp_path: Path) -> None:
    path, place = a_long_session(tmp_path / "s.jsonl"), tmp_path / "tapes.db"
    chance = random.Random(7)
    begun = []
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(place)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout as told:
            for _ in range(chance.randint(1, 12)):
                told.readline()
            time.sleep(chance.random() / 20)
            child.kill()
        child.wait()
        begun.append(anyio.run(_count, place))
    assert begun == sorted(begun)
    assert begun[0] < begun[-1] or begun[0] > 0

    async def complete() -> tuple[list[object], list[object]]:
        whole = Tape(InMemoryTapeStore(), "t")
        await import_file(path, into=whole)
        async with SQLiteTapeStore(place) as store:
            tape = Tape(store, "t")
            await import_file(path, into=tape)
            return await said(tape), await said(whole)

    found, wanted = anyio.run(complete)
    assert found == wanted


async def _count(place: Path) -> int:
    async with SQLiteTapeStore(place) as store:
        return (await Tape(store, "t").head()).id
