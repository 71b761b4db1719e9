"""The line to the server fails at each request of each deed, before or after the server did it: what was asked is done once, or not at all and said so."""

from __future__ import annotations

import gc
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown, StoreError, StoreUnavailable
from playhead.store.change import Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.families import everything, forked, merge_of
from playhead.testing.stage import keyed, note
from tests.crash.wire import LOST, SWALLOWED, TERMINATED, TORN, UNHEARD, Wire, wire
from tests.postgres import Databases

Deed = Callable[[WholeStore, str], Awaitable[object]]
SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
BREAKS = (LOST, TORN, UNHEARD, TERMINATED)
EACH_WAY = ("append", "merge")
"""Deeds that meet every break; the others meet a request that is lost and one that is unheard, and all in a soak."""


async def merged(store: WholeStore, root: str) -> object:
    return await store.apply(await merge_of(store, branch_name(root, "try"), key="merge"), unless=(root, "merge"))


async def leased(store: WholeStore, root: str) -> object:
    lease = await store.lease(root, owner="one", seconds=600)
    await store.append_many(root, [note("under a lease")], fence=lease.epoch)
    return lease.epoch


async def consumed(store: WholeStore, root: str) -> object:
    await store.move_cursor(root, "reader", Head(0, 2))
    return await store.cursor(root, "reader")


DEEDS: dict[str, Deed] = {
    "append": lambda store, root: store.append_many(root, [note("one"), note("other")]),
    "append with a key": lambda store, root: store.append_many(root, [keyed("one", "k")]),
    "append in parts": lambda store, root: store.append_many(root, [note("large " * 60_000), note("other")]),
    "append behind a head": lambda store, root: store.append_many(root, [note("one")], expected_head=Head(0, 3)),
    "append beside": lambda store, root: store.append_many(sidecar_name(root, "s"), [note("one")]),
    "append to a new tape": lambda store, root: store.append_many(sidecar_name(root, "new"), [note("one")]),
    "lease": leased,
    "cursor": consumed,
    "reset": lambda store, root: store.reset(root, entries=[note("again")]),
    "fork": lambda store, root: store.apply([Fork(tape=branch_name(root, "other"), parent=root, at=1, owner="me")]),
    "merge": merged,
    "close": lambda store, root: store.apply([Close(tape=branch_name(root, "try"), outcome="discarded")]),
    "rename a branch": lambda store, root: store.rename(branch_name(root, "try"), branch_name(root, "tried")),
    "rename a tape": lambda store, root: store.rename(root, f"{root} renamed"),
}


@dataclass(frozen=True, kw_only=True)
class Ends:
    """A store whose line can be cut, one whose line is sound, and the line."""

    cut: PostgresTapeStore
    sound: PostgresTapeStore
    line: Wire


async def prepared(store: WholeStore, root: str) -> None:
    await store.append_many(root, [note(f"a {n}") for n in range(3)])
    await store.append_many(sidecar_name(root, "s"), [note("side")])
    branch = await forked(store, root, "try", owner="run")
    await store.append_many(branch, [keyed("b", "b"), note("c")])
    await store.append_many(sidecar_name(branch, "s"), [note("side of the branch")])


async def seen(store: WholeStore, root: str) -> object:
    """Return all that can be seen of a family under its name or its new one, without what differs from one attempt to the next."""

    def plain(value: object) -> object:
        if isinstance(value, TapeEntry):
            return value.id, value.kind, value.payload, value.meta.get("idempotency_key")
        if isinstance(value, list):
            return [plain(each) for each in value]
        if hasattr(value, "closed_at"):
            return value.name.replace(root, ""), value.parent.replace(root, ""), value.base, value.state, value.owner
        return value.replace(root, "") if isinstance(value, str) else value

    found = []
    for name in (root, f"{root} renamed"):
        _, *rest = await everything(store, name)
        found.append([plain(rest), (await store.cursor(name, "reader"))])
    return found


def ends_at(id: int) -> TapeQuery:
    """Return the query for the last entry up to an id."""
    return replace(TapeQuery(tape="t"), ceiling=id).newest_first().limit(1)


@pytest.fixture(autouse=True)
def the_driver_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which it did, by the end of all that was left to the collector: in a program without logging that is written to stderr."""
    yield
    gc.collect()
    assert [record.getMessage() for record in caplog.get_records("call") if record.name.startswith("psycopg")] == []


@pytest.fixture
def line(postgres: Databases, postgres_url: str) -> Iterator[Wire]:
    with wire(postgres.address, terminate=partial(postgres.end_sessions, postgres_url)) as made:
        yield made


def play(postgres: Databases, url: str, line: Wire, scenario: Callable[[Ends], Awaitable[None]], *, timeout: float = 10, backend: str = "asyncio") -> None:
    async def played() -> None:
        through = PostgresTapeStore(postgres.through(url, port=line.port), timeout=timeout, durability="process")
        async with through as cut, PostgresTapeStore(url, durability="process") as sound:
            await scenario(Ends(cut=cut, sound=sound, line=line))

    anyio.run(played, backend=backend)


@pytest.mark.parametrize("name", DEEDS)
def test_a_line_that_breaks_at_any_request_changes_nothing_of_what_is_done(postgres: Databases, postgres_url: str, line: Wire, name: str):
    """Where it can be reached again: the deed returns as if nothing had been, and was done once."""

    async def scenario(ends: Ends) -> None:
        await prepared(ends.sound, "whole")
        await DEEDS[name](ends.cut, "whole")
        wanted = await seen(ends.sound, "whole")
        met, breaks = 0, BREAKS if SOAK or name in EACH_WAY else (LOST, UNHEARD)
        for how in breaks:
            for at in range(1, 40):
                root = f"{how} {at}"
                await prepared(ends.sound, root)
                await ends.cut.head(root)
                ends.line.arm(how, at=at)
                await DEEDS[name](ends.cut, root)
                ends.line.disarm()
                assert await seen(ends.sound, root) == wanted, (how, at)
                if not ends.line.sprung:
                    break
                met += 1
            else:
                raise AssertionError("it asks without end")
        assert met >= len(breaks)

    play(postgres, postgres_url, line, scenario)


@pytest.mark.parametrize(("name", "last"), [("append", b'"one"'), ("append behind a head", b'"one"'), ("fork", b"COMMIT"), ("merge", b"COMMIT"), ("reset", b"COMMIT")])
def test_a_deed_whose_server_is_gone_before_it_answers_was_done_or_was_not(postgres: Databases, postgres_url: str, line: Wire, name: str, last: bytes):
    """A typed error says so, and it is never done in part; where the server did it, and only the last answer is missing, it is said to be unknown."""

    async def attempt(ends: Ends, how: str, root: str, **where: object) -> tuple[type[Exception] | None, object]:
        await prepared(ends.sound, root)
        ends.line.cut_all()
        await ends.cut.head(root)
        ends.line.arm(how, then_down=True, **where)
        told: type[Exception] | None = None
        try:
            await DEEDS[name](ends.cut, root)
        except StoreError as error:
            told = type(error)
        ends.line.disarm()
        return told, await seen(ends.sound, root)

    async def scenario(ends: Ends) -> None:
        await prepared(ends.sound, "before")
        before = await seen(ends.sound, "before")
        await DEEDS[name](ends.cut, "before")
        after = await seen(ends.sound, "before")
        kept_from_it = 0
        for how in (LOST, UNHEARD):
            for at in range(1, 40):
                told, found = await attempt(ends, how, f"{how} {at}", at=at)
                if not ends.line.sprung:
                    assert (told, found) == (None, after)
                    break
                kept_from_it += told is not None and found == before
                assert (told, found) in ((None, after), (AppendOutcomeUnknown, after), (AppendOutcomeUnknown, before), (StoreUnavailable, before)), (how, at)
        assert kept_from_it
        for how, wanted in ((UNHEARD, after), (LOST, before)):
            outcomes = [await attempt(ends, how, f"{how} at last {n}", holding=last) for n in range(4)]
            # What an earlier reset left behind is removed when there is time, and may meet the fault in place of the deed.
            assert [outcome for outcome in outcomes if outcome != (None, after)] == [(AppendOutcomeUnknown, wanted)] * len([told for told, _ in outcomes if told])
            assert any(told for told, _ in outcomes)

    play(postgres, postgres_url, line, scenario, timeout=0.1)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_append_whose_reply_is_swallowed_is_found_by_its_uid(postgres: Databases, postgres_url: str, line: Wire, backend: str):
    """The line stays open and silent; others write in the meantime."""

    async def scenario(ends: Ends) -> None:
        await ends.cut.append("t", TapeEntry.event("first"))
        ends.line.arm(SWALLOWED, holding=b"the one")
        stored: list[TapeEntry] = []

        async def append() -> None:
            stored.extend(await ends.cut.append_many("t", [note("swallowed", uid="the one"), keyed("keyed", "k")]))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(append)
            while not await ends.sound.find("t", uids=["the one"]):
                await anyio.lowlevel.checkpoint()
            await ends.sound.append("t", TapeEntry.event("rival"))
        assert [entry.id for entry in stored] == [2, 3]
        assert [entry.id for entry in await ends.sound.append_many("t", [keyed("keyed", "k")])] == [3]
        assert (await ends.sound.head("t")).id == 4

    play(postgres, postgres_url, line, scenario, timeout=0.4, backend=backend)


def test_what_nobody_can_say_is_told_by_its_uids_and_keys(postgres: Databases, postgres_url: str, line: Wire):
    async def scenario(ends: Ends) -> None:
        await ends.cut.append("t", TapeEntry.event("first"))
        ends.line.arm(UNHEARD, holding=b"uid of a", then_down=True)
        entries = [note("a", uid="uid of a"), keyed("b", "k")]
        with pytest.raises(AppendOutcomeUnknown) as caught:
            await ends.cut.append_many("t", entries)
        assert "uid of a" in caught.value.details["uids"]
        assert list(caught.value.details["keys"]) == ["k"]
        ends.line.disarm()
        found = await ends.cut.find("t", keys=["k"], uids=["uid of a"])
        assert [found["uid of a"].id, found["k"].id] == [2, 3]
        assert [entry.id for entry in await ends.cut.append_many("t", [keyed("b", "k"), note("c")])] == [3, 4]

    play(postgres, postgres_url, line, scenario, timeout=0.1)


def test_readers_and_writers_go_on_through_a_line_that_breaks_again_and_again(postgres: Databases, postgres_url: str, line: Wire):
    """Eight tasks, each with its own order; every acknowledged id is the entry that was sent."""
    count = 25

    async def scenario(ends: Ends) -> None:
        done = 0

        async def write(who: int) -> None:
            nonlocal done
            for n in range(count):
                (stored,) = await ends.cut.append_many("t", [note(f"{who} {n}")])
                (kept,) = await ends.cut.fetch_all(ends_at(stored.id))
                assert (kept.uid, kept.payload) == (stored.uid, stored.payload)
            done += 1

        async def cut() -> None:
            while done < 8:
                head = (await ends.sound.head("t")).id
                while done < 8 and (await ends.sound.head("t")).id < head + 15:
                    await anyio.lowlevel.checkpoint()
                ends.line.cut_all()

        async with anyio.create_task_group() as tasks:
            for who in range(8):
                tasks.start_soon(write, who)
            tasks.start_soon(cut)
        entries = await ends.sound.fetch_all(ends_at(10**6).limit(10**6))
        assert [entry.id for entry in reversed(entries)] == list(range(1, 8 * count + 1))
        for who in range(8):
            assert [entry.payload["text"] for entry in reversed(entries) if entry.payload["text"].startswith(f"{who} ")] == [f"{who} {n}" for n in range(count)]

    play(postgres, postgres_url, line, scenario)
