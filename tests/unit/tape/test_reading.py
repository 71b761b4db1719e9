from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.errors import AnchorNotFound, InvalidInput, NoAnchors, ReadOnly, SelectorError
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import LAST_ANCHOR, TapeContext, default_tape_context
from playhead.view.selection import build_messages


def run(function):
    return anyio.run(function)


def fresh(name="t", **known):
    return Tape(InMemoryTapeStore(), name, **known)


def texts(messages):
    return [m.text for m in messages]


def test_an_untouched_tape_says_that_it_has_no_anchors():
    async def go():
        tape = fresh()
        with pytest.raises(NoAnchors) as caught:
            await tape.read_messages()
        assert str(caught.value) == "[not_found] No anchors found in tape."
        assert await tape.with_context(replace(default_tape_context(), anchor=None)).read_messages() == []
        await tape.handoff("a")
        assert await tape.read_messages() == []

    run(go)


@pytest.mark.parametrize(
    "context", [default_tape_context(), TapeContext(), TapeContext(select=lambda entries, _: [e.payload for e in entries if e.kind == "message"])], ids=["full", "minimal", "selector"]
)
def test_a_first_anchor_that_comes_behind_what_was_said_hides_none_of_it(context):
    async def go():
        tape = fresh(context=context)
        await tape.append(user("My VPN drops every hour."))
        assert await tape.bootstrap() and not await tape.bootstrap()
        await tape.append(user("Is the tunnel up?"))
        assert texts(await tape.read_messages()) == ["My VPN drops every hour.", "Is the tunnel up?"]
        assert await tape.boundary() is None and (await tape.read()).before is None
        assert texts(await tape.at(3).read_messages()) == ["My VPN drops every hour."]
        await tape.handoff("fixed")
        await tape.append(user("Thanks."))
        assert texts(await tape.read_messages()) == ["Thanks."]

    run(go)


def test_only_the_anchor_that_a_tape_is_given_hides_nothing():
    async def go():
        own, given = fresh("own"), fresh("given")
        await own.append(user("before"))
        await own.handoff("session/start", {"summary": "mine"})
        await given.append(user("before"))
        await given.handoff("phase")
        await given.handoff("session/start", {"owner": "human"})
        for tape in (own, given):
            await tape.append(user("after"))
            assert texts(await tape.read_messages()) == ["after"]
            with pytest.raises(NoAnchors):
                await tape.at(1).read_messages()

    run(go)


def test_the_state_of_the_boundary_anchor_comes_first_as_a_users_note():
    async def go():
        tape = fresh()
        await tape.handoff("order-reviewed", state={"summary": "Order A123 is approved.", "next": ["ship"]})
        await tape.append(user("Go on."))
        note, message = await tape.read_messages()
        assert note.role == "user" and message.text == "Go on."
        assert "Note left at order-reviewed" in note.text and "Order A123 is approved." in note.text and '{"next":["ship"]}' in note.text
        seed = tape.with_context(default_tape_context(anchor_state=False))
        assert texts(await seed.read_messages()) == ["Go on."]
        assert texts(await tape.with_context(TapeContext()).read_messages()) == ["Go on."]

    run(go)


@pytest.mark.parametrize("state", [None, {}])
def test_an_anchor_without_state_leaves_no_note(state):
    async def go():
        tape = fresh()
        await tape.handoff("a", state=state)
        assert await tape.read_messages() == []

    run(go)


def test_an_unknown_anchor_is_named_in_the_error():
    async def go():
        tape = fresh()
        await tape.handoff("a")
        for context in (TapeContext(anchor="b"), replace(default_tape_context(), anchor="b")):
            with pytest.raises(AnchorNotFound) as caught:
                await tape.with_context(context).read_messages()
            assert str(caught.value) == "[not_found] Anchor 'b' was not found."
        with pytest.raises(InvalidInput):
            await tape.with_context(TapeContext(anchor="")).read_messages()
        with pytest.raises(InvalidInput):
            await tape.with_context(TapeContext(anchor=3)).read_messages()  # type: ignore[arg-type]

    run(go)


def test_a_name_means_the_newest_anchor_of_that_name():
    async def go():
        tape = fresh()
        for word in ("one", "two", "three"):
            await tape.handoff("phase")
            await tape.append(user(word))
        await tape.handoff("other")
        assert texts(await tape.with_context(TapeContext(anchor="phase")).read_messages()) == ["three"]

    run(go)


def test_a_handle_of_the_past_reads_the_tape_as_it_was_and_cannot_write():
    async def go():
        tape = fresh()
        await tape.handoff("one")
        await tape.append(user("a"))
        await tape.handoff("two")
        last = await tape.append(user("b"))
        past = tape.at(3)
        assert texts(await past.read_messages()) == ["a"]
        assert texts(await tape.at(last).read_messages()) == ["b"]
        assert [a.name for a in await past.anchors()] == ["one"]
        assert (await past.head()).id == 3
        assert len(await past.query().all()) == 3 and (await past.info()).entries == 3
        for write in (past.append(user("x")), past.handoff("x"), past.reset()):
            with pytest.raises(ReadOnly):
                await write
        with pytest.raises(InvalidInput):
            tape.at(0)

    run(go)


def test_a_reader_notices_that_the_tape_was_reset_and_filled_again():
    async def go():
        store = InMemoryTapeStore()
        one, two = Tape(store, "t"), Tape(store, "t")
        await one.bootstrap()
        await one.append(user("old"))
        assert texts(await one.read_messages()) == ["old"]
        await two.reset()
        await two.append(user("new"))
        assert texts(await one.read_messages()) == ["new"]

    run(go)


@pytest.mark.parametrize("more", [0, 1, 3])
@pytest.mark.parametrize("another", ["a tape", "a branch", "a tape that was reset before"])
def test_a_reader_notices_that_another_tape_has_the_name(another, more):
    """Also where it ends at the same place, or goes on behind it, in the same generation."""

    async def go():
        store, whole = InMemoryTapeStore(), TapeContext(anchor=None)
        tape = first = Tape(store, "t", context=whole)
        if another == "a tape that was reset before":
            await tape.append(user("before"))
            await store.reset("t")
        if another == "a branch":
            first = await tape.fork(name="b")
        for life in range(3):
            at = Tape(store, first.name, context=whole)
            await at.append_many([user(f"{life}-{n}") for n in range(3 + life * more)])
            assert texts(await first.read_messages()) == [f"{life}-{n}" for n in range(3 + life * more)]
            assert texts((await first.read(tail_tokens=10, head_tokens=10)).units[-1].messages) == [f"{life}-{2 + life * more}"]
            if another == "a branch":
                await (await tape.branch("b")).discard()
                assert await tape.gc() == [first.name]
                await tape.fork(name="b")
            else:
                await tape.rename(f"earlier {life}")

    run(go)


def test_readers_at_the_same_time_agree_while_a_tape_is_renamed_again_and_again():
    async def go():
        store = InMemoryTapeStore()
        tape = Tape(store, "t", context=TapeContext(anchor=None))
        ended = False

        async def read():
            while not ended:
                said = texts(await tape.read_messages())
                assert len({text.split("-")[0] for text in said}) <= 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(read)
            for life in range(60):
                for n in range(1 + life % 4):
                    await tape.append(user(f"{life}-{n}"))
                    await anyio.lowlevel.checkpoint()
                await tape.rename(f"earlier {life}")
            ended = True

    run(go)


def test_a_selector_gets_a_sequence_and_replaces_the_projection():
    async def go():
        tape = fresh()
        await tape.bootstrap()
        await tape.append(user("hi"))
        await tape.append_event("order.note", {"text": "fragile"})
        await tape.append(TapeEntry.message({"role": "user", "content": "secret"}, context=False))
        state = {"request_id": "r"}
        seen = []

        def notes(entries, context):
            assert context.state is state
            seen.append(([e.kind for e in entries], [e.kind for e in reversed(entries)], len(entries)))
            messages = build_messages(entries, default_tape_context())
            found = [e.payload["data"]["text"] for e in entries if e.payload.get("name") == "order.note"]
            return [*messages, system(f"Known notes: {found}")]

        async def later(entries, context):
            return notes(entries, context)

        for select in (notes, later):
            view = tape.with_context(TapeContext(select=select, state=state))
            assert texts(await view.read_messages()) == ["hi", "Known notes: ['fragile']"]
        assert seen[0][0] == ["event", "message", "event"] and seen[0][1] == seen[0][0][::-1]

    run(go)


@pytest.mark.parametrize("returned", [5, None, "text", {"role": "user"}])
def test_a_selector_that_returns_no_list_is_named_in_the_error(returned):
    async def go():
        tape = fresh()
        await tape.bootstrap()

        def odd(entries, context):
            return returned

        with pytest.raises(SelectorError, match="'odd' returned"):
            await tape.with_context(TapeContext(select=odd)).read_messages()

    run(go)


def test_a_selector_that_fails_is_named_and_keeps_its_cause():
    async def go():
        tape = fresh()
        await tape.bootstrap()

        async def broken(entries, context):
            return [1 / 0]

        with pytest.raises(SelectorError, match="'broken' failed with ZeroDivisionError") as caught:
            await tape.with_context(TapeContext(select=broken)).read_messages()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    run(go)


def test_a_selector_that_calls_itself_through_build_messages_is_told_so():
    async def go():
        tape = fresh()
        await tape.bootstrap()

        def loop(entries, context):
            return build_messages(entries, context)

        with pytest.raises(SelectorError, match="fresh default_tape_context"):
            await tape.with_context(TapeContext(select=loop)).read_messages()

    run(go)


def test_a_selector_that_drops_results_still_gives_whole_rounds():
    async def go():
        tape = fresh()
        await tape.bootstrap()
        await tape.append(user("go"))
        await tape.append(assistant(calls=[ToolCall(id="a", name="f"), ToolCall(id="b", name="g")]))
        stored = await tape.append(tool_result_message("a", "long " * 100))
        await tape.append_event("noise", {})

        def lean(entries, context):
            return [e.payload for e in entries if e.kind not in ("tool_result", "anchor")]

        messages = await tape.with_context(TapeContext(select=lean)).read_messages()
        assert [m.role for m in messages] == ["user", "assistant", "tool", "tool"]
        assert messages[2].text.startswith("result not shown: ") and messages[2].text.endswith(f"tokens, entry {stored.id}")
        assert messages[3].text == "interrupted, outcome unknown"

    run(go)


def test_contexts_have_three_fields_and_a_fresh_state_each():
    assert repr(LAST_ANCHOR) == "LAST_ANCHOR"
    one, two = TapeContext(), TapeContext()
    assert (one.anchor, one.select) == (LAST_ANCHOR, None) and one.state == {} and one.state is not two.state
    moved = replace(default_tape_context(), anchor="order-reviewed")
    assert moved.select == default_tape_context().select and moved.anchor == "order-reviewed"
