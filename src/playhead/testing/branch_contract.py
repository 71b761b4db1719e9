"""What a branch shows and where it is written to, as tests that every store passes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import ClassVar

import anyio

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, KeyConflict, NameTaken, NoAnchors
from playhead.store.change import DISCARDED, MERGED, OPEN, Append, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.families import closed, forked, is_not_found, shown, texts, written
from playhead.testing.query_contract import filters, found, history, kept
from playhead.testing.stage import StoreStage, equal, keyed, note, raising, whole


class BranchContract(StoreStage):
    """Forks, and reading and writing on both sides of a fork point; `depth` is how many levels of branches are tried."""

    depth: ClassVar[int] = 200

    def test_a_branch_goes_on_from_its_fork_point(self, tmp_path: Path) -> None:
        """D3: ids go on over the fork point, on both sides; the record says what was forked, where, and by whom."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b", "c")
            branch = await forked(store, "t", "try", owner="run 7")
            equal([await store.head(branch), await texts(store, branch)], [Head(0, 3), ["a", "b", "c"]])
            equal([await written(store, branch, "d", "e"), await written(store, "t", "x")], [[4, 5], [4]])
            equal(await shown(store, branch), list(enumerate("abcde", 1)))
            equal(await shown(store, "t"), list(enumerate("abcx", 1)))
            record = await store.branch(branch)
            equal(record is not None and (record.name, record.parent, record.base, record.state, record.is_open, record.owner, record.closed_at), (branch, "t", Head(0, 3), OPEN, True, "run 7", None))

        self.play(tmp_path, scenario)

    def test_a_branch_answers_every_query_as_its_whole_history_would(self, tmp_path: Path) -> None:
        """R-144: windows, anchors, kinds, text, dates, cursors, limits and counts, over two fork points."""

        async def scenario(store: WholeStore) -> None:
            wanted = history()
            await store.append_many("t", [*wanted[:48], *wanted[:20]])
            middle = await forked(store, "t", "middle", at=48)
            await store.append_many(middle, [*wanted[48:90], *wanted[:9]])
            inner = await forked(store, middle, "inner", at=90)
            await store.append_many(inner, wanted[90:])
            query = TapeQuery(tape=inner, store=store)
            entries = await query.all()
            equal([(e.id, e.kind, e.payload, e.date) for e in entries], [(i, e.kind, e.payload, e.date) for i, e in enumerate(wanted, 1)])
            windows = [query, query.last_anchor(), query.after_anchor("A"), query.between_anchors("A", "B"), query.between_anchors("B", "B"), query.after_anchor("none")]
            for window, one, two in product(windows, filters(), filters()):
                for asked in (one(two(window)), one(two(window)).newest_first().limit(3)):
                    equal(await found(asked), kept(asked, entries), f"{asked}")
            for window, one in product(windows[:4], filters()):
                equal(await store.count(one(window)), len(kept(one(window), entries) or ()), f"count of {one(window)}")

        self.play(tmp_path, scenario)

    def test_a_branch_is_paged_over_its_fork_points_while_it_grows(self, tmp_path: Path) -> None:
        """R-054."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [note(str(i)) for i in range(700)])
            branch = await forked(store, "t", "long", at=600)
            await store.append_many(branch, [note(str(i)) for i in range(600, 1_100)])
            query = TapeQuery(tape=branch, store=store)
            equal([e.id async for e in query.newest_first().limit(1_050)], list(range(1_100, 50, -1)))
            seen: list[int] = []
            async for entry in query:
                seen.append(entry.id)
                if entry.id in (300, 610):
                    await written(store, branch, "late")
                    await written(store, "t", "elsewhere")
            equal(seen, list(range(1, 1_103)))

        self.play(tmp_path, scenario)

    def test_what_a_branch_shows_stays_whatever_its_parent_does(self, tmp_path: Path) -> None:
        """R-143, W-11: the parent is appended to, reset, reset again; a branch between is reset and closed."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [keyed("a", "k"), note("b"), TapeEntry.anchor("start"), note("c")])
            middle = await forked(store, "t", "middle")
            await written(store, middle, "m")
            inner = await forked(store, middle, "inner")
            seen = await whole(store, inner)
            for change in (
                lambda: written(store, "t", "later"),
                lambda: store.reset("t", entries=[note("new")]),
                lambda: store.reset("t"),
                lambda: written(store, middle, "later"),
                lambda: store.reset(middle),
                lambda: closed(store, middle),
            ):
                await change()
                equal([await whole(store, inner), await store.head(inner)], [seen, Head(0, 5)])
            equal([e.id for e in await TapeQuery(tape=inner, store=store).last_anchor().all()], [4, 5])
            equal(await store.find(inner, keys=["k"]), {"k": seen[0]})
            equal([await written(store, inner, "goes on"), await whole(store, "t"), await whole(store, middle)], [[6], [], []])

        self.play(tmp_path, scenario)

    def test_branches_of_one_parent_do_not_see_each_other(self, tmp_path: Path) -> None:
        """R-140, R-142."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b", "c")
            names = [await forked(store, "t", f"{at}-{n}", at=at) for at in range(4) for n in "xy"]
            for name in (*names, "t", *reversed(names)):
                await written(store, name, name)
            for name in names:
                at = int(name[-3])
                equal(await texts(store, name), [*"abc"[:at], name, name], name)
            equal(await texts(store, "t"), [*"abc", "t"])

        self.play(tmp_path, scenario)

    def test_branches_nest_to_any_depth(self, tmp_path: Path) -> None:
        """An entry a level, and every question is answered at the bottom."""

        async def scenario(store: WholeStore) -> None:
            deep, name = self.depth, "t"
            await store.append_many("t", [keyed("root", "k"), TapeEntry.anchor("start")])
            for level in range(deep):
                parent, name = name, branch_name("t", str(level))
                await store.apply([Fork(tape=name, parent=parent), Append(tape=name, entries=[note(str(level), uid=f"uid {level}")])])
            query = TapeQuery(tape=name, store=store)
            equal([e.id async for e in query], list(range(1, deep + 3)))
            equal([e.payload["text"] for e in await query.newest_first().limit(3).all()], [str(deep - back) for back in (1, 2, 3)])
            equal([len(await query.last_anchor().all()), await store.count(query.kinds("note")), await store.head(name)], [deep, deep + 1, Head(0, deep + 2)])
            wanted = {"k": 1, "uid 0": 3, f"uid {deep // 2}": deep // 2 + 3, f"uid {deep - 1}": deep + 2}
            equal({key: e.id for key, e in (await store.find(name, keys=["k"], uids=list(wanted)[1:])).items()}, wanted)
            equal([e.id for e in await store.append_many(name, [keyed("root", "k"), note("x")])], [1, deep + 3])
            back = await forked(store, name, "back", at=deep // 2)
            equal([await store.head(back), (await texts(store, back))[-1]], [Head(0, deep // 2), str(deep // 2 - 3)])

        self.play(tmp_path, scenario)

    def test_a_branch_can_be_forked_at_any_entry(self, tmp_path: Path) -> None:
        """At 0 it shares nothing; at the last entry it is a fork of the whole; before the parent's own fork point it leaves the parent's part out."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b", "c")
            middle = await forked(store, "t", "middle", at=2)
            await written(store, middle, "d", "e")
            for parent, letters in (("t", "abc"), (middle, "abde")):
                for at in range(len(letters) + 1):
                    branch = await forked(store, parent, f"{len(letters)}-{at}", at=at)
                    record = await store.branch(branch)
                    equal(record and (record.parent, record.base), (parent, Head(0, at)))
                    equal([await texts(store, branch), await store.head(branch)], [list(letters[:at]), Head(0, at)])
                    equal([await written(store, branch, "x"), await texts(store, branch)], [[at + 1], [*letters[:at], "x"]])
            with raising(NoAnchors):
                await TapeQuery(tape=branch_name("t", "3-0"), store=store).last_anchor().all()

        self.play(tmp_path, scenario)

    def test_no_branch_is_forked_behind_the_end(self, tmp_path: Path) -> None:
        """InvalidInput, and there is no branch afterwards."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b")
            middle = await forked(store, "t", "middle", at=1)
            for parent, at in (("t", 3), (middle, 2), ("t", -1), ("unknown", 1)):
                with raising(InvalidInput):
                    await forked(store, parent, "beyond", at=at)
                equal(await store.branch(branch_name(parent, "beyond")), None)
            equal([[r.name for r in await store.branches("t")], await store.branches("unknown"), await store.list_tapes()], [[middle], [], ["t"]])

        self.play(tmp_path, scenario)

    def test_a_tape_that_was_never_written_can_be_forked(self, tmp_path: Path) -> None:
        """W-46: the branch begins at nothing, and its tape is listed for as long as it is open."""

        async def scenario(store: WholeStore) -> None:
            branch = await forked(store, "t", "first")
            record = await store.branch(branch)
            equal([record and record.base, await store.list_tapes(), await store.head("t"), await store.head(branch)], [EMPTY, ["t"], EMPTY, EMPTY])
            equal([await written(store, branch, "a"), await written(store, "t", "x", "y")], [[1], [1, 2]])
            equal([await texts(store, branch), await texts(store, "t")], [["a"], ["x", "y"]])

        self.play(tmp_path, scenario)

    def test_a_branch_carries_the_generation_of_its_parent(self, tmp_path: Path) -> None:
        """D3, D6: a head of the branch is a head of the parent where both agree."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "old")
            await store.reset("t", entries=[note("a"), note("b")])
            branch = await forked(store, "t", "try", at=1)
            record = await store.branch(branch)
            equal([record and record.base, await store.head(branch)], [Head(1, 1), Head(1, 1)])
            for wrong in (EMPTY, Head(0, 1), Head(1, 0), Head(1, 2)):
                with raising(Conflict):
                    await store.append_many(branch, [note("x")], expected_head=wrong)
            await store.append_many(branch, [note("x")], expected_head=Head(1, 1))
            equal(await shown(store, branch), [(1, "a"), (2, "x")])

        self.play(tmp_path, scenario)

    def test_a_closed_branch_can_be_forked(self, tmp_path: Path) -> None:
        """The way to go on from where it ended."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            for label, outcome in (("kept", MERGED), ("dropped", DISCARDED)):
                first = await forked(store, "t", label)
                await written(store, first, "b")
                await closed(store, first, outcome)
                again = await forked(store, first, f"{label} again")
                equal([await written(store, again, "c"), await texts(store, again)], [[3], ["a", "b", "c"]])

        self.play(tmp_path, scenario)

    def test_a_branch_name_is_given_once(self, tmp_path: Path) -> None:
        """NameTaken while it is open, and when it is closed; what is no name of a branch of that family is refused."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            await written(store, sidecar_name("t", "s"), "side")
            branch = await forked(store, "t", "once")
            with raising(NameTaken):
                await forked(store, "t", "once")
            await closed(store, branch)
            with raising(NameTaken):
                await forked(store, "t", "once", at=0)
            with raising(NameTaken):
                await forked(store, branch, "once")
            wrong = ((sidecar_name("t", "s"), branch_name("t", "b")), ("t", "plain"), ("t", branch_name("other", "b")), ("t", sidecar_name(branch_name("t", "b"), "s")))
            for parent, name in wrong:
                with raising(InvalidInput):
                    await store.apply([Fork(tape=name, parent=parent)])
            equal([r.name for r in [*await store.branches("t"), *await store.branches("other")]], [branch])

        self.play(tmp_path, scenario)

    def test_a_branch_that_was_never_made_is_not_found(self, tmp_path: Path) -> None:
        """W-38: never an empty history, whatever is asked; what is known of it is nothing."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            await forked(store, "t", "made")
            for tape in ("t", "unknown"):
                name = branch_name(tape, "never-made")
                await is_not_found(store, name)
                await is_not_found(store, sidecar_name(name, "s"))
                equal([await store.branch(name), await store.branch(sidecar_name(name, "s")), await store.sidecars(name)], [None, None, []])
            equal([[r.name for r in await store.branches("t")], await store.branches("unknown"), await store.list_tapes()], [[branch_name("t", "made")], [], ["t"]])

        self.play(tmp_path, scenario)

    def test_a_reset_inside_a_branch_is_its_own(self, tmp_path: Path) -> None:
        """R-145: nothing of the parent is shown any more, and the parent is as it was."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [keyed("a", "k"), note("b")])
            branch = await forked(store, "t", "try")
            await written(store, branch, "c")
            inner = await forked(store, branch, "inner")
            with raising(Conflict):
                await store.reset(branch, expected_head=Head(0, 2))
            (stored,) = await store.reset(branch, entries=[keyed("another body", "k")], expected_head=Head(0, 3))
            equal([stored.id, await shown(store, branch), await store.head(branch)], [1, [(1, "another body")], Head(1, 1)])
            record = await store.branch(branch)
            equal(record and (record.parent, record.base, record.is_open), ("t", Head(0, 2), True))
            equal([await texts(store, "t"), await store.head("t"), await texts(store, inner)], [["a", "b"], Head(0, 2), ["a", "b", "c"]])
            await store.reset(branch)
            equal([await whole(store, branch), await store.head(branch), await written(store, branch, "x")], [[], Head(2, 0), [1]])

        self.play(tmp_path, scenario)

    def test_a_key_that_stands_at_the_fork_point_stands_in_the_branch(self, tmp_path: Path) -> None:
        """D5: one that came later, or in another branch, does not."""

        async def scenario(store: WholeStore) -> None:
            first, _ = await store.append_many("t", [keyed("a", "k"), note("b")])
            one, other, before = [await forked(store, "t", label, at=at) for label, at in (("one", 2), ("other", 2), ("before", 0))]
            await store.append_many("t", [keyed("parent", "later")])
            for branch in (one, other):
                equal(await store.append_many(branch, [keyed("a", "k")]), (first,))
                with raising(KeyConflict):
                    await store.append_many(branch, [note("x"), keyed("y", "k")])
                equal([e.id for e in await store.append_many(branch, [keyed(branch, "later"), keyed("a", "k"), keyed(branch, "later")])], [3, 1, 3])
                equal([e.id for e in await store.append_many(branch, [keyed(branch, "later")], expected_head=EMPTY)], [3], "a replay does not compare the head")
            equal([e.id for e in await store.append_many(before, [keyed("free", "k")])], [1])
            inner = await forked(store, one, "inner")
            equal([e.id for e in await store.append_many(inner, [keyed("a", "k"), keyed(one, "later")])], [1, 3])

        self.play(tmp_path, scenario)

    def test_entries_are_found_over_the_fork_point(self, tmp_path: Path) -> None:
        """By key and by uid; what the parent was given later is not found; of one uid on both sides the branch's own entry is."""

        async def scenario(store: WholeStore) -> None:
            stored = await store.append_many("t", [keyed(str(i), f"key {i}") for i in range(100)])
            branch = await forked(store, "t", "try", at=60)
            own = await store.append_many(branch, [note("copy", uid=stored[5].uid), keyed("own", "own")])
            names: Sequence[str] = [stored[3].uid, stored[80].uid, stored[5].uid, own[1].uid, "unknown"]
            equal(await store.find(branch, uids=names), {stored[3].uid: stored[3], stored[5].uid: own[0], own[1].uid: own[1]})
            equal(await store.find(branch, keys=["key 59", "key 60", "own"]), {"key 59": stored[59], "own": own[1]})
            equal(await store.find("t", keys=["key 60", "own"], uids=[stored[5].uid]), {"key 60": stored[60], stored[5].uid: stored[5]})

        self.play(tmp_path, scenario)

    def test_appends_to_a_branch_and_its_parent_at_the_same_time_stay_apart(self, tmp_path: Path) -> None:
        """D3."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "start")
            names = ["t", *[await forked(store, "t", str(n)) for n in range(4)]]

            async def write(name: str, who: int) -> None:
                for i in range(5):
                    await written(store, name, f"{who}.{i}")

            async with anyio.create_task_group() as tasks:
                for name, who in product(names, range(2)):
                    tasks.start_soon(write, name, who)
            for name in names:
                rows = await shown(store, name)
                equal([id for id, _ in rows], list(range(1, 12)))
                for who in range(2):
                    equal([text for _, text in rows if text.startswith(f"{who}.")], [f"{who}.{i}" for i in range(5)], name)

        self.play(tmp_path, scenario)
