"""Real conversations for benchmarks: where they are, how they are judged, and their tapes in memory.

They are not part of the project; PLAYHEAD_DATA names the folder that holds them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape

SESSIONS = ("trajectories/claude_code/spotter_258c7280.jsonl", "trajectories/claude_code/spotter_ae4a77f8.jsonl")
TAU_BENCH = "trajectories/tau_bench/gpt-4o-airline-even.json"


def data_folder() -> Path:
    """Return the folder of the shared data, or end with a line that says how to name it."""
    named = os.environ.get("PLAYHEAD_DATA")
    places = [Path(named)] if named else [p / "shared" / "data" for p in Path(__file__).resolve().parents]
    for place in places:
        if (place / "protocols.py").exists():
            return place
    sys.exit("The real conversations are not here; set PLAYHEAD_DATA to the folder that holds protocols.py and trajectories/.")


def judge() -> ModuleType:
    """Return the module that judges what was compiled."""
    spec = importlib.util.spec_from_file_location("playhead_protocols", data_folder() / "protocols.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def tape_of(path: str) -> Tape:
    """Return a tape in memory that holds a whole file."""
    tape = Tape(InMemoryTapeStore(), path)
    await import_file(data_folder() / path, into=tape)
    return tape


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows as an aligned table of text."""
    cells = [[str(c) for c in row] for row in (headings, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    return "\n".join("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))) for row in cells)
