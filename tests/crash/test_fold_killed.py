"""A process that is killed at any write of a summary, a merge or a cut: who goes on comes to the forest of one that was not killed."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from tests.crash.folding import URLS, asked, folded, shape, talked
from tests.crash.processes import started

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = 480 if os.environ.get("PLAYHEAD_SOAK") else 70
KILLS = "import sys; from tests.crash.folding import kill_again_and_again; kill_again_and_again(*sys.argv[1:])"


@pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of Unix")
@pytest.mark.parametrize("writer", ["extractive", "model"])
@pytest.mark.parametrize("url", URLS)
def test_a_fold_that_is_killed_at_any_write_ends_as_one_that_was_not(url, writer, tmp_path):
    stores = {name: url.format(tmp_path / name) for name in ("whole", "killed")}
    for name, store in stores.items():
        (tmp_path / name).mkdir()
        anyio.run(lambda store=store: talked(store, messages=MESSAGES))
    anyio.run(lambda: folded(stores["whole"], writer=writer, ledger=tmp_path / "whole.ledger"))
    process = started(KILLS, stores["killed"], writer, tmp_path / "killed.ledger", cwd=ROOT)
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err.decode()[-3000:]
    died = int(out)
    assert died > 10
    wanted = anyio.run(shape, stores["whole"])
    assert anyio.run(shape, stores["killed"]) == wanted
    assert any(node[0].startswith("L2-") for node in wanted[0])
    calls, again = asked(tmp_path / "whole.ledger"), asked(tmp_path / "killed.ledger")
    assert set(again) == set(calls) and len(again) <= len(calls) + died
    assert all(count == 1 for count in Counter(calls).values())
