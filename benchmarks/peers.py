"""Stores of other projects beside ours: one message more, and the last fifty read, on a conversation that is already long.

Makes an environment of its own under `.benchmarks/`, installs the newest of each that runs on this Python, and prints which.
bub needs Python 3.12: where this one is older, the first `python3.12` to `python3.14` found makes a second environment; without one
bub is left out, and a line says so.
Run: python -m benchmarks.peers [--long] [--json FILE]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import parser, report
from benchmarks.peer_stores import STORES

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".benchmarks"
PEERS = ("openai-agents", "langgraph", "langgraph-checkpoint-sqlite")
MEASURES = ("open and append", "append", "last 50", "memory, MB")
COUNTS = (1_000, 10_000)


def environment(name: str, python: str, packages: tuple[str, ...]) -> Path:
    """Make an environment with us and some packages, and return its Python."""
    place = ENVIRONMENTS / name
    its = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not its.exists():
        subprocess.run([python, "-m", "venv", place], check=True)
    subprocess.run([its, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ROOT, *packages], check=True)
    return its


def newer_python() -> str | None:
    """Return a Python that bub runs on: this one, one on the path, or one that pyenv keeps; None where there is none."""
    if sys.version_info >= (3, 12):
        return sys.executable
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)] + [str(path) for path in sorted(kept.glob("3.1[2-4].*/bin/python3"))]
    return next((python for python in found if python and runs(python)), None)


def runs(python: str) -> bool:
    """Return whether a Python starts; a shim may stand for one that is not there."""
    return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0


def asked(python: Path, name: str, place: Path, count: int) -> dict[str, Any]:
    """Run one step on one store in a process of its own."""
    told = subprocess.run([python, "-m", "benchmarks.peer_stores", name, place, str(count)], cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print a row for each store and length."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help="a conversation of 100,000 messages too")
    given = options.parse_args()
    pythons = dict.fromkeys(STORES, environment("peers", sys.executable, PEERS))
    newer = newer_python()
    if newer is None:
        del pythons["bub FileTapeStore"]
        print("bub is left out: it needs Python 3.12 or newer, and none was found.")
    else:
        pythons["bub FileTapeStore"] = environment("bub", newer, ("bub",))
    rows: list[list[object]] = []
    for count in (*COUNTS, *((100_000,) if given.long else ())):
        for name, python in pythons.items():
            with tempfile.TemporaryDirectory() as place:
                asked(python, name, Path(place), count)
                found = asked(python, name, Path(place), 0)
                rows.append([f"{name} {found['version']}", f"{count:,}", *(found[measure] for measure in MEASURES)])
    report("peers", ["store, ms", "messages", *MEASURES], rows, file=given.json)


if __name__ == "__main__":
    main()
