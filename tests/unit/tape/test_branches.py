from datetime import timedelta

import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.errors import BranchClosed, BranchNotFound, InvalidInput, NameTaken
from playhead.store.change import DISCARDED, MERGED, OPEN
from playhead.store.protocol import Head
from playhead.tape.tape import Branch, copy_tape, diff, open_tape
from tests.unit.tape.opened import fresh_store, grown, run, said

pytestmark = pytest.mark.usefixtures("each_store")


def test_a_branch_shows_what_stood_when_it_was_forked_and_goes_on_by_itself():
    async def go():
        tape = await grown("one", "two")
        branch = await tape.fork()
        await tape.append(user("later"))
        added = await branch.append(user("mine"))
        assert (added.id, await said(branch), await said(tape)) == (3, ["one", "two", "mine"], ["one", "two", "later"])
        assert [m.text for m in await branch.read_messages()] == ["one", "two", "mine"]
        assert [e.id for e in await branch.delta()] == [3]

    run(go)


def test_a_branch_is_forked_at_an_entry_of_the_past_or_at_what_a_handle_of_the_past_shows():
    async def go():
        tape = await grown("one", "two", "three")
        first = (await tape.query().all())[0]
        assert await said(await tape.fork(first)) == ["one"]
        assert await said(await tape.fork(0)) == []
        assert await said(await tape.at(2).fork()) == ["one", "two"]
        with pytest.raises(InvalidInput, match="up to entry 2"):
            await tape.at(2).fork(3)
        with pytest.raises(InvalidInput, match="forked at one of its entries"):
            await tape.fork(4)

    run(go)


def test_a_branch_of_a_discarded_branch_has_nowhere_to_go_back_to():
    async def go():
        tape = await grown("one")
        outer = await tape.fork()
        inner = await outer.fork()
        await inner.append(user("inner"))
        await outer.discard()
        with pytest.raises(BranchClosed):
            await inner.merge()
        assert await said(inner) == ["one", "inner"]

    run(go)


def test_branches_are_listed_with_what_became_of_them_and_hidden_among_tapes():
    async def go():
        tape = await grown("one")
        await tape.fork(name="open")
        await (await tape.fork(name="merged")).merge()
        await (await tape.fork(name="dropped")).discard()
        assert [(r.name, r.state) for r in await tape.branches()] == [("t__branch__open", OPEN), ("t__branch__merged", MERGED), ("t__branch__dropped", DISCARDED)]
        assert await tape.store.list_tapes() == ["t"]
        assert await tape.gc(older_than=timedelta(days=1)) == []
        assert sorted(await tape.gc()) == ["t__branch__dropped", "t__branch__merged"]

    run(go)


def test_a_branch_is_found_by_its_label_or_its_whole_name():
    async def go():
        tape = await grown("one")
        branch = await tape.fork(name="trial")
        assert (await tape.branch("trial")).name == (await tape.branch(branch.name)).name == branch.name
        assert isinstance(open_tape(tape.store, branch.name), Branch) and isinstance(tape.scoped(branch.name), Branch)
        with pytest.raises(BranchNotFound, match="no branch"):
            await tape.branch("other")
        with pytest.raises(NameTaken):
            await tape.fork(name="trial")

    run(go)


@pytest.mark.parametrize("label", ["", "_x", "x_", "a__branch__b", "a__sidecar__b", 3])
def test_a_label_that_is_none_is_refused(label):
    async def go():
        with pytest.raises(InvalidInput):
            await (await grown("one")).fork(name=label or "\0")

    run(go)


def test_a_branch_that_was_never_made_is_no_empty_history():
    async def go():
        ghost = (await grown("one")).scoped("t__branch__ghost")
        for call in (ghost.head, ghost.read_messages, ghost.info, lambda: ghost.append(user("x")), ghost.reset, ghost.record):
            with pytest.raises(BranchNotFound):
                await call()

    run(go)


def test_a_rename_takes_branches_and_sidecars_along():
    async def go():
        tape = await grown("one")
        await tape.sidecar("spill").append_event("kept")
        branch = await tape.fork(name="trial")
        await branch.append(user("two"))
        moved = await tape.rename("support/43")
        assert await moved.store.list_tapes() == ["support/43"]
        again = await (await moved.branch("trial")).rename("tried")
        assert (again.name, await said(again)) == ("support/43__branch__tried", ["one", "two"])
        assert len(await moved.sidecar("spill").query().all()) == 1
        await again.merge()
        assert await said(moved) == ["one", "two"]
        await moved.store.append_many("other", [TapeEntry.event("x")])
        with pytest.raises(NameTaken):
            await moved.rename("other")

    run(go)


def test_a_copy_is_a_tape_of_its_own_with_the_same_uids_and_marks():
    async def go():
        tape = await grown(*map(str, range(1100)))
        await tape.sidecar("spill").append_event("early")
        branch = await tape.fork(name="trial")
        await branch.append(user("mine"))
        await branch.sidecar("spill").append_event("late")
        other = fresh_store()
        copy = await copy_tape(branch, "copy", store=other)
        assert [e.uid for e in await copy.query().all()] == [e.uid for e in await branch.query().all()]
        assert await other.marks("copy__sidecar__spill") == [Head(0, 1100), Head(0, 1101)]
        assert await other.list_tapes() == ["copy"]
        assert not await diff(copy, branch)
        with pytest.raises(NameTaken):
            await copy_tape(branch, "copy", store=other)

    run(go)


def test_a_fork_that_stands_for_itself_is_never_recovered():
    async def go():
        tape = await grown("one")
        await (await tape.fork(name="mine")).append(user("two"))
        assert await tape.recover() == []

    run(go)


def test_the_owner_of_another_machine_or_program_is_not_taken_for_dead():
    async def go():
        tape = await grown("one")
        for name, owner in (("a", "elsewhere"), ("b", "other-host:-:1:-:x"), ("c", "a:b:c:d:e")):
            await tape.fork(name=name, owner=owner)
        assert await tape.recover() == []

    run(go)
