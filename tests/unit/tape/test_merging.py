import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import assistant, user
from playhead.errors import BranchClosed, Conflict, InvalidInput, KeyConflict
from playhead.store.change import MERGED, OPEN, SQUASHED
from playhead.store.concurrency.owner import new_owner
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.tape.tape import diff
from tests.unit.tape.opened import grown, run, said

pytestmark = pytest.mark.usefixtures("each_store")


class _Work:
    """Drives a branch; once it is gone, so is the branch's owner."""


def test_a_merge_appends_the_delta_and_then_one_event_that_is_in_no_context():
    async def go():
        tape = await grown("one")
        branch = await tape.fork(name="trial")
        await branch.append_many([user("a"), assistant("b")])
        report = await branch.merge()
        assert [e.id for e in report.entries] == [2, 3] and not report.moved
        assert all("origin" not in e.meta for e in report.entries)
        last = (await tape.query().all())[-1]
        assert last == report.event and last.meta["context"] is False
        assert last.payload["data"] == {"branch": "t__branch__trial", "base": [0, 1], "upto": 3, "entries": 2, "policy": "append", "moved": False}
        assert [m.text for m in await tape.read_messages()] == ["one", "a", "b"]
        assert (await branch.record()).state == MERGED

    run(go)


def test_a_merge_behind_what_came_since_keeps_uids_and_says_where_each_entry_stood():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        own = await branch.append(user("mine"))
        await tape.append(user("theirs"))
        report = await branch.merge()
        assert report.moved and [e.uid for e in report.entries] == [own.uid]
        assert (report.entries[0].id, report.entries[0].meta["origin"]) == (3, {"tape": branch.name, "id": 2})
        assert await said(tape) == ["one", "theirs", "mine"]

    run(go)


def test_a_merge_again_changes_nothing():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(user("mine"))
        first = await branch.merge()
        again = await branch.merge()
        assert again.entries == () and again.event == first.event
        assert await said(tape) == ["one", "mine"]

    run(go)


def test_a_branch_without_entries_leaves_no_trace_on_its_parent():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        report = await branch.merge()
        assert (report.event, (await tape.head()).id, (await branch.record()).state) == (None, 1, MERGED)

    run(go)


def test_fast_forward_is_refused_where_the_parent_moved_and_leaves_no_trace():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(user("mine"))
        await tape.append(user("theirs"))
        with pytest.raises(Conflict):
            await branch.merge("fast-forward")
        assert ((await branch.record()).state, await said(tape)) == (OPEN, ["one", "theirs"])
        straight = await tape.fork()
        await straight.append(user("mine"))
        assert [e.id for e in (await straight.merge("fast-forward")).entries] == [3]

    run(go)


def test_squash_puts_a_summary_in_place_of_the_entries_which_stay_on_the_branch():
    async def go():
        tape = await grown("one")
        branch = await tape.fork(name="trial")
        await branch.append_many([user("a"), user("b")])
        report = await branch.merge("squash", summary="Both were tried.")
        (entry,) = report.entries
        assert entry.payload == {"role": "user", "content": "[Summary of branch trial]\nBoth were tried."}
        assert entry.meta["origin"] == {"tape": branch.name, "id": 3}
        assert (await branch.record()).state == SQUASHED
        assert await tape.gc() == []
        assert await said(branch) == ["one", "a", "b"]

    run(go)


@pytest.mark.parametrize(("policy", "summary"), [("squash", None), ("append", "x"), ("rebase", None), ("squash", 3)])
def test_a_policy_that_is_none_is_refused(policy, summary):
    async def go():
        branch = await (await grown("one")).fork()
        with pytest.raises(InvalidInput):
            await branch.merge(policy, summary=summary)

    run(go)


def test_a_policy_of_ones_own_sees_both_sides_and_says_what_comes_back():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append_many([user("a"), user("b")])
        await tape.append(user("theirs"))
        seen = []

        async def last_only(delta):
            seen.append(delta)
            return delta.entries[-1:]

        report = await branch.merge(last_only)
        assert report.policy == "last_only"
        assert [e.payload["content"] for e in seen[0].others] == ["theirs"] and seen[0].moved
        assert await said(tape) == ["one", "theirs", "b"]

    run(go)


def test_a_policy_that_refuses_leaves_both_as_they_were():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(user("a"))

        def refuse(delta):
            raise KeyConflict("no")

        with pytest.raises(KeyConflict):
            await branch.merge(refuse)
        assert ((await branch.record()).state, await said(tape)) == (OPEN, ["one"])

    run(go)


def test_a_reset_in_a_branch_replaces_what_it_was_forked_from_but_nothing_that_came_since():
    async def go():
        tape = await grown("one", "two")
        branch = await tape.fork()
        await branch.reset()
        await branch.append(user("anew"))
        assert await said(tape) == ["one", "two"]
        await tape.append(user("theirs"))
        await branch.merge()
        assert await said(tape) == ["anew", "theirs"]
        assert (await tape.head()).generation == 1

    run(go)


def test_a_reset_in_a_branch_that_is_discarded_leaves_the_parent_untouched():
    async def go():
        tape = await grown("one", "two")
        async with tape.fork_tape(merge_back=False) as branch:
            await branch.reset()
        assert await said(tape) == ["one", "two"] and (await tape.head()).generation == 0

    run(go)


def test_what_was_forked_before_a_reset_of_the_parent_comes_back_to_what_is_there_now():
    async def go():
        tape = await grown("one", "two")
        branch = await tape.fork()
        await branch.append(user("mine"))
        await tape.reset()
        assert await said(branch) == ["one", "two", "mine"]
        await branch.merge()
        assert await said(tape) == ["mine"]

    run(go)


def test_a_discarded_branch_can_be_read_but_neither_written_nor_merged():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(user("mine"))
        await branch.discard()
        await branch.discard()
        assert await said(branch) == ["one", "mine"]
        for refused in (lambda: branch.append(user("more")), branch.merge, branch.reset):
            with pytest.raises(BranchClosed, match="was discarded"):
                await refused()
        done = await tape.fork()
        await done.merge()
        with pytest.raises(BranchClosed, match="was merged"):
            await done.discard()

    run(go)


def test_a_branch_of_a_branch_comes_back_to_it_or_to_where_that_one_went():
    async def go():
        tape = await grown("one")
        outer = await tape.fork(name="outer")
        await outer.append(user("outer"))
        inner, late = await outer.fork(name="inner"), await outer.fork(name="late")
        await inner.append(user("inner"))
        await late.append(user("late"))
        await inner.merge()
        assert await said(outer) == ["one", "outer", "inner"]
        await outer.merge()
        await late.merge()
        assert await said(tape) == ["one", "outer", "inner", "late"]

    run(go)


def test_what_a_lost_answer_hid_is_not_brought_back_twice():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        first, second = await branch.append_many([user("a"), user("b")])
        await tape.store.append_many("t", [first])  # an earlier try got this far
        await branch.merge()
        assert await said(tape) == ["one", "a", "b"]
        assert [e.uid for e in await tape.query().kinds("message").all()][1:] == [first.uid, second.uid]

    run(go)


def test_a_key_of_the_branch_stands_on_the_parent_after_the_merge():
    async def go():
        tape = await grown("one")
        async with tape.fork_tape() as branch:
            await branch.append(user("paid"), key="charge-1")
        again = await tape.append(user("paid"), key="charge-1")
        assert again.id == 2 and await said(tape) == ["one", "paid"]

    run(go)


def test_merges_of_many_branches_at_once_never_interleave():
    async def go():
        tape = await grown("start")

        async def work(n):
            async with tape.fork_tape() as branch:
                for i in range(5):
                    await branch.append(user(f"{n}.{i}"))
                    await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(work, n)
        texts = (await said(tape))[1:]
        blocks = [texts[i : i + 5] for i in range(0, 40, 5)]
        assert sorted(blocks) == [[f"{n}.{i}" for i in range(5)] for n in range(8)]

    run(go)


def test_a_diff_tells_what_each_side_alone_has_even_after_a_merge():
    async def go():
        tape = await grown(*map(str, range(600)))
        branch = await tape.fork(300)
        mine = await branch.append(user("mine"))
        found = await diff(tape, branch)
        assert (found.shared, len(found.removed), [e.uid for e in found.added]) == (300, 300, [mine.uid])
        assert str(found).splitlines()[0] == f"300 entries shared; 300 only on t, 1 only on {branch.name}"
        assert str(await diff(tape, await tape.fork(1))).startswith("1 entry shared; 599 only on t, 0 only on ")
        assert "+ 301 message: user mine" in str(found) and "and 280 more" in str(found)
        await branch.merge()
        assert (await diff(tape, branch)).added == ()

    run(go)


def test_a_branch_whose_driver_died_is_merged_kept_or_discarded():
    async def orphaned(tape, name):
        work = _Work()
        branch = await tape.fork(name=name, owner=str(new_owner(work)))
        await branch.append(user(name))
        assert await tape.recover("keep") == []
        del work
        return branch

    async def go():
        tape = await grown("one")
        await orphaned(tape, "kept")
        (kept,) = await tape.recover("keep")
        assert (kept.branch.name, kept.action, (await tape.branches())[0].state) == ("t__branch__kept", "keep", OPEN)
        (merged,) = await tape.recover()
        assert merged.report is not None and await said(tape) == ["one", "kept"]
        await orphaned(tape, "dropped")
        (dropped,) = await tape.recover("discard")
        assert dropped.report is None and await said(tape) == ["one", "kept"]
        assert await tape.branches() == []
        with pytest.raises(InvalidInput, match="'merge', 'keep' or 'discard'"):
            await tape.recover("drop")

    run(go)


def test_what_was_forked_from_an_orphan_comes_back_before_it():
    async def go():
        tape, works = await grown("one"), [_Work(), _Work()]
        outer = await tape.fork(name="outer", owner=str(new_owner(works[0])))
        inner = await outer.fork(name="inner", owner=str(new_owner(works[1])))
        await inner.append(user("inner"))
        works.clear()
        assert [r.branch.name for r in await tape.recover()] == [inner.name, outer.name]
        assert await said(tape) == ["one", "inner"] and await tape.branches() == []

    run(go)


def test_an_entry_with_another_body_under_a_key_that_stands_keeps_the_branch_open():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(TapeEntry.event("charge", {"sum": 1}, **{IDEMPOTENCY_KEY: "k"}))
        await tape.append(TapeEntry.event("charge", {"sum": 2}, **{IDEMPOTENCY_KEY: "k"}))
        with pytest.raises(KeyConflict):
            await branch.merge()
        assert (await branch.record()).state == OPEN

    run(go)
