"""What the tests of real programs share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.program import SMALL, Program, said

TURNS = 90


@pytest.fixture
def playhead(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A tape `t` of a long conversation that nobody folded yet; only read by the tests."""
    program = Program(tmp_path_factory.mktemp("written"))
    (program.place / "chat.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": said(n)} for n in range(TURNS)]))
    program.json("import", "chat.json", "--tape", "t")
    return program


@pytest.fixture(scope="session")
def remembered(written: Program, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The same tape with all its summaries; only read by the tests."""
    program = _copied(written, tmp_path_factory.mktemp("remembered"))
    program.json("fold", "--tape", "t", "--summarizer", "extractive", *SMALL)
    return program


@pytest.fixture
def fresh(written: Program, tmp_path: Path) -> Program:
    """A copy of the tape that nobody folded, to write to."""
    return _copied(written, tmp_path)


@pytest.fixture
def folded(remembered: Program, tmp_path: Path) -> Program:
    """A copy of the tape with its summaries, to write to."""
    return _copied(remembered, tmp_path)


def _copied(program: Program, place: Path) -> Program:
    copy = Program(place)
    program.json("backup", str(copy.store))
    return copy
