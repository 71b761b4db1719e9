"""Leases, fences, locks and cursors, as tests that every store passes."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from playhead import clock
from playhead.errors import InvalidInput, LeaseHeld, LeaseLost
from playhead.store.family import sidecar_name
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.testing.clock import FakeClock
from playhead.testing.families import closed, everything, forked, texts, written
from playhead.testing.stage import StoreStage, equal, note, raising

_MINUTE = timedelta(minutes=1)


class LeaseContract(StoreStage):
    """Who may write, who waits, and how far somebody has read; and that all of it is there when the store is opened again."""

    def test_a_lease_is_held_by_one_until_its_time_is_over(self, tmp_path: Path) -> None:
        """Each holder has a higher epoch than all before; who holds it gets it longer under the same one."""

        async def scenario(store: WholeStore) -> None:
            now = FakeClock()
            with clock.using(now):
                first = await store.lease("t", owner="one", seconds=60)
                equal((first.tape, first.owner, first.epoch, first.until), ("t", "one", 1, 1_767_225_660_000_000))
                with raising(LeaseHeld):
                    await store.lease("t", owner="other", seconds=60)
                now.advance(_MINUTE / 2)
                longer = await store.lease("t", owner="one", seconds=60)
                equal((longer.epoch, longer.until - first.until), (1, 30_000_000))
                now.advance(_MINUTE - timedelta(microseconds=1))
                with raising(LeaseHeld):
                    await store.lease("t", owner="other", seconds=60)
                now.advance(timedelta(microseconds=1))
                equal([(await store.lease(tape, owner="other", seconds=1)).epoch for tape in ("t", "never written")], [2, 1])
                now.advance(_MINUTE)
                equal((await store.lease("t", owner="one", seconds=1)).epoch, 3)
            equal(await store.list_tapes(), [], "a lease makes no tape")
            for owner, seconds in (("", 1), ("one", 0), ("one", -1)):
                with raising(InvalidInput):
                    await store.lease("free", owner=owner, seconds=seconds)

        self.play(tmp_path, scenario)

    def test_a_lease_that_is_given_back_is_free(self, tmp_path: Path) -> None:
        """The next epoch is higher all the same; given back too late it leaves the next holder alone."""

        async def scenario(store: WholeStore) -> None:
            first = await store.lease("t", owner="one", seconds=600)
            await store.release(first)
            second = await store.lease("t", owner="other", seconds=600)
            await store.release(first)
            with raising(LeaseHeld):
                await store.lease("t", owner="one", seconds=600)
            await store.release(second)
            await store.release(second)
            equal([second.epoch, (await store.lease("t", owner="other", seconds=1)).epoch], [2, 3])

        self.play(tmp_path, scenario)

    def test_who_lost_the_lease_appends_no_more(self, tmp_path: Path) -> None:
        """The fence is compared with the newest epoch, not with the time; who names none is not refused."""

        async def scenario(store: WholeStore) -> None:
            now = FakeClock()
            with clock.using(now):
                first = await store.lease("t", owner="one", seconds=60)
                await store.append_many("t", [note("a")], fence=first.epoch)
                now.advance(_MINUTE * 2)
                await store.append_many("t", [note("late, and nobody came")], fence=first.epoch)
                second = await store.lease("t", owner="other", seconds=60)
                for _ in range(2):
                    with raising(LeaseLost):
                        await store.append_many("t", [note("x"), note("y")], fence=first.epoch)
                    await store.release(second)
                await store.append_many("t", [note("b")], fence=second.epoch)
                await store.append_many("t", [note("without a fence")])
                await store.append_many("elsewhere", [note("c")], fence=first.epoch)
            equal([await texts(store, "t"), await texts(store, "elsewhere")], [["a", "late, and nobody came", "b", "without a fence"], ["c"]])

        self.play(tmp_path, scenario)

    def test_no_epoch_comes_twice(self, tmp_path: Path) -> None:
        """Whatever became of the tape: reset, renamed; a branch has leases of its own."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            branch = await forked(store, "t", "try")
            for epoch in (1, 2):
                for tape in ("t", branch):
                    lease = await store.lease(tape, owner="one", seconds=600)
                    equal(lease.epoch, epoch)
                    await store.release(lease)
                    await store.reset(tape)
            held = await store.lease("t", owner="one", seconds=600)
            await written(store, "t", "b")
            await store.rename("t", "new")
            with raising(LeaseHeld):
                await store.lease("new", owner="other", seconds=600)
            with raising(LeaseLost):
                await store.append_many("new", [note("x")], fence=held.epoch - 1)
            await store.append_many("new", [note("c")], fence=held.epoch)
            equal((await store.lease(branch.replace("t", "new", 1), owner="one", seconds=600)).epoch, 3)
            await written(store, "t", "another tape under the old name")
            equal((await store.lease("t", owner="other", seconds=600)).epoch, held.epoch + 1)
            with raising(LeaseLost):
                await store.append_many("t", [note("x")], fence=held.epoch)

        self.play(tmp_path, scenario)

    def test_no_epoch_comes_twice_under_the_label_of_a_branch(self, tmp_path: Path) -> None:
        """A branch that is renamed goes on with its epoch, and so does one that is made under the old label, or takes a label that another had."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a")
            branch, other = await forked(store, "t", "try"), await forked(store, "t", "other")
            held = await store.lease(branch, owner="one", seconds=600)
            kept = branch.replace("try", "kept")
            await store.rename(branch, kept)
            with raising(LeaseHeld):
                await store.lease(kept, owner="other", seconds=600)
            equal(await forked(store, "t", "try"), branch)
            equal((await store.lease(branch, owner="other", seconds=600)).epoch, held.epoch + 1)
            with raising(LeaseLost):
                await store.append_many(branch, [note("x")], fence=held.epoch)
            away = branch.replace("try", "away")
            await store.rename(branch, away)
            await store.lease(other, owner="one", seconds=600)
            await store.rename(other, branch)
            with raising(LeaseLost):
                await store.append_many(branch, [note("x")], fence=held.epoch)
            await store.append_many(branch, [note("b")], fence=held.epoch + 1)

        self.play(tmp_path, scenario)

    def test_of_those_who_ask_for_a_lease_at_the_same_time_one_gets_it(self, tmp_path: Path) -> None:
        """And for each that was given back the epochs stay apart."""

        async def scenario(store: WholeStore) -> None:
            epochs: list[int] = []

            async def ask(who: int) -> None:
                for _ in range(4):
                    try:
                        lease = await store.lease("t", owner=str(who), seconds=600)
                    except LeaseHeld:
                        await anyio.lowlevel.checkpoint()
                        continue
                    epochs.append(lease.epoch)
                    await anyio.lowlevel.checkpoint()
                    await store.release(lease)

            async with anyio.create_task_group() as tasks:
                for who in range(6):
                    tasks.start_soon(ask, who)
            equal(sorted(epochs), list(range(1, len(epochs) + 1)))

        self.play(tmp_path, scenario)

    def test_a_lock_is_held_by_one_task_at_a_time(self, tmp_path: Path) -> None:
        """Other tapes are not waited for; an error in the block lets the lock go."""

        async def scenario(store: WholeStore) -> None:
            inside: list[int] = []
            most: list[int] = []

            async def hold(who: int) -> None:
                with suppress(ZeroDivisionError):
                    async with store.lock("t"):
                        inside.append(who)
                        async with store.lock("another tape"):
                            await anyio.lowlevel.checkpoint()
                        most.append(len(inside))
                        inside.remove(who)
                        equal(1 // (who % 3) <= 1, wanted=True, what="every third leaves by an error")

            async with anyio.create_task_group() as tasks:
                for who in range(12):
                    tasks.start_soon(hold, who)
            equal(most, [1] * 12)

        self.play(tmp_path, scenario)

    def test_a_lock_is_held_by_one_thread_at_a_time(self, tmp_path: Path) -> None:
        """Each thread runs an event loop of its own."""

        async def scenario(store: WholeStore) -> None:
            inside: list[int] = []
            most: list[int] = []

            async def hold(who: int) -> None:
                for _ in range(5):
                    async with store.lock("t"):
                        inside.append(who)
                        await anyio.lowlevel.checkpoint()
                        most.append(len(inside))
                        inside.remove(who)

            async with anyio.create_task_group() as tasks:
                for who in range(4):
                    tasks.start_soon(anyio.to_thread.run_sync, partial(anyio.run, hold, who, backend=self.backend))
            equal(most, [1] * 20)

        self.play(tmp_path, scenario)

    def test_who_gives_up_waiting_for_a_lock_leaves_it_usable(self, tmp_path: Path) -> None:
        """Cancelled in the queue or in the block."""

        async def scenario(store: WholeStore) -> None:
            async with store.lock("t"):
                with anyio.move_on_after(0.01) as waiting:
                    async with store.lock("t"):
                        pass
                equal(waiting.cancelled_caught, wanted=True)
            with anyio.move_on_after(0.01) as holding:
                async with store.lock("t"):
                    await anyio.sleep_forever()
            equal(holding.cancelled_caught, wanted=True)
            with anyio.fail_after(10):
                async with store.lock("t"):
                    pass

        self.play(tmp_path, scenario)

    def test_a_lock_excludes_those_who_opened_the_store_by_themselves(self, tmp_path: Path) -> None:
        """As another process does; tapes whose names look alike are each their own."""
        self.outlives_the_process(tmp_path)

        async def scenario(store: WholeStore) -> None:
            other = await self.opened(tmp_path)
            try:
                await written(other, "t", "a")
                async with store.lock("t"):
                    await written(other, "t", "a lock does not keep from writing")
                    with anyio.move_on_after(0.05) as waiting:
                        async with other.lock("t"):
                            pass
                    equal(waiting.cancelled_caught, wanted=True)
                    with anyio.fail_after(10):
                        async with other.lock("T"), other.lock("t/"), other.lock(sidecar_name("t", "s")):
                            pass
                with anyio.fail_after(10):
                    async with other.lock("t"):
                        pass
            finally:
                await other.aclose()

        self.play(tmp_path, scenario)

    def test_each_consumer_has_a_cursor_of_its_own(self, tmp_path: Path) -> None:
        """On each tape; it moves where it is told to, also back."""

        async def scenario(store: WholeStore) -> None:
            await written(store, "t", "a", "b")
            branch = await forked(store, "t", "try")
            await store.move_cursor("t", "mail", Head(0, 2))
            await store.move_cursor("t", "web", Head(0, 1))
            await store.move_cursor(branch, "mail", Head(3, 7))
            await store.move_cursor("t", "web", EMPTY)
            cursors = [await store.cursor(*asked) for asked in (("t", "mail"), ("t", "web"), (branch, "mail"), (branch, "web"), ("unknown", "mail"))]
            equal(cursors, [Head(0, 2), EMPTY, Head(3, 7), EMPTY, EMPTY])
            await store.rename("t", "new")
            equal([await store.cursor("new", "mail"), await store.cursor("t", "mail"), await store.cursor(branch.replace("t", "new", 1), "mail")], [Head(0, 2), EMPTY, Head(3, 7)])

        self.play(tmp_path, scenario)

    def test_families_are_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1: branches, how they ended, sidecars, marks, epochs, cursors."""
        seen: list[object] = []

        async def before(store: WholeStore) -> None:
            await written(store, "t", "a", "b")
            await written(store, sidecar_name("t", "s"), "side")
            outer = await forked(store, "t", "outer", owner="run 1")
            await written(store, outer, "c")
            await forked(store, outer, "inner", at=1)
            await closed(store, await forked(store, outer, "ended"), "discarded")
            await store.reset("t", entries=[note("anew")])
            lease = await store.lease("t", owner="one", seconds=600)
            await store.release(lease)
            await store.move_cursor("t", "mail", Head(0, 2))
            seen.extend(await everything(store, "t"))

        async def after(store: WholeStore) -> None:
            equal(await everything(store, "t"), seen)
            equal([(await store.lease("t", owner="one", seconds=1)).epoch, await store.cursor("t", "mail")], [2, Head(0, 2)])
            branches = await store.branches("t")
            equal([r.owner for r in branches], ["run 1", None, None])
            equal([await written(store, r.name, "on") for r in branches[:2]], [[4], [2]])

        self.play_again(tmp_path, before, after)
