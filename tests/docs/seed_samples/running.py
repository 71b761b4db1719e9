"""Running printed samples: in a program of their own, or one after the other as the text goes on."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.docs.seed_samples.texts import ours


async def follow(*codes: str, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run samples one after the other, with the names that the text takes for granted, and return all names."""
    known: dict[str, Any] = {"__name__": "sample", **(names or {})}
    for code in codes:
        result = eval(compile(ours(code), "sample", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), known)
        if inspect.isawaitable(result):
            await result
    return known


def program(code: str, *, place: Path, **environment: str) -> str:
    """Run a sample as the program that it is, and return what it prints."""
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", "NO_PROXY": "127.0.0.1", **environment}
    ended = subprocess.run([sys.executable, "-W", "error", "-c", ours(code)], cwd=place, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
