"""How many bytes entries take on the disk, for each byte of the JSON lines that they are in a file, with the index of words and without it.

The entries are real: every recorded session of the shared data that is an agent's, and the conversations of LoCoMo, each on a tape of its own and repeated
as other tapes until there are --entries of them, so that what a store needs once does not count. SQLite is measured when it is closed, PostgreSQL when
it is vacuumed. Run: python -m benchmarks.disk [--entries N] [--postgres] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from benchmarks.measure import parser, report
from benchmarks.real import data_folder
from benchmarks.search import Site, site
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict
from playhead.entry.lines import dump_line
from playhead.errors import PlayheadError
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape

ENTRIES = 20_000


async def sessions() -> list[list[TapeEntry]]:
    """Return the entries of every recorded session, whatever wrote it."""
    store = InMemoryTapeStore()
    for number, path in enumerate(sorted((data_folder() / "trajectories").rglob("*.*"))):
        with suppress(PlayheadError):  # licences, and files that hold no session
            await import_file(path, into=Tape(store, f"session {number}"))
    return [list(await store.fetch_all(TapeQuery(tape=name))) for name in await store.list_tapes()]


def talks() -> list[list[TapeEntry]]:
    """Return the turns of each conversation of LoCoMo as messages."""
    found = []
    for talk in json.loads((data_folder() / "locomo" / "locomo_dev5.json").read_text("utf-8")):
        said = talk["conversation"]
        turns = [turn for name in said if name.startswith("session_") and isinstance(said[name], list) for turn in said[name]]
        found.append([TapeEntry.message({"role": "user", "content": f"{turn['speaker']}: {turn['text']}"}) for turn in turns])
    return found


def repeated(tapes: Sequence[Sequence[TapeEntry]], number: int) -> Iterator[Sequence[TapeEntry]]:
    """Yield tapes anew, with uids of their own, until there are so many entries."""
    held = 0
    for place in count():
        tape = tapes[place % len(tapes)]
        if held >= number:
            return
        held += len(tape)
        yield [replace(entry, id=0, meta=FrozenDict({key: value for key, value in entry.meta.items() if key not in ("uid", "idempotency_key")})) for entry in map(TapeEntry.copy, tape)]


async def measured(where: Site, name: str, tapes: Sequence[Sequence[TapeEntry]], *, entries: int, search: str) -> tuple[int, int, float]:
    """Return how many entries were kept, how long a line of them is, and how many bytes they take for each byte of JSON."""
    size = kept = tapes_kept = 0
    async with where.opened(name, search=search) as store:
        for tape in repeated(tapes, entries):
            written = await store.append_many(f"tape {tapes_kept}", tape)
            tapes_kept += 1
            size += sum(len(dump_line(entry)) for entry in written)
            kept += len(written)
        if search == "index":
            for number in range(tapes_kept):
                await store.search(TapeQuery(tape=f"tape {number}"), "word")
    return kept, size // kept, where.used(name) / size


def main() -> None:
    """Print a row for each store and kind of entries."""
    options = parser(__doc__)
    options.add_argument("--entries", type=int, default=ENTRIES, help=f"how many entries (default: {ENTRIES:,})")
    options.add_argument("--postgres", action="store_true", help="also in PostgreSQL, on a server started for the run")
    chosen = options.parse_args()
    kinds: Mapping[str, list[list[TapeEntry]]] = {"sessions": asyncio.run(sessions()), "talks": talks()}
    rows: list[list[object]] = []
    for kind in ("sqlite", "file", *(["postgres"] if chosen.postgres else [])):
        for what, tapes in kinds.items():
            figures = []
            for search in ("scan", "index"):
                with site(kind) as where:
                    figures.append(asyncio.run(measured(where, "disk", tapes, entries=chosen.entries, search=search)))
            rows.append([kind, what, *figures[0], figures[1][2]])
    report("disk", ["store", "entries are", "entries", "bytes of JSON each", "disk / JSON", "with the index"], rows, file=chosen.json)


if __name__ == "__main__":
    main()
