"""Every example of README and docs runs: the blocks of a page one after the other, in an empty directory."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import CodeType

import anyio
import pytest

from tests.docs.pages import LANGUAGES, PAGES, Block, blocks, name_of

SCRIPT = "asyncio.run("
"""What a block holds that brings its own event loop."""

SERVED = ("docs/howto/postgres.md",)
"""Pages that need a PostgreSQL server, named in DATABASE_URL."""

ONCE = ("docs/reference/jsonl.md",)
"""Pages that damage their own files to show what becomes of them."""

RUNNING = tuple(page for page in PAGES if any(block.runs for block in blocks(page)))


def compiled(block: Block) -> CodeType:
    """Return a block's code, placed so that a traceback names the page and its line; it may await at the top."""
    code = "\n" * (block.line - 1) + block.code
    return compile(code, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


async def run_python(block: Block, names: dict[str, object], place: Path) -> None:
    if SCRIPT in block.code:
        run_script(block, place)
        return
    result = eval(compiled(block), names)
    if inspect.isawaitable(result):
        await result


def run_script(block: Block, place: Path) -> None:
    """Run a block that brings its own event loop as what it is, a whole program."""
    result = subprocess.run([sys.executable, "-c", block.code], cwd=place, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{name_of(block.page)}, line {block.line}:\n{result.stdout}\n{result.stderr}"


def run_bash(block: Block, place: Path) -> None:
    scripts = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PLAYHEAD_STORE": f"sqlite:///{place / 'tapes.db'}", "HOME": str(place), "NO_COLOR": "1"}
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", block.code], cwd=place, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{name_of(block.page)}, line {block.line}:\n{block.code}\n{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_the_examples_of_the_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    monkeypatch.chdir(tmp_path)
    if name_of(page) in SERVED:
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_url"))

    async def run_all(*languages: str) -> None:
        names: dict[str, object] = {"__name__": "__main__"}
        for block in blocks(page):
            if block.language == "python" and block.language in languages:
                await run_python(block, names, tmp_path)
            elif block.language in languages:
                run_bash(block, tmp_path)

    anyio.run(run_all, "python", "bash")
    # Who tries a page tries it twice, in the same place.
    if name_of(page) not in ONCE:
        anyio.run(run_all, "python")


def test_there_are_examples_to_run():
    assert name_of(PAGES[0]) == "README.md"
    assert PAGES[0] in RUNNING


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page: Path):
    unmarked = [f"line {block.line}: {block.language!r}" for block in blocks(page) if block.language not in LANGUAGES]
    assert unmarked == []
