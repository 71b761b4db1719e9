"""Merges that leave their branch open, that meet others, and that start a tape that has begun."""

import anyio
import pytest

from playhead.entry.message import assistant, user
from playhead.errors import InvalidInput
from playhead.store.change import MERGED, OPEN, SQUASHED
from playhead.tape.sidecar import TapeSidecar
from playhead.tape.tape import Tape
from tests.unit.tape.opened import fresh_store, grown, run, said

pytestmark = pytest.mark.usefixtures("each_store")


@pytest.mark.parametrize("policy", ["append", "squash", "mine"])
def test_a_branch_that_is_not_sealed_brings_each_time_what_is_new(policy):
    def merged(branch, **more):
        known = {"policy": policy, "summary": f"summary {len(more)}"} if policy == "squash" else {"policy": policy if policy == "append" else lambda delta: delta.entries}
        return branch.merge(**known, **more)

    async def go():
        tape = await grown("one")
        branch = await tape.fork(name="trial")
        deltas = []
        for text in ("a", "b", "c"):
            await branch.append(user(text))
            await branch.sidecar("notes").append_event("of", text)
            await tape.append(user(f"beside {text}"))
            report = await merged(branch, seal=False)
            deltas.append((report.event.payload["data"]["upto"], len(report.entries)))
            again = await merged(branch, seal=False)
            assert (again.entries, again.event.id) == ((), report.event.id)
            assert (await branch.record()).state == OPEN
        assert deltas == [(2, 1), (3, 1), (4, 1)]
        await branch.append(user("d"))
        await branch.merge()
        await branch.merge()
        assert (await branch.record()).state == (SQUASHED if policy == "squash" else MERGED)
        texts = [text for text in await said(tape) if text in "abcd"]
        assert texts == (["d"] if policy == "squash" else ["a", "b", "c", "d"])
        assert [e.payload["data"] for e in await tape.sidecar("notes").query().all()] == ["a", "b", "c"]
        assert [m.payload["data"]["entries"] for m in await tape.query().all() if m.payload.get("name") == "merge"] == [1, 1, 1, 1]

    run(go)


def test_what_was_reset_away_on_the_parent_does_not_come_back_with_the_next_merge():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.append(user("a"))
        await branch.merge(seal=False)
        await tape.reset()
        await branch.append(user("b"))
        await branch.merge()
        assert await said(tape) == ["b"]

    run(go)


def test_a_branch_that_was_reset_is_sealed_by_its_merge():
    async def go():
        tape = await grown("one")
        branch = await tape.fork()
        await branch.reset()
        with pytest.raises(InvalidInput, match="seal=True"):
            await branch.merge(seal=False)
        assert await said(tape) == ["one"]

    run(go)


@pytest.mark.parametrize("policy", ["append", "squash"])
def test_merges_of_one_open_branch_at_once_bring_each_entry_once(policy):
    async def go():
        tape = await grown("one")
        branch = await tape.fork()

        async def work(name):
            for i in range(5):
                await branch.append(user(f"{name}{i}"))
                await branch.sidecar("notes").append_event("of", f"{name}{i}")
                await branch.merge(policy, seal=False, **({"summary": "x"} if policy == "squash" else {}))

        async with anyio.create_task_group() as tasks:
            for name in "ABC":
                tasks.start_soon(work, name)
        merges = [e.payload["data"] for e in await tape.query().all() if e.payload.get("name") == "merge"]
        assert [m["upto"] for m in merges] == sorted(m["upto"] for m in merges) and merges[-1]["upto"] == 16
        notes = [e.payload["data"] for e in await tape.sidecar("notes").query().all()]
        assert sorted(notes) == sorted({f"{name}{i}" for name in "ABC" for i in range(5)})
        if policy == "append":
            assert sorted(await said(tape)) == sorted(["one", *notes])

    run(go)


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("seal", [True, False])
def test_what_a_sidecar_gets_while_its_branch_is_merged_comes_back_too(seal, begun):
    """Also the first that it gets, where it is mounted."""

    async def go():
        tape = await grown("one")
        tape.mount(TapeSidecar("notes"))
        branch = await tape.fork()
        await branch.append(user("a"))
        if begun:
            await branch.sidecar("notes").append_event("of", 0)
        make, late = tape.store.apply, iter(range(1, 4))

        async def apply(changes, **more):
            number = next(late, None)
            if number is not None:
                await branch.sidecar("notes").append_event("of", number)
            return await make(changes, **more)

        tape.store.apply = apply
        await branch.merge(seal=seal)
        await branch.merge()
        assert [e.payload["data"] for e in await tape.sidecar("notes").query().all()] == [0, 1, 2, 3][not begun :]

    run(go)


@pytest.mark.parametrize("anchored", ["the parent", "the branch alone"])
def test_the_beginning_of_a_branch_is_no_second_one_on_a_parent_that_has_begun(anchored):
    async def go():
        tape = Tape(fresh_store(), "t")
        one, other = await tape.fork(), await tape.fork()
        if anchored == "the parent":
            await tape.bootstrap()
        for branch, name in ((one, "A"), (other, "B")):
            await branch.bootstrap()
            await branch.append_many([user(f"question {name}"), assistant(f"answer {name}")])
            await branch.merge()
        assert [m.text for m in await tape.read_messages()] == ["question A", "answer A", "question B", "answer B"]
        assert (await tape.info()).anchors == 1
        assert len({e.uid for e in await tape.query().all()}) == (await tape.head()).id

    run(go)
