"""What stands beside a tape, as tests that every store passes."""

from __future__ import annotations

from pathlib import Path

from playhead.errors import BranchNotFound, InvalidInput
from playhead.store.change import Append, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.testing.families import forked, texts, written
from playhead.testing.stage import StoreStage, equal, keyed, note, raising, whole

SIDE = sidecar_name("t", "s")


class SidecarContract(StoreStage):
    """Marks, and forks of a tape together with its sidecars."""

    def test_each_entry_of_a_sidecar_is_marked_with_the_head_of_its_tape(self, tmp_path: Path) -> None:
        """The mark is no part of the entry; a reset of the tape shows in it."""

        async def scenario(store: WholeStore) -> None:
            (first,) = await store.append_many(SIDE, [note("before all", uid="u", note=[1])])
            await written(store, "t", "a", "b")
            await written(store, SIDE, "1", "2")
            await store.reset("t", entries=[note("anew")])
            await written(store, SIDE, "3")
            marks = [EMPTY, Head(0, 2), Head(0, 2), Head(1, 1)]
            equal([await store.marks(SIDE), await store.marks(SIDE, after=2), await store.marks(SIDE, after=4)], [marks, marks[2:], []])
            equal([(await whole(store, SIDE))[0], first.payload, first.meta], [first, {"text": "before all"}, {"uid": "u", "note": [1]}])
            await store.reset(SIDE, entries=[note("x")])
            await store.append_many(SIDE, [keyed("y", "k")])
            await store.append_many(SIDE, [keyed("y", "k"), note("z")])
            equal([await store.marks(SIDE), await store.marks(sidecar_name("t", "none"))], [[Head(1, 1)] * 3, []])

        self.play(tmp_path, scenario)

    def test_changes_may_say_where_the_entries_of_a_sidecar_were_written(self, tmp_path: Path) -> None:
        """Counted from the head that the tape has before the changes; without, it is the head as the changes have left it so far."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b", "c")
            await store.apply(
                [
                    Append(tape=SIDE, entries=[note("0"), note("1"), note("2")], marks=[0, 1, 2]),
                    Append(tape="t", entries=[note("d"), note("e")]),
                    Append(tape=SIDE, entries=[note("3"), note("4")], marks=[2, 2]),
                    Append(tape=SIDE, entries=[note("5")]),
                ]
            )
            equal(await store.marks(SIDE), [Head(0, 3), Head(0, 4), *[Head(0, 5)] * 4])
            cuts = [await forked(store, "t", str(at), at=at) for at in (2, 3, 4, 5)]
            equal([await texts(store, sidecar_name(branch, "s")) for branch in cuts], [[], ["0"], ["0", "1"], [*"012345"]])
            await store.apply([Append(tape="t", entries=[note("f")]), Reset(tape=SIDE, entries=[note("x"), note("y")], marks=[0, 1])])
            equal([await store.marks(SIDE), await store.head(SIDE)], [[Head(0, 5), Head(0, 6)], Head(1, 2)])

        self.play(tmp_path, scenario)

    def test_marks_that_do_not_fit_the_entries_are_refused(self, tmp_path: Path) -> None:
        """InvalidInput, and nothing was written; entries of a tape that is no sidecar have none."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            for marks in ([], [0], [0, -1], [0, 1, 2], [0, "1"]):
                with raising(InvalidInput):
                    await store.apply([Append(tape=SIDE, entries=[note("x"), note("y")], marks=marks)])  # type: ignore[arg-type]
            for tape in ("t", await forked(store, "t", "try")):
                with raising(InvalidInput):
                    await store.marks(tape)
            equal([await texts(store, SIDE), await store.sidecars("t")], [[], []])

        self.play(tmp_path, scenario)

    def test_marks_count_the_entries_that_are_written(self, tmp_path: Path) -> None:
        """D5: an entry whose key stands already takes no mark with it."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b", "c")
            await store.apply([Append(tape=SIDE, entries=[keyed("0", "k")], marks=[0])])
            await store.apply([Append(tape="t", entries=[note("d"), note("e")]), Append(tape=SIDE, entries=[keyed("0", "k"), note("1"), note("2")], marks=[0, 1, 2])])
            equal([await texts(store, SIDE), await store.marks(SIDE)], [["0", "1", "2"], [Head(0, 3), Head(0, 4), Head(0, 5)]])

        self.play(tmp_path, scenario)

    def test_a_fork_takes_the_sidecars_with_it(self, tmp_path: Path) -> None:
        """R-202: as they are now, and they go on apart; the record of each names what it was forked from."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            await store.append_many(SIDE, [keyed("1", "k"), note("2")])
            await written(store, sidecar_name("t", "other"), "o")
            branch = await forked(store, "t", "try")
            inner = await forked(store, branch, "inner")
            sides = [SIDE, sidecar_name(branch, "s"), sidecar_name(inner, "s")]
            for side in reversed(sides):
                equal(await written(store, side, side), [3])
            equal([await texts(store, side) for side in sides], [["1", "2", side] for side in sides])
            equal([e.id for e in await store.append_many(sides[1], [keyed("1", "k")])], [1])
            equal([await store.sidecars(tape) for tape in ("t", branch, inner)], [["other", "s"]] * 3)
            records = [await store.branch(side) for side in sides]
            equal([record and (record.parent, record.base) for record in records], [None, (SIDE, Head(0, 2)), (sides[1], Head(0, 2))])

        self.play(tmp_path, scenario)

    def test_a_fork_in_the_past_cuts_the_sidecars_there(self, tmp_path: Path) -> None:
        """At the entry where the tape then ended, also over a fork point and behind a reset of the tape."""

        async def scenario(store: WholeStore) -> None:
            await written(store, SIDE, "0")
            for text in "123":
                await written(store, "t", text)
                await written(store, SIDE, text, f"{text} again")
            branch = await forked(store, "t", "try", at=2)
            side = sidecar_name(branch, "s")
            await written(store, branch, "x")
            await written(store, side, "x")
            rows = ["0", "1", "1 again", "2", "2 again", "x"]
            equal([await texts(store, side), await store.marks(side)], [rows, [EMPTY, *[Head(0, 1)] * 2, *[Head(0, 2)] * 2, Head(0, 3)]])
            for at, count in ((0, 1), (1, 3), (2, 5), (3, 6)):
                inner = sidecar_name(await forked(store, branch, str(at), at=at), "s")
                equal([await texts(store, inner), await written(store, inner, "own")], [rows[:count], [count + 1]], f"at {at}")
                equal((await store.marks(inner))[-1], Head(0, at), f"the mark of what is written behind a fork at {at}")
            await store.reset("t", entries=[note("a"), note("b")])
            await written(store, SIDE, "behind the reset")
            for at, count in ((0, 7), (1, 7), (2, 8)):
                equal(len(await texts(store, sidecar_name(await forked(store, "t", f"anew-{at}", at=at), "s"))), count, f"at {at} behind the reset")

        self.play(tmp_path, scenario)

    def test_a_sidecar_that_is_first_written_in_a_branch_begins_there(self, tmp_path: Path) -> None:
        """Also where the tape was given one of that name since; it was not forked, so there is no record of it."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            branch = await forked(store, "t", "try")
            side = sidecar_name(branch, "s")
            await written(store, SIDE, "parent")
            equal([await texts(store, side), await store.head(side), await store.sidecars(branch)], [[], EMPTY, []])
            equal([await written(store, side, "own"), await texts(store, side), await texts(store, SIDE)], [[1], ["own"], ["parent"]])
            equal([await store.branch(side), await store.marks(side), await store.sidecars(branch)], [None, [Head(0, 1)], ["s"]])
            inner = await forked(store, branch, "inner")
            record = await store.branch(sidecar_name(inner, "s"))
            equal([record and (record.parent, record.base), await texts(store, sidecar_name(inner, "s"))], [(side, Head(0, 1)), ["own"]])

        self.play(tmp_path, scenario)

    def test_a_reset_of_a_sidecar_leaves_the_others_as_they_are(self, tmp_path: Path) -> None:
        """Of a branch's the parent's, of the parent's the branch's, of any its tape."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            await written(store, SIDE, "1", "2")
            one, other = [sidecar_name(await forked(store, "t", label), "s") for label in ("one", "other")]
            await store.reset(one, entries=[note("x")])
            await store.reset(SIDE)
            equal([await texts(store, tape) for tape in (one, other, SIDE, "t")], [["x"], ["1", "2"], [], ["a"]])
            equal([await store.head(tape) for tape in (one, other, SIDE)], [Head(1, 1), Head(0, 2), Head(1, 0)])
            equal([await store.marks(one), await store.sidecars("t")], [[Head(0, 1)], []])

        self.play(tmp_path, scenario)

    def test_a_sidecar_of_a_branch_that_was_never_made_is_not_written(self, tmp_path: Path) -> None:
        """Nothing is left of the attempt."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            side = sidecar_name(branch_name("t", "try"), "s")
            with raising(BranchNotFound):
                await written(store, side, "x")
            branch = await forked(store, "t", "try")
            equal([await texts(store, side), await store.sidecars(branch)], [[], []])

        self.play(tmp_path, scenario)
