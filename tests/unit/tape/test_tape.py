from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, Text, ToolCall, ToolResult, assistant, tool_result_message, user
from playhead.errors import AnchorNotFound, Conflict, InvalidInput, KeyConflict, TapeNotScoped
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import Head
from playhead.tape.tape import Tape, open_tape
from playhead.testing import FakeClock
from playhead.view.context import LAST_ANCHOR, TapeContext, default_tape_context


def run(function):
    return anyio.run(function)


def fresh(name="t", **known):
    return Tape(InMemoryTapeStore(), name, **known)


def texts(messages):
    return [m.text for m in messages]


def test_append_returns_the_stored_entry_and_leaves_the_given_one_alone():
    async def go():
        tape, entry = fresh(), TapeEntry.message({"role": "user", "content": "hi"})
        stored = await tape.append(entry)
        assert stored.id == 1 and stored.uid and stored.payload == entry.payload
        assert entry.id == 0 and entry.meta == {}
        assert (await tape.append(assistant("yes"), run_id="r")).meta["run_id"] == "r"

    run(go)


def test_making_a_handle_writes_nothing():
    async def go():
        store = InMemoryTapeStore()
        Tape(store, "t").with_context(TapeContext(anchor=None))
        assert await store.list_tapes() == []

    run(go)


def test_a_handle_without_a_name_is_not_scoped():
    tape = Tape(InMemoryTapeStore())
    with pytest.raises(TapeNotScoped, match="tape is not scoped"):
        _ = tape.name
    with pytest.raises(ValueError, match="tape is not scoped"):
        run(tape.read_messages)
    assert tape.scoped("x").name == "x"


@pytest.mark.parametrize("name", ["", 3, b"x"])
def test_a_tapes_name_is_a_non_empty_text(name):
    with pytest.raises(InvalidInput, match="non-empty text"):
        Tape(InMemoryTapeStore(), name)


def test_a_handoff_is_an_anchor_and_an_event_with_their_real_ids():
    async def go():
        tape = fresh()
        anchor, event = await tape.handoff(name="order-reviewed", state={"summary": "Order A123 is approved."}, run_id="r")
        assert (anchor.id, anchor.kind, anchor.payload) == (1, "anchor", {"name": "order-reviewed", "state": {"summary": "Order A123 is approved."}})
        assert (event.id, event.payload) == (2, {"name": "handoff", "data": {"name": "order-reviewed", "state": {"summary": "Order A123 is approved."}}})
        bare, told = await tape.handoff("bare")
        assert bare.payload == {"name": "bare"} and told.payload["data"] == {"name": "bare", "state": {}}
        assert anchor.meta["run_id"] == event.meta["run_id"] == "r"

    run(go)


def test_a_handoff_hides_what_came_before_from_the_default_reading_and_from_nothing_else():
    async def go():
        tape = fresh()
        await tape.handoff("one")
        await tape.append(user("before"))
        await tape.handoff("two")
        await tape.append(user("after"))
        assert texts(await tape.read_messages()) == ["after"]
        assert [e.payload.get("content") for e in await tape.query().kinds("message").all()] == ["before", "after"]
        assert texts(await tape.with_context(replace(default_tape_context(), anchor="one")).read_messages()) == ["before", "[Anchor created: two]: null", "after"]
        assert texts(await tape.with_context(TapeContext(anchor=None)).read_messages()) == ["before", "after"]

    run(go)


def test_bootstrap_writes_once_even_when_many_race():
    async def go():
        store = InMemoryTapeStore()
        wrote: list[bool] = []

        async def boot():
            wrote.append(await Tape(store, "t").bootstrap())

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(boot)
        assert sorted(wrote) == [False] * 7 + [True]
        tape = Tape(store, "t")
        assert [a.name for a in await tape.anchors()] == ["session/start"]
        assert await tape.read_messages() == []

    run(go)


def test_anchors_are_listed_oldest_first():
    async def go():
        tape = fresh()
        for i in range(5):
            await tape.handoff(f"a{i}", state={"i": i} if i else None)
        await tape.append(TapeEntry(0, "anchor", {}))
        assert [(a.name, a.state) for a in await tape.anchors(3)] == [("a3", {"i": 3}), ("a4", {"i": 4}), ("-", {})]
        assert len(await tape.anchors()) == 6 and await tape.anchors(0) == []
        with pytest.raises(InvalidInput):
            await tape.anchors(-1)

    run(go)


def test_info_tells_what_the_tape_holds():
    async def go():
        tape = fresh("support/42")
        empty = await tape.info()
        assert (empty.entries, empty.anchors, empty.last_anchor, empty.entries_since_last_anchor, empty.last_token_usage) == (0, 0, None, 0, None)
        await tape.append(user("a"))
        await tape.handoff("x")
        await tape.append_event("run", {"usage": {"total_tokens": 120, "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}}})
        await tape.append_event("run", {"usage": {"total_tokens": True}})
        info = await tape.info()
        assert (info.name, info.entries, info.anchors, info.last_anchor, info.entries_since_last_anchor) == ("support/42", 5, 1, "x", 3)
        assert (info.last_token_usage, info.last_cache_hit_rate) == (120, 0.8)

    run(go)


def test_search_finds_words_in_values_not_in_names_and_equal_payloads_once():
    async def go():
        tape = fresh()
        for text in ("The VPN drops", "你好", "vpn again", "the vpn drops", "The VPN drops"):
            await tape.append(user(text))
        await tape.append_event("note", {"host": "vpn-1", "port": 1194})
        assert await found(tape, "vpn") == [3, 5, 4, 6]
        assert await found(tape, "你") == [2]
        assert await found(tape, "1194") == [6]
        assert await found(tape, "vpn", limit=1) == [3]
        assert await found(tape, "vpn", kinds=["event"]) == [6]
        assert await found(tape, "role") == [] and await found(tape, "user") == [] and await found(tape, "") == []

    run(go)


def test_search_is_narrowed_by_anchor_dates_and_the_past():
    async def go():
        tape = fresh()
        with clock.using(FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))) as time:
            for n in range(4):
                await tape.append(user(f"vpn {n}"))
                if n == 1:
                    await tape.handoff("middle")
                time.advance(timedelta(days=1))
        assert await found(tape, "vpn") == [6, 5, 2, 1]
        assert await found(tape, "vpn", after_anchor="middle") == await found(tape, "vpn", after_anchor=LAST_ANCHOR) == [6, 5]
        assert await found(tape, "vpn", since="2026-03-03") == [6, 5]
        assert await found(tape, "vpn", until=date(2026, 3, 2)) == [2, 1]
        assert await found(tape, "vpn", since="2026-03-02", until="2026-03-03T12:00:00Z") == [5, 2]
        assert await found(tape.at(5), "vpn") == [5, 2, 1]
        assert await found(tape.at(2), "vpn", kinds=["event"]) == []
        assert await found(tape, "vpn", kinds=[]) == await found(tape, "vpn", kinds=iter(())) == []
        assert await found(tape, "vpn", kinds=None) == await found(tape, "vpn", kinds=iter(["message", "event"])) == [6, 5, 2, 1]
        with pytest.raises(AnchorNotFound):
            await tape.search("vpn", after_anchor="absent")
        with pytest.raises(InvalidInput, match="earlier"):
            await tape.search("vpn", since="2026-03-03", until="2026-03-02")
        with pytest.raises(InvalidInput, match="several"):
            await tape.search("vpn", kinds="message")

    run(go)


async def found(tape, text, **narrowed):
    return [hit.entry.id for hit in await tape.search(text, **narrowed)]


def test_a_key_makes_an_append_happen_once():
    async def go():
        tape = fresh()
        first = await tape.append(user("pay"), key="k1")
        again = await tape.append(user("pay"), key="k1")
        assert again == first and (await tape.head()).id == 1
        with pytest.raises(KeyConflict):
            await tape.append(user("pay twice"), key="k1")
        both = Message(role="user", content=(ToolResult(call_id="c", content="x"), Text(text="y")))
        assert (await tape.append(both, key="k2")).id == 3
        assert (await tape.append(both, key="k2")).id == 3
        assert (await tape.handoff("h", key="k3"))[1].id == 5
        assert (await tape.append_event("paid", {"n": 1}, key="k4")).id == (await tape.append_event("paid", {"n": 1}, key="k4")).id == 6
        assert (await tape.handoff("h", key="k3"))[1].id == 5
        assert (await tape.append_event("paid", {"n": 1}, key="k4")).id == (await tape.append_event("paid", {"n": 1}, key="k4")).id == 6

    run(go)


def test_an_append_at_another_head_is_a_conflict_and_writes_nothing():
    async def go():
        tape = fresh()
        head = await tape.head()
        assert head == Head(0, 0)
        await tape.append(user("a"), expected_head=head)
        with pytest.raises(Conflict) as caught:
            await tape.append(user("b"), expected_head=head)
        assert (caught.value.expected, caught.value.found) == (head, Head(0, 1))
        assert (await tape.head()).id == 1

    run(go)


def test_only_messages_and_entries_are_kept():
    async def go():
        tape = fresh()
        with pytest.raises(InvalidInput, match=r"TapeEntry\.message"):
            await tape.append({"role": "user", "content": "x"})  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            await tape.append_many([user("a"), "b"])  # type: ignore[list-item]
        with pytest.raises(InvalidInput, match="tool_result_message"):
            await tape.append(Message(role="tool", content="x"))
        for odd in (lambda: user([1, 2]), lambda: tool_result_message(5), lambda: ToolCall(id="a", name=5), lambda: user("x", name=5)):
            with pytest.raises(InvalidInput):
                odd()
        with pytest.raises(InvalidInput):
            await tape.search(5)  # type: ignore[arg-type]
        assert (await tape.head()).id == 0
        assert await tape.append_many([]) == ()

    run(go)


def test_reset_starts_a_new_generation_and_can_archive_first(tmp_path):
    async def go():
        tape = fresh("../odd name", archives=tmp_path / "old")
        for i in range(3):
            await tape.append(user(f"m{i}"))
        assert await tape.reset() == "ok"
        assert await tape.head() == Head(1, 2)
        assert [(a.name, a.state) for a in await tape.anchors()] == [("session/start", {"owner": "human"})]
        await tape.append(user("after"))
        first, second = await tape.reset(archive=True), await tape.reset(archive=True)
        assert first.startswith("Archived: ") and first != second
        files = sorted((tmp_path / "old").iterdir())
        assert len(files) == 2 and all(f.parent == tmp_path / "old" and f.suffix == ".bak" for f in files)
        lines = Path(first.removeprefix("Archived: ")).read_text(encoding="utf-8").splitlines()
        assert len(lines) == 3 and '"after"' in lines[-1]
        (anchor,) = await tape.anchors()
        assert anchor.state["archived"] == second.removeprefix("Archived: ")
        assert await tape.read_messages() == []

    run(go)


def test_archiving_needs_a_directory():
    with pytest.raises(InvalidInput, match="archive"):
        run(lambda: fresh().reset(archive=True))


def test_a_tape_opened_by_url_closes_its_store(tmp_path):
    async def go():
        url = f"sqlite:///{tmp_path}/notes.db"
        async with open_tape(url, "support/42") as tape:
            await tape.append(user("My VPN drops every hour."))
        async with open_tape(url, "support/42") as tape:
            assert [e.payload["content"] for e in await tape.query().all()] == ["My VPN drops every hour."]

    run(go)


def test_a_model_call_is_recorded_whole_and_in_order():
    async def go():
        tape = fresh()
        failure = ValueError("late")
        stored = await tape.record_chat(
            run_id="r1",
            system_prompt="Be brief.",
            new_messages=[user("ping?")],
            tool_calls=[{"id": "a", "name": "ping", "arguments": {}}],
            tool_results=["pong"],
            error=failure,
            response_text="It is up.",
            usage={"total_tokens": 12},
            provider="openai",
            model="m",
        )
        assert [e.kind for e in stored] == ["system", "message", "tool_call", "tool_result", "error", "message", "event"]
        assert {e.meta["run_id"] for e in stored} == {"r1"}
        assert stored[-1].payload == {"name": "run", "data": {"status": "error", "usage": {"total_tokens": 12}, "provider": "openai", "model": "m"}}
        assert (await tape.info()).last_token_usage == 12
        context_error = RuntimeError("no context")
        stored = await tape.record_chat(run_id="r2", context_error=context_error, error=context_error, tool_results=[], response_text="")
        assert [e.kind for e in stored] == ["error", "tool_result", "message", "event"]
        assert [e.kind for e in await tape.record_chat(run_id="r3")] == ["event"]

    run(go)


def test_a_reset_gives_up_on_a_tape_that_never_stops_growing(tmp_path):
    class Growing(InMemoryTapeStore):
        async def fetch_all(self, query):
            found = await super().fetch_all(query)
            if query.ceiling is not None:
                await self.append(query.tape, TapeEntry.event("more"))
            return found

    async def go():
        tape = Tape(Growing(), "t")
        await tape.append(user("keep me"))
        with pytest.raises(Conflict, match="kept growing"):
            await tape.reset(archive=tmp_path)
        assert list(tmp_path.iterdir()) == []
        assert (await tape.query().kinds("message").all())[0].payload["content"] == "keep me"

    run(go)
