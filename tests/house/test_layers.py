"""Imports only point down."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the layers of a copy of the package with the project's own contract."""
    return subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return tmp_path / "src"


def test_imports_only_point_down():
    result = lint(ROOT / "src")
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_import_that_points_up_is_found(copied: Path):
    with (copied / "playhead" / "entry" / "codec.py").open("a") as file:
        file.write("\nfrom playhead.store import query  # noqa\n")
    result = lint(copied)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "playhead.entry is not allowed to import playhead.store" in result.stdout


def test_a_package_without_a_layer_is_found(copied: Path):
    (copied / "playhead" / "attic").mkdir()
    (copied / "playhead" / "attic" / "__init__.py").write_text('"""What nobody placed."""\n')
    result = lint(copied)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "attic" in result.stdout + result.stderr
