"""Moving whole tapes: entries a second, and the peak of memory, of an export, an import and a copy, by the length of the tape.

Each runs in a process of its own; what Python and the library take at their start is left out of the peak.
With `--postgres` they also go to a PostgreSQL server that is started for the run, and come back.
Run: python -m benchmarks.moving [--long] [--postgres] [--json FILE]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from benchmarks.measure import parser, report
from benchmarks.postgres import server_url
from benchmarks.retention import entries
from playhead.store.sqlite.store import SQLiteTapeStore

SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
BATCH = 1_000

CHILD = """
import resource, sys, time
import anyio
import playhead as ph

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

what, source, target = sys.argv[1:]
move = {"export": ph.export_store, "import": ph.import_store, "copy": ph.copy_store}[what]
before, start = peak(), time.perf_counter()
report = anyio.run(move, source, target)
print(report.entries, time.perf_counter() - start, peak() - before)
"""


async def filled(path: Path, count: int) -> None:
    """Write a tape to a new SQLite file."""
    async with SQLiteTapeStore(path, durability="process") as store:
        batch = []
        for entry in entries(count):
            batch.append(entry)
            if len(batch) == BATCH:
                await store.append_many("tape", batch)
                batch = []
        await store.append_many("tape", batch)


def moved(what: str, source: str, target: str) -> tuple[int, float, int]:
    """Return how many entries were moved, in how many seconds, and the peak of memory in bytes."""
    told = subprocess.run([sys.executable, "-c", CHILD, what, source, target], check=True, capture_output=True, text=True).stdout.split()
    return int(told[0]), float(told[1]), int(told[2])


def ways(place: str, server: str | None) -> Iterator[tuple[str, str, str]]:
    """Yield what is measured, from where and to where, each of which finds what the ones before left."""
    source = f"sqlite:///{place}/tapes.db"
    yield "export", source, f"{place}/exported"
    yield "import", f"{place}/exported", f"sqlite:///{place}/imported.db?durability=process"
    yield "copy", source, f"file:{place}/copied?durability=process"
    if server is not None:
        url = f"{server}?durability=process"
        yield "import to PostgreSQL", f"{place}/exported", f"{url}&tenant=imported"
        yield "export from PostgreSQL", f"{url}&tenant=imported", f"{place}/exported again"
        yield "copy to PostgreSQL", source, f"{url}&tenant=copied"


async def main() -> None:
    """Move tapes of several lengths."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help=f"a tape of {LONG:,} entries, too: minutes, and 5 GB of disk")
    options.add_argument("--postgres", action="store_true", help="also to a PostgreSQL server and back")
    args = options.parse_args()
    rows = []
    for count in (*SIZES, *((LONG,) if args.long else ())):
        with tempfile.TemporaryDirectory() as place, server_url(socket=False) if args.postgres else nullcontext() as server:
            await filled(Path(place, "tapes.db"), count)
            for what, one, other in ways(place, server):
                number, seconds, peak = moved(what.partition(" ")[0], one, other)
                rows.append((f"{what} {count:,}", number / seconds, peak / 1e6))
    report("moving", ("what", "entries/s", "MB at the peak"), rows, file=args.json)


if __name__ == "__main__":
    asyncio.run(main())
