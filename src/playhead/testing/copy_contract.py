"""What a copy of whole families asks of a store: marks a few at a time, forks that say where sidecars are cut, a census."""

from __future__ import annotations

import unittest
from pathlib import Path

from playhead.errors import InvalidInput
from playhead.store.census import Census
from playhead.store.change import DISCARDED, Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import Head, WholeStore
from playhead.testing.families import forked, texts, written
from playhead.testing.stage import StoreStage, equal, raising


class CopyContract(StoreStage):
    """What `Fork.cuts`, `marks(limit=...)`, `families` and `cursors` promise."""

    def test_a_fork_cuts_each_sidecar_where_it_is_told(self, tmp_path: Path) -> None:
        """And leaves out those that it does not name."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "1", "2")
            for name in "abc":
                await written(store, sidecar_name("t", name), "x", "y", "z")
            await store.apply([Fork(tape=branch_name("t", "b"), parent="t", at=1, cuts={"a": 2, "c": 0})])
            branch = branch_name("t", "b")
            equal([await texts(store, sidecar_name(branch, name)) for name in "abc"], [["x", "y"], [], []])
            records = [await store.branch(sidecar_name(branch, name)) for name in "abc"]
            equal([record and record.base for record in records], [Head(0, 2), None, Head(0, 0)])
            for cuts in ({"a": 4}, {"a": -1}, {"unknown": 1}):
                with raising(InvalidInput):
                    await store.apply([Fork(tape=branch_name("t", "none"), parent="t", cuts=cuts)])
            equal([record.name for record in await store.branches("t")], [branch])

        self.play(tmp_path, scenario)

    def test_marks_are_told_a_few_at_a_time(self, tmp_path: Path) -> None:
        """Over a fork point too."""

        async def scenario(store: WholeStore) -> None:
            side = sidecar_name("t", "s")
            for _ in range(3):
                await written(store, "t", "x")
                await written(store, side, "y")
            branch = await forked(store, "t", "b")
            own = sidecar_name(branch, "s")
            await written(store, own, "z")
            marks = [Head(0, 1), Head(0, 2), Head(0, 3), Head(0, 3)]
            equal([await store.marks(own, after=after, limit=2) for after in (0, 1, 2, 3, 4)], [marks[:2], marks[1:3], marks[2:], marks[3:], []])

        self.play(tmp_path, scenario)

    def test_a_census_names_every_family_and_every_consumer(self, tmp_path: Path) -> None:
        """Also those that only a sidecar or a closed branch is left of."""

        async def scenario(store: WholeStore) -> None:
            if not isinstance(store, Census):
                raise unittest.SkipTest("the store takes no census")
            await written(store, "b", "x", "y")
            await written(store, sidecar_name("a", "s"), "x")
            await store.apply([Fork(tape=branch_name("c", "b"), parent="c"), Close(tape=branch_name("c", "b"), outcome=DISCARDED)])
            equal((await store.families(), await store.list_tapes()), (["a", "b", "c"], ["b"]))
            await store.move_cursor("b", "web", Head(0, 1))
            await store.move_cursor("b", "mail", Head(0, 2))
            equal([dict(await store.cursors(tape)) for tape in ("a", "b")], [{}, {"mail": Head(0, 2), "web": Head(0, 1)}])

        self.play(tmp_path, scenario)
