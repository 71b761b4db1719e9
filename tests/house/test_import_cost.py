"""`import playhead` costs next to nothing, and a name brings only what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("asyncio", "msgspec", "anyio", "rich", "sqlite3", "json", "dataclasses")


def loaded_after(code: str) -> set[str]:
    """Return the modules a fresh interpreter has loaded for some code, beside those it loads by itself."""
    script = f"import sys; before = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    return set(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_brings_no_event_loop_and_no_codec():
    loaded = loaded_after("import playhead")
    assert loaded & set(HEAVY) == set()
    assert {m for m in loaded if m.startswith("playhead.")} == set()


def test_asking_what_names_there_are_imports_none_of_them():
    loaded = loaded_after("import playhead; dir(playhead); playhead.__all__; hasattr(playhead, 'nothing_of_that_name')")
    assert {m for m in loaded if m.startswith("playhead.")} == set()


@pytest.mark.parametrize("name", ["Message", "TapeEntry", "Budget", "PlayheadError", "TapeQuery"])
def test_values_need_no_event_loop(name: str):
    assert loaded_after(f"import playhead; playhead.{name}") & {"asyncio", "anyio", "rich", "sqlite3"} == set()


def test_no_module_starts_a_thread_or_a_process_when_it_is_imported():
    code = "import playhead, threading\nfor name in playhead.__all__: getattr(playhead, name)\nassert threading.active_count() == 1, threading.enumerate()"
    assert "playhead.sync" in loaded_after(code)
