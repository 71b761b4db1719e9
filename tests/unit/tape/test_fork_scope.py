import anyio
import pytest

from playhead.entry.message import assistant, user
from playhead.errors import BranchNotFound, Conflict, InvalidInput
from playhead.tape.tape import Tape
from tests.unit.tape.opened import fresh_store, grown, run, said

pytestmark = pytest.mark.usefixtures("each_store")


@pytest.mark.parametrize("error", [ValueError("mine"), BranchNotFound("t__branch__x"), KeyboardInterrupt()])
def test_a_fork_scope_merges_when_its_block_raises_and_lets_the_error_through(error):
    async def go():
        tape = await grown("one")
        with pytest.raises(type(error)) as caught:  # noqa: PT012 - the block is what is tested
            async with tape.fork_tape() as branch:
                await branch.append(user("kept"))
                raise error
        assert caught.value is error
        assert await said(tape) == ["one", "kept"]

    run(go)


def test_a_fork_scope_merges_when_it_is_cancelled():
    async def go():
        tape = await grown("one")
        with anyio.CancelScope() as scope:
            async with tape.fork_tape() as branch:
                await branch.append(user("kept"))
                scope.cancel()
                await anyio.sleep(1)
        assert await said(tape) == ["one", "kept"]

    run(go)


def test_an_early_return_merges():
    async def go():
        tape = await grown("one")

        async def inner():
            async with tape.fork_tape() as branch:
                await branch.append(user("kept"))
                return 7

        assert await inner() == 7
        assert await said(tape) == ["one", "kept"]

    run(go)


def test_a_merge_that_fails_never_takes_the_place_of_the_blocks_error():
    async def go():
        tape = await grown("one")
        scope = tape.fork_tape(policy="fast-forward")
        with pytest.raises(ValueError, match="mine") as caught:  # noqa: PT012 - the block is what is tested
            async with scope as branch:
                await branch.append(user("kept"))
                await tape.append(user("theirs"))
                raise ValueError("mine")
        assert isinstance(scope.error, Conflict)
        assert "is still there" in caught.value.__notes__[0]
        assert await said(await tape.branch(branch.name)) == ["one", "kept"]

    run(go)


def test_a_merge_that_fails_after_a_good_block_is_raised():
    async def go():
        tape = await grown("one")
        with pytest.raises(Conflict):  # noqa: PT012 - the block is what is tested
            async with tape.fork_tape(policy="fast-forward") as branch:
                await branch.append(user("kept"))
                await tape.append(user("theirs"))

    run(go)


def test_a_fork_scope_is_left_in_another_task_than_it_was_entered():
    async def go():
        tape = await grown("one")
        scope = tape.fork_tape()
        branch = await scope.__aenter__()
        await branch.append(user("kept"))

        async def leave():
            await scope.__aexit__(None, None, None)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
        assert scope.report is not None and await said(tape) == ["one", "kept"]

    run(go)


def test_a_scope_is_entered_once():
    async def go():
        scope = (await grown("one")).fork_tape()
        async with scope:
            with pytest.raises(InvalidInput, match="entered before"):
                await scope.__aenter__()

    run(go)


def test_a_block_may_end_its_branch_itself():
    async def go():
        tape = await grown("one")
        async with tape.fork_tape() as branch:
            await branch.append(user("dropped"))
            await branch.discard()
        assert await said(tape) == ["one"]

    run(go)


@pytest.mark.parametrize("merge_back", [True, False])
@pytest.mark.parametrize("renamed", ["the branch", "its family"])
def test_a_branch_that_is_renamed_inside_its_block_is_found_at_its_end(renamed, merge_back):
    async def go():
        tape = await grown("one")
        async with tape.fork_tape(merge_back=merge_back) as branch:
            await branch.append(user("two"))
            await (branch.rename("later") if renamed == "the branch" else tape.rename("u"))
        new = tape if renamed == "the branch" else tape.scoped("u")
        assert await said(new) == ["one", "two"][: 1 + merge_back]
        assert await new.branches() == []

    run(go)


def test_nothing_is_left_of_a_scope_that_has_ended():
    async def go():
        tape = await grown("one")
        async with tape.fork_tape() as branch:
            await branch.append(user("kept"))
        async with tape.fork_tape(merge_back=False) as dropped:
            await dropped.append(user("dropped"))
        assert await tape.branches() == []
        with pytest.raises(BranchNotFound):
            await branch.head()

    run(go)


def test_two_first_runs_on_a_fresh_tape_leave_one_bootstrap_and_both_conversations_in_view():
    async def go():
        tape = Tape(fresh_store(), "fresh")

        async def first_run(n):
            await tape.bootstrap()
            async with tape.fork_tape() as branch:
                await branch.bootstrap()
                await branch.append_many([user(f"question {n}"), assistant(f"answer {n}")])
                await anyio.sleep(0.01)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first_run, "A")
            tasks.start_soon(first_run, "B")
        assert (await tape.info()).anchors == 1
        texts = [m.text for m in await tape.read_messages()]
        assert sorted(texts) == ["answer A", "answer B", "question A", "question B"]
        assert texts.index("answer A") == texts.index("question A") + 1

    run(go)


def test_a_fork_scope_that_is_entered_twice_at_once_makes_one_branch():
    async def go():
        tape = await grown("one")
        scope, refused = tape.fork_tape(), []

        async def enter():
            try:
                async with scope as branch:
                    await branch.append(user("kept"))
            except InvalidInput as exc:
                refused.append(exc)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(enter)
            tasks.start_soon(enter)
        assert len(refused) == 1
        assert await said(tape) == ["one", "kept"]

    run(go)
