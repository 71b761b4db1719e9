"""Import of a long session: MB/s and peak memory, for reading alone, onto a tape, and again onto the same tape.

The session is made up: prompts, turns of several records, results of all sizes, progress. Each run is a process of its
own, so that its peak is its own; `memory` is what it takes above a process that only loaded the modules.
Run: python -m benchmarks.importing [--long] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measure import parser, report
from playhead.importers.detect import Opened, source_of
from playhead.importers.driver import import_file
from playhead.importers.items import Marks
from playhead.importers.known import Known
from playhead.importers.report import Notes
from playhead.importers.writing import Writing
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape

SIZES = (10, 100)
LONG = 1_000
STAGES = ("load", "read", "import", "again")
WORDS = ["the", "session", "tape", "turn", "result", "file", "change", "error", "build", "test", "line", "value", "path", "code", "note", "open", "close", "read", "write"]
SESSION = {"isSidechain": False, "userType": "external", "cwd": "/home/user/project", "sessionId": "5e551011", "version": "2.1.39", "gitBranch": "main"}


def records(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield records that hang on each other, like those of a session that never ends."""
    parent, count = None, 0

    def record(kind: str, **fields: Any) -> dict[str, Any]:
        nonlocal parent, count
        count += 1
        uuid = f"{count:08x}-0000-4000-8000-{count:012x}"
        made = {"parentUuid": parent, **SESSION, "type": kind, **fields, "uuid": uuid, "timestamp": f"2026-02-11T20:{count // 60 % 60:02d}:{count % 60:02d}.000Z"}
        parent = uuid
        return made

    def turn(*blocks: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 3, "cache_read_input_tokens": 17_842, "output_tokens": 27, "service_tier": "standard"}
        message = {"model": "claude-opus-4-6", "id": f"msg_{turns}", "type": "message", "role": "assistant", "content": list(blocks), "stop_reason": None, "usage": usage}
        return record("assistant", message=message, requestId=f"req_{turns}")

    def words(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))

    turns = 0
    while True:
        yield record("user", message={"role": "user", "content": words(60)}, permissionMode="default", todos=[])
        for _ in range(chance.randint(5, 30)):
            turns += 1
            yield turn({"type": "thinking", "thinking": words(80), "signature": "s" * 300})
            yield turn({"type": "text", "text": words(40)})
            for n in range(chance.randint(1, 3)):
                call = f"toolu_{turns}_{n}"
                yield turn({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": words(12), "description": words(6)}})
                for _ in range(chance.randint(0, 4)):
                    yield record("progress", data={"type": "hook_progress", "hookEvent": "PostToolUse", "command": words(8)}, toolUseID=call, parentToolUseID=call)
                output = words(int(chance.paretovariate(0.7) * 20) % 6_000 + 1)
                content = [{"type": "tool_result", "tool_use_id": call, "content": output}]
                yield record("user", message={"role": "user", "content": content}, toolUseResult={"stdout": output, "stderr": "", "interrupted": False})


def write(path: Path, *, megabytes: int) -> Path:
    """Write a session of about that size."""
    left = megabytes * 1_000_000
    with path.open("wb") as file:
        for record in records(random.Random(megabytes)):
            left -= file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            if left <= 0:
                return path
    return path


def read(path: Path) -> int:
    """Make all entries of a file and let go of them; return how many."""
    with path.open("rb") as file:
        source = source_of(Opened(file=file, size=path.stat().st_size, path=str(path), name=path.name), format="auto")
        for _ in source.index(strict=False):
            pass
        items = source.items(marks=Marks(), notes=Notes(), seen=lambda _: None)
        return sum(map(len, Writing(Known(), Notes(), format=source.format).batches(items)))


async def write_tape(path: Path, store: Path) -> int:
    """Import a file; return how many of its entries the tape then holds."""
    async with SQLiteTapeStore(store) as tapes:
        done = await import_file(path, into=Tape(tapes, "session"))
    return done.added + done.known


def run(stage: str, path: Path, store: Path) -> dict[str, float]:
    """Run one stage in this process; return its seconds, its entries and its peak memory in MB."""
    start = perf_counter()
    entries = 0 if stage == "load" else read(path) if stage == "read" else asyncio.run(write_tape(path, store))
    seconds = perf_counter() - start
    return {"seconds": seconds, "entries": entries, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def in_child(stage: str, path: Path, store: Path) -> dict[str, float]:
    """Run one stage in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.importing", "--stage", stage, str(path), str(store)], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def rows(place: Path, megabytes: int) -> Iterator[list[object]]:
    """Yield a row for each stage over one file."""
    path, store = write(place / f"{megabytes}.jsonl", megabytes=megabytes), place / f"{megabytes}.db"
    size = path.stat().st_size / 1e6
    found = {stage: in_child(stage, path, store) for stage in STAGES}
    for stage in STAGES[1:]:
        one = found[stage]
        stored = store.stat().st_size / 1e6 if stage != "read" else 0.0
        yield [f"{megabytes} MB {stage}", int(one["entries"]), one["seconds"], size / one["seconds"], one["peak"] - found["load"]["peak"], stored / size]


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help=f"import a file of {LONG} MB, too")
    options.add_argument("--stage", nargs=3, metavar=("STAGE", "FILE", "STORE"), help="run one stage in this process")
    args = options.parse_args()
    if args.stage:
        print(json.dumps(run(args.stage[0], Path(args.stage[1]), Path(args.stage[2]))))
        return
    with tempfile.TemporaryDirectory() as place:
        found = [row for size in (*SIZES, *((LONG,) if args.long else ())) for row in rows(Path(place), size)]
    report("importing", ["file and stage", "entries", "seconds", "MB/s", "memory MB", "stored/file"], found, file=args.json)


if __name__ == "__main__":
    main()
