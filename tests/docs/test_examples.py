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

RUNNING = tuple(page for page in PAGES if any(block.runs for block in blocks(page)))


def compiled(block: Block) -> CodeType:
    """Return a block's code, placed so that a traceback names the page and its line; it may await at the top."""
    code = "\n" * (block.line - 1) + block.code
    return compile(code, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


async def run_python(block: Block, names: dict[str, object]) -> None:
    result = eval(compiled(block), names)
    if inspect.isawaitable(result):
        await result


def run_bash(block: Block, place: Path) -> None:
    scripts = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PLAYHEAD_STORE": f"sqlite:///{place / 'tapes.db'}", "HOME": str(place), "NO_COLOR": "1"}
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", block.code], cwd=place, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{name_of(block.page)}, line {block.line}:\n{block.code}\n{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_the_examples_of_the_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}

    async def run_all() -> None:
        for block in blocks(page):
            if block.language == "python":
                await run_python(block, names)
            elif block.language == "bash":
                run_bash(block, tmp_path)

    anyio.run(run_all)


def test_there_are_examples_to_run():
    assert name_of(PAGES[0]) == "README.md"
    assert PAGES[0] in RUNNING


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page: Path):
    unmarked = [f"line {block.line}: {block.language!r}" for block in blocks(page) if block.language not in LANGUAGES]
    assert unmarked == []
