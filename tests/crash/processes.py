"""Python in processes of its own, which can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


def started(script, *arguments, **options):
    """Start a script; what it prints can be read from `stdout`."""
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **options)


def finished(script, *arguments, **options):
    """Run a script to its end and return what it printed; fail the test where it failed."""
    process = started(script, *arguments, **options)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    return out.decode()
