"""What the benchmarks share: runs in turns, medians, a table, a JSON file."""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from pathlib import Path
from statistics import median

Run = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The median seconds of a run, and the median of its ratios to the first run of the same round."""

    seconds: float
    ratio: float


async def in_turns(runs: Mapping[str, Run], *, rounds: int) -> dict[str, Figure]:
    """Measure runs that take turns, so that what slows the machine slows all of them; what it does in between is left out by the medians."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        await run()
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(await run())
    first = next(iter(seconds.values()))
    return {name: Figure(seconds=median(found), ratio=median(map(truediv, found, first))) for name, found in seconds.items()}


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the options that all benchmarks have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--rounds", type=int, default=45, help="how often each run is repeated")
    options.add_argument("--json", metavar="FILE", type=Path, help="write the figures to a file, too")
    return options


def report(name: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, file: Path | None) -> None:
    """Print the rows as a table and write them to the file."""
    cells = [[_cell(value) for value in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))))
    if file is not None:
        found = {"benchmark": name, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "rows": [dict(zip(header, row, strict=True)) for row in rows]}
        file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
