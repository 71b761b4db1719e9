"""A task waits for what another thread does, whatever event loops other threads begin meanwhile."""

from __future__ import annotations

import pytest

from tests.crash.processes import finished

USES = """
import importlib, sys, threading, anyio, playhead as ph

began, used = threading.Event(), threading.Event()

class HoldsUp:
    "Lets the import of trio wait, half of it done, until the store was used."

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            began.set()
            assert used.wait(20)

async def use():
    async with ph.SQLiteTapeStore(sys.argv[1], durability="process") as store:
        await store.append("t", ph.TapeEntry.event("used"))
        return [entry.payload["name"] for entry in await store.fetch_all(ph.TapeQuery(tape="t"))]

anyio.run(use)  # who imports something has to wait for the other
sys.meta_path.insert(0, HoldsUp())
importing = threading.Thread(target=importlib.import_module, args=["trio"])
importing.start()
assert began.wait(60)
print(*anyio.run(use))
used.set()
importing.join()
print(len(anyio.run(use, backend="trio")))
"""


@pytest.mark.parametrize("held_up_at", ["trio._core._run", "trio._deprecate"])
def test_a_store_is_used_while_another_thread_is_importing_trio(tmp_path, held_up_at):
    assert finished(USES, tmp_path / "tapes.db", held_up_at).splitlines() == ["used used", "3"]
