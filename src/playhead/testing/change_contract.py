"""Changes to a family that are made all at once, and how branches end, as tests that every store passes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from playhead import clock
from playhead.errors import BranchClosed, BranchNotFound, Conflict, InvalidInput, KeyConflict, NameTaken, NotFound, PlayheadError, TapeNotFound
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Change, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.clock import FakeClock
from playhead.testing.families import closed, everything, forked, is_not_found, merge_of, shown, texts, written
from playhead.testing.stage import StoreStage, equal, keyed, note, raising, whole

_HOUR = timedelta(hours=1)


class ChangeContract(StoreStage):
    """`apply`, merges, closing, collecting, renaming and listing."""

    def test_changes_are_made_in_order(self, tmp_path: Path) -> None:
        """Each sees those before it; the result holds for each the entries as stored."""

        async def scenario(store: WholeStore) -> None:
            branch, inner, side = branch_name("t", "try"), branch_name("t", "inner"), sidecar_name("t", "s")
            results = await store.apply(
                [
                    Append(tape="t", entries=[note("a"), keyed("b", "k")], expected_head=EMPTY),
                    Fork(tape=branch, parent="t"),
                    Append(tape=side, entries=[note("side")]),
                    Append(tape=branch, entries=[note("c"), keyed("b", "k")], expected_head=Head(0, 2)),
                    Fork(tape=inner, parent=branch, at=1),
                    Reset(tape="t", entries=[note("new")], expected_head=Head(0, 2)),
                    Close(tape=branch, outcome=DISCARDED, expected_head=Head(0, 3)),
                ]
            )
            equal(results and [[(e.id, e.payload["text"]) for e in stored] for stored in results], [[(1, "a"), (2, "b")], [], [(1, "side")], [(3, "c"), (2, "b")], [], [(1, "new")], []])
            equal([await texts(store, tape) for tape in ("t", branch, inner, side)], [["new"], ["a", "b", "c"], ["a"], ["side"]])
            equal([(r.name, r.state) for r in await store.branches("t")], [(branch, DISCARDED), (inner, "open")])

        self.play(tmp_path, scenario)

    def test_a_refusal_in_the_middle_changes_nothing(self, tmp_path: Path) -> None:
        """D2: whatever the refused change is, those before it are not made either."""

        async def scenario(store: WholeStore) -> None:
            side, ended, new = sidecar_name("t", "s"), branch_name("t", "ended"), branch_name("t", "new")
            await store.append_many("t", [keyed("a", "k"), note("b")])
            await written(store, side, "side")
            await closed(store, await forked(store, "t", "ended"), DISCARDED)
            live = await forked(store, "t", "live")
            good: Sequence[Change] = (
                Append(tape="t", entries=[keyed("c", "l")]),
                Append(tape=side, entries=[note("side")], marks=[0]),
                Append(tape=sidecar_name("t", "fresh"), entries=[note("first")]),
                Fork(tape=new, parent="t", at=2),
                Append(tape=new, entries=[note("d")]),
                Reset(tape="t", entries=[note("anew")]),
                Close(tape=live, outcome=MERGED),
            )
            refused: Sequence[tuple[Change, type[PlayheadError]]] = (
                (Append(tape="t", entries=[note("x")], expected_head=EMPTY), Conflict),
                (Append(tape=new, entries=[note("x"), keyed("other body", "k")]), KeyConflict),
                (Append(tape="t", entries=[note("x"), note("x", uid=7)]), InvalidInput),
                (Append(tape=ended, entries=[note("x")]), BranchClosed),
                (Append(tape=sidecar_name(live, "s"), entries=[note("x")]), BranchClosed),
                (Append(tape=branch_name("t", "unknown"), entries=[note("x")]), BranchNotFound),
                (Reset(tape=ended), BranchClosed),
                (Reset(tape=side, expected_head=EMPTY), Conflict),
                (Fork(tape=ended, parent="t"), NameTaken),
                (Fork(tape=new, parent="t"), NameTaken),
                (Fork(tape=branch_name("t", "beyond"), parent="t", at=9), InvalidInput),
                (Fork(tape=branch_name("t", "x"), parent=branch_name("t", "unknown")), BranchNotFound),
                (Close(tape=new, outcome=MERGED, expected_head=EMPTY), Conflict),
                (Close(tape=branch_name("t", "unknown"), outcome=MERGED), BranchNotFound),
            )
            before = await everything(store, "t")
            for change, error in refused:
                with raising(error):
                    await store.apply([*good, change, Append(tape="t", entries=[note("behind")])])
                equal(await everything(store, "t"), before, f"after {change}")
            equal((await store.find("t", keys=["k", "l"])).keys(), {"k"})
            await store.apply(good)
            equal([await texts(store, "t"), await texts(store, new), await store.sidecars("t")], [["anew"], ["a", "b", "d"], ["fresh", "s"]])

        self.play(tmp_path, scenario, needs="D2")

    def test_changes_to_several_families_are_refused(self, tmp_path: Path) -> None:
        """InvalidInput; one root, its branches and sidecars are one family."""

        async def scenario(store: WholeStore) -> None:
            for other in ("other", branch_name("other", "b"), sidecar_name("other", "s")):
                with raising(InvalidInput):
                    await store.apply([Append(tape="t", entries=[note("x")]), Append(tape=other, entries=[note("x")])])
            with raising(InvalidInput):
                await store.apply([Append(tape="t", entries=[note("x")])], unless=("other", "k"))
            equal([await store.list_tapes(), await whole(store, "t")], [[], []])

        self.play(tmp_path, scenario)

    def test_what_is_no_change_is_refused_and_none_at_all_is_fine(self, tmp_path: Path) -> None:
        """InvalidInput for other values, and for marks on what is no sidecar; nothing is written."""

        async def scenario(store: WholeStore) -> None:
            odd: Any = "append"
            for changes in ([odd], [Append(tape="t", entries=[note("x")]), odd], [Append(tape="t", entries=[note("x")], marks=[0])]):
                with raising(InvalidInput):
                    await store.apply(changes)
            equal([await store.apply([]), await store.apply([], unless=("t", "k")), await whole(store, "t")], [(), (), []])

        self.play(tmp_path, scenario)

    def test_changes_are_left_where_a_key_stands(self, tmp_path: Path) -> None:
        """`unless`: also a key that stands behind the fork point of a branch."""

        async def scenario(store: WholeStore) -> None:
            equal(await store.apply([Append(tape="t", entries=[keyed("a", "k")])], unless=("t", "k")) is not None, wanted=True)
            branch = await forked(store, "t", "try")
            before = await everything(store, "t")
            for tape in ("t", branch):
                equal(await store.apply([Append(tape="t", entries=[note("x")]), Fork(tape=branch, parent="t"), Reset(tape="t")], unless=(tape, "k")), None)
            equal(await everything(store, "t"), before)
            equal(await store.apply([Append(tape="t", entries=[note("b")])], unless=(branch, "other")) is not None, wanted=True)
            equal(await texts(store, "t"), ["a", "b"])

        self.play(tmp_path, scenario)

    def test_a_merge_appends_what_the_branch_holds_of_its_own(self, tmp_path: Path) -> None:
        """R-152, R-153: where the tape stands still all keep their ids; repeated, it changes nothing."""

        async def scenario(store: WholeStore) -> None:
            for key, moved in (("still", []), ("moved", ["x", "y"])):
                await store.append_many(key, [note("a"), note("b")])
                branch = await forked(store, key, "try")
                own = await store.append_many(branch, [note("c"), keyed("d", "d")])
                await store.append_many(key, [note(text) for text in moved])
                changes = await merge_of(store, branch, key="merged")
                equal(await store.apply(changes, unless=(key, "merged")) is not None, wanted=True)
                equal(await shown(store, key), list(enumerate(["a", "b", *moved, "c", "d", "merge"], 1)))
                equal([e.uid for e in await whole(store, key)][-3:-1], [e.uid for e in own], "the entries are the same")
                before = await everything(store, key)
                equal(await store.apply(changes, unless=(key, "merged")), None)
                equal(await everything(store, key), before)
                equal([await texts(store, branch), (await store.branches(key))[0].state], [["a", "b", "c", "d"], MERGED])

        self.play(tmp_path, scenario)

    def test_merges_at_the_same_time_are_made_once_and_stay_in_one_piece(self, tmp_path: Path) -> None:
        """R-275, W-10: six branches, each merged by three at once while others append; a reader sees a merge whole, and what is beside it."""

        async def scenario(store: WholeStore) -> None:
            side = sidecar_name("t", "s")
            await written(store, "t", "start")
            branches = [await forked(store, "t", str(n)) for n in range(6)]
            for branch in branches:
                await written(store, branch, *[f"{branch} {i}" for i in range(4)])
            done = anyio.Event()
            made: list[str] = []

            async def merge(branch: str) -> None:
                changes = [*await merge_of(store, branch, key=branch), Append(tape=side, entries=[note(branch)])]
                if await store.apply(changes, unless=("t", branch)) is not None:
                    made.append(branch)
                await written(store, "t", "between")

            async def read() -> None:
                while not done.is_set():
                    merged = (await texts(store, "t")).count("merge")
                    equal(await store.count(TapeQuery(tape=side)) >= merged, wanted=True, what=f"{merged} merges in the sidecar")
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                async with anyio.create_task_group() as merging:
                    for branch in branches * 3:
                        merging.start_soon(merge, branch)
                done.set()
            equal(sorted(made), branches)
            rows = await texts(store, "t")
            equal([len(rows), sorted(await texts(store, side))], [1 + 6 * 5 + 18, branches])
            for branch in branches:
                first = rows.index(f"{branch} 0")
                equal(rows[first : first + 5], [*[f"{branch} {i}" for i in range(4)], "merge"])

        self.play(tmp_path, scenario, needs="D2")

    def test_a_closed_branch_is_read_and_not_written(self, tmp_path: Path) -> None:
        """Its sidecars too; the record says how and when it ended."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            now = FakeClock()
            with clock.using(now):
                for outcome in (MERGED, SQUASHED, DISCARDED):
                    branch = await forked(store, "t", outcome)
                    side = sidecar_name(branch, "s")
                    await written(store, branch, "b")
                    await written(store, side, "side")
                    with raising(Conflict):
                        await store.apply([Close(tape=branch, outcome=outcome, expected_head=Head(0, 1))])
                    now.advance(_HOUR)
                    await store.apply([Close(tape=branch, outcome=outcome, expected_head=Head(0, 2))])
                    for tape in (branch, side, sidecar_name(branch, "new")):
                        for call in (store.append_many(tape, [note("x")]), store.reset(tape), store.apply([Append(tape=tape, entries=[note("x")])])):
                            with raising(BranchClosed):
                                await call
                    with raising(BranchClosed):
                        await closed(store, branch)
                    record = await store.branch(branch)
                    equal(record and (record.state, record.is_open, record.closed_at is not None and record.closed_at > record.created_at), (outcome, False, True))
                    equal([await texts(store, branch), await texts(store, side)], [["a", "b"], ["side"]])

        self.play(tmp_path, scenario)

    def test_only_a_branch_is_closed_and_in_one_of_three_ways(self, tmp_path: Path) -> None:
        """InvalidInput for a tape, a sidecar, and another outcome."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            branch = await forked(store, "t", "try")
            await written(store, sidecar_name(branch, "s"), "side")
            for tape, outcome in (("t", MERGED), (sidecar_name(branch, "s"), MERGED), (branch, "open"), (branch, "finished"), (branch, "")):
                with raising(InvalidInput):
                    await store.apply([Close(tape=tape, outcome=outcome)])
            equal([record.is_open for record in await store.branches("t")], [True])

        self.play(tmp_path, scenario)

    def test_branches_that_ended_are_collected_when_nothing_needs_them(self, tmp_path: Path) -> None:
        """Those closed before the instant that no branch which stays was forked from; a squashed one holds what stands nowhere else."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            now = FakeClock()
            with clock.using(now):
                outer, kept, squashed = [await forked(store, "t", label) for label in ("outer", "kept", "squashed")]
                inner, live = await forked(store, outer, "inner"), await forked(store, kept, "live")
                for branch in (outer, inner, kept):
                    await written(store, branch, "b")
                    await written(store, sidecar_name(branch, "s"), "side")
                for branch, outcome in ((outer, MERGED), (inner, DISCARDED), (kept, DISCARDED), (squashed, SQUASHED)):
                    await closed(store, branch, outcome)
                equal([await store.collect("t", before=now.now()), await store.collect("unknown", before=now.now() + _HOUR)], [[], []])
                now.advance(_HOUR)
                late = await closed(store, await forked(store, "t", "late"))
                equal(sorted(await store.collect("t", before=now.now())), [inner, outer])
            equal([r.name for r in await store.branches("t")], [kept, squashed, live, late])
            for branch in (outer, inner):
                equal([await store.branch(branch), await store.sidecars(branch)], [None, []])
                await is_not_found(store, branch)
                await is_not_found(store, sidecar_name(branch, "s"))
            equal([await texts(store, live), await texts(store, sidecar_name(kept, "s")), await texts(store, "t")], [["a"], ["side"], ["a"]])
            again = await forked(store, "t", "outer")
            equal([await texts(store, again), await store.sidecars(again)], [["a"], []])

        self.play(tmp_path, scenario)

    def test_a_tape_is_renamed_with_its_branches_and_sidecars(self, tmp_path: Path) -> None:
        """All that can be seen of the family is seen under the new name, and nothing under the old one."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("old", [keyed("a", "k"), note("b")])
            await written(store, sidecar_name("old", "s"), "side")
            outer = await forked(store, "old", "outer", at=1)
            await written(store, sidecar_name(outer, "s"), "more")
            inner = await closed(store, await forked(store, outer, "inner"), DISCARDED)
            before = await everything(store, "old")
            await store.rename("old", "new/name")
            equal(repr(await everything(store, "new/name")), repr(before).replace("'old", "'new/name"))
            equal([await whole(store, "old"), await store.branches("old"), await store.sidecars("old"), await store.head("old")], [[], [], [], EMPTY])
            for branch in (outer, inner):
                await is_not_found(store, branch)
            equal([await written(store, "old", "another"), await written(store, branch_name("new/name", "outer"), "c")], [[1], [2]])
            equal([await texts(store, "old"), await store.list_tapes(), (await store.append_many("new/name", [keyed("a", "k")]))[0].id], [["another"], ["new/name", "old"], 1])

        self.play(tmp_path, scenario)

    def test_a_branch_is_renamed_within_its_family(self, tmp_path: Path) -> None:
        """With its sidecars; what was forked from it names it by its new name."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            branch, new = await forked(store, "t", "draft"), branch_name("t", "final")
            await written(store, branch, "b")
            await written(store, sidecar_name(branch, "s"), "side")
            inner = await forked(store, branch, "inner")
            before = await everything(store, "t")
            await store.rename(branch, new)
            equal(repr(await everything(store, "t")), repr(before).replace(branch, new))
            record, beside = await store.branch(inner), await store.branch(sidecar_name(inner, "s"))
            equal([record and record.parent, beside and beside.parent], [new, sidecar_name(new, "s")])
            await is_not_found(store, branch)
            equal([await written(store, new, "c"), await texts(store, inner), await texts(store, await forked(store, "t", "draft"))], [[3], ["a", "b"], ["a"]])

        self.play(tmp_path, scenario)

    def test_a_name_that_is_taken_or_of_another_sort_is_no_new_name(self, tmp_path: Path) -> None:
        """NameTaken, InvalidInput, TapeNotFound; nothing is renamed."""

        async def scenario(store: WholeStore) -> None:
            for tape in ("t", "held"):
                await written(store, tape, tape)
            await written(store, sidecar_name("beside", "s"), "side")
            await forked(store, "forked", "b")
            one, other = await forked(store, "t", "one"), await closed(store, await forked(store, "t", "other"))
            refused: Sequence[tuple[str, str, type[PlayheadError]]] = (
                ("t", "held", NameTaken), ("t", "forked", NameTaken), ("t", "beside", NameTaken), (one, other, NameTaken),
                ("unknown", "free", TapeNotFound), (branch_name("t", "unknown"), branch_name("t", "free"), NotFound),
                ("t", branch_name("t", "free"), InvalidInput), (one, "free", InvalidInput), (one, branch_name("held", "one"), InvalidInput),
                ("t", sidecar_name("held", "free"), InvalidInput),
            )  # fmt: skip
            before = [await everything(store, tape) for tape in ("t", "held", "forked")]
            for tape, name, error in refused:
                with raising(error):
                    await store.rename(tape, name)
                equal([await everything(store, tape) for tape in ("t", "held", "forked")], before, f"{tape} to {name}")

        self.play(tmp_path, scenario)

    def test_tapes_are_listed_without_their_branches_and_sidecars(self, tmp_path: Path) -> None:
        """R-209: those that hold something or have an open branch; branches in the order they were made, whichever of the family is asked."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "b", "x")
            await written(store, sidecar_name("b", "s"), "side")
            made = [await forked(store, parent, label) for parent, label in (("b", "z"), (branch_name("b", "z"), "a"), ("b", "m"))]
            await written(store, sidecar_name(made[0], "s"), "side")
            first = await forked(store, "a", "first")
            await closed(store, made[2], DISCARDED)
            for name in ("b", *made, sidecar_name("b", "s")):
                equal([record.name for record in await store.branches(name)], made, name)
            equal(await store.list_tapes(), ["a", "b"])
            await store.reset("b")
            equal(await store.list_tapes(), ["a", "b"], "a branch is open")
            for branch in (first, *made[:2]):
                await closed(store, branch)
            equal(await store.list_tapes(), [])

        self.play(tmp_path, scenario)
