"""Which PostgreSQL the tests take, and what becomes of them where there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.postgres import programs

ROOT = Path(__file__).resolve().parents[2]


def installed(place: Path, *, version: str, names: tuple[str, ...] = programs.WANTED) -> Path:
    """Make programs that say which version they are."""
    place.mkdir(parents=True)
    for name in names:
        (place / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        (place / name).chmod(0o755)
    return place


def test_the_newest_server_is_taken_that_has_all_its_programs_and_is_new_enough(tmp_path: Path):
    old = installed(tmp_path / "13", version="13.20")
    cut = installed(tmp_path / "17", version="17.2", names=("initdb", "postgres"))
    fits = [installed(tmp_path / number, version=f"{number}.4") for number in ("15", "16")]
    assert programs.newest([old, cut]) is None
    assert programs.newest([]) is None
    assert programs.newest([old, *fits, cut]) == fits[1]


def test_a_test_without_a_server_is_skipped_and_fails_where_one_is_required(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PLAYHEAD_POSTGRES", raising=False)
    monkeypatch.delenv("PLAYHEAD_POSTGRES_URL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="15 or newer"):
        programs.absent()
    monkeypatch.setenv("PLAYHEAD_POSTGRES", "require")
    with pytest.raises(RuntimeError, match="15 or newer"):
        programs.absent()


@pytest.mark.parametrize(("word", "code", "said"), [("", 0, "its tests are skipped"), ("require", 1, "PLAYHEAD_POSTGRES=require")])
def test_the_script_fails_where_a_server_is_required_and_cannot_be_had(tmp_path: Path, word: str, code: int, said: str):
    """The Python it asks says that there is none, and nothing on the path installs one."""
    places = {"python": "exit 1", "id": "echo 1000"}
    for name, does in places.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    around = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PLAYHEAD_POSTGRES": word}
    ran = subprocess.run([ROOT / "scripts" / "postgres.sh", "python"], cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert (ran.returncode, said in ran.stderr) == (code, True)


def test_ci_requires_a_server():
    assert "export PLAYHEAD_POSTGRES=require" in (ROOT / ".ci" / "run").read_text()
