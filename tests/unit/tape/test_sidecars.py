from datetime import UTC, datetime

import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry, event_name
from playhead.entry.message import user
from playhead.errors import InvalidInput, StoreDamaged
from playhead.store.change import SQUASHED
from playhead.store.concurrency.owner import new_owner
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.tape.sidecar import TapeSidecar
from playhead.tape.tape import Tape
from playhead.testing import FakeClock
from playhead.view.context import TapeContext
from tests.unit.tape.opened import fresh_store, run

pytestmark = pytest.mark.usefixtures("each_store")


def fresh(store=None, **known):
    return Tape(store or fresh_store(), "t", context=TapeContext(anchor=None), sidecars=[TapeSidecar("spill")], **known)


async def names(tape):
    return [event_name(e) for e in await tape.query().kinds("event").all()]


async def events(tape, prefix):
    return [e for e in await tape.query().kinds("event").all() if event_name(e).startswith(prefix)]


def test_a_mounted_sidecar_is_found_by_its_name_and_backed_by_a_tape_of_its_own():
    tape = fresh()
    assert isinstance(tape.get_sidecar("spill"), TapeSidecar) and tape.get_sidecar("x") is None
    assert tape.sidecar_tape_name("spill") == tape.sidecar("spill").name == "t__sidecar__spill"
    with pytest.raises(KeyError, match="tape sidecar 'x' is not mounted"):
        tape.sidecar_tape_name("x")


def test_of_two_sidecars_with_one_name_the_first_counts_and_a_later_one_is_refused():
    first, second = TapeSidecar("a"), TapeSidecar("a")
    tape = Tape(fresh_store(), "t", sidecars=[first, second])
    assert tape.get_sidecar("a") is first
    with pytest.raises(InvalidInput, match="mounted already"):
        tape.mount(second)
    with pytest.raises(InvalidInput, match="has a name"):
        tape.mount(object())
    with pytest.raises(InvalidInput):
        tape.mount(TapeSidecar("a__sidecar__b"))


def test_a_sidecars_entries_are_in_no_context_and_not_among_the_tapes_and_outlive_their_mount():
    async def go():
        tape = fresh()
        await tape.append(user("hi"))
        await tape.sidecar("spill").append(user("never shown"))
        assert [m.text for m in await tape.read_messages()] == ["hi"]
        assert await tape.store.list_tapes() == ["t"]
        tape.unmount("spill")
        assert tape.get_sidecar("spill") is None
        assert len(await tape.sidecar("spill").query().all()) == 1

    run(go)


def test_a_sidecar_branches_and_merges_with_its_tape():
    async def go():
        tape = fresh()
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("early")
        async with tape.fork_tape() as branch:
            assert branch.get_sidecar("spill") is tape.get_sidecar("spill")
            await branch.append(user("two"))
            await branch.sidecar("spill").append_event("mine")
            await branch.sidecar("new").append_event("first")
            assert await names(branch.sidecar("spill")) == ["early", "mine"]
            assert await names(tape.sidecar("spill")) == ["early"]
            await tape.append(user("theirs"))
        assert await names(tape.sidecar("spill")) == ["early", "mine"]
        assert await names(tape.sidecar("new")) == ["first"]
        assert await tape.store.marks("t__sidecar__spill") == [Head(0, 1), Head(0, 3)]

    run(go)


def test_a_sidecar_of_a_discarded_branch_leaves_nothing():
    async def go():
        tape = fresh()
        async with tape.fork_tape(merge_back=False) as branch:
            await branch.sidecar("spill").append_event("mine")
        assert await names(tape.sidecar("spill")) == []

    run(go)


def test_a_fork_in_the_past_shows_a_sidecar_as_it_was_then():
    async def go():
        tape = fresh()
        first = await tape.append(user("one"))
        await tape.sidecar("spill").append_event("at one")
        await tape.append(user("two"))
        await tape.sidecar("spill").append_event("at two")
        assert await names((await tape.fork(first)).sidecar("spill")) == ["at one"]
        assert await names((await tape.fork(0)).sidecar("spill")) == []
        assert await names((await tape.fork()).sidecar("spill")) == ["at one", "at two"]

    run(go)


def test_marks_shift_with_a_merge_so_that_a_later_fork_in_the_past_cuts_where_it_should():
    async def go():
        tape = fresh()
        await tape.append(user("one"))
        branch = await tape.fork()
        mine = await branch.append(user("mine"))
        await branch.sidecar("spill").append_event("with mine")
        await branch.append(user("mine too"))
        await branch.sidecar("spill").append_event("with mine too")
        await tape.append_many([user("theirs"), user("theirs too")])
        report = await branch.merge()
        (there,) = [e for e in report.entries if e.uid == mine.uid]
        assert await names((await tape.fork(there)).sidecar("spill")) == ["with mine"]
        assert await names((await tape.fork(there.id - 1)).sidecar("spill")) == []
        assert await names((await tape.fork(there.id + 1)).sidecar("spill")) == ["with mine", "with mine too"]

    run(go)


def test_a_reset_empties_the_sidecars_too():
    async def go():
        tape = fresh()
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("x")
        assert await tape.reset() == "ok"
        assert await names(tape.sidecar("spill")) == []
        assert [e.payload["name"] for e in await tape.query().kinds("anchor").all()] == ["session/start"]

    run(go)


def test_a_reset_in_a_branch_takes_its_sidecars_and_spares_the_parents_until_the_merge():
    async def go():
        tape = fresh()
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("old")
        branch = await tape.fork()
        await branch.reset()
        await branch.append(user("anew"))
        await branch.sidecar("spill").append_event("new")
        await tape.append(user("theirs"))
        await tape.sidecar("spill").append_event("theirs")
        assert await names(tape.sidecar("spill")) == ["old", "theirs"]
        await branch.merge()
        assert await names(tape.sidecar("spill")) == ["new", "theirs"]
        marks = await tape.store.marks("t__sidecar__spill")
        assert [m.generation for m in marks] == [1, 1] and marks == sorted(marks)

    run(go)


def test_archives_of_a_tape_and_its_sidecars_have_one_time(tmp_path):
    async def go():
        tape = fresh(archives=tmp_path / "archives")
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("x")
        with clock.using(FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))):
            said = await tape.reset(archive=True)
        assert said == f"Archived: {tmp_path / 'archives' / 't.jsonl.20260301T120000Z.bak'}"
        assert sorted(p.name for p in (tmp_path / "archives").iterdir()) == ["t.jsonl.20260301T120000Z.bak", "t__sidecar__spill.jsonl.20260301T120000Z.bak"]
        assert await names(tape.sidecar("spill")) == []

    run(go)


class DamagedSidecar(InMemoryTapeStore):
    """A store whose tape of one sidecar can no longer be read, as on a disk with a bad block."""

    damaged = ""

    async def fetch_all(self, query):
        """Return the entries a query asks for, unless the tape is damaged."""
        if self.damaged and self.damaged in query.tape:
            raise StoreDamaged(f"'{query.tape}' is damaged", path=query.tape, offset=0)
        return await super().fetch_all(query)

    async def head(self, tape):
        """Return where a tape ends, unless it is damaged."""
        if self.damaged and self.damaged in tape:
            raise StoreDamaged(f"'{tape}' is damaged", path=tape, offset=0)
        return await super().head(tape)


def test_a_sidecar_whose_archive_fails_is_not_reset_and_an_event_says_so(tmp_path):
    async def go():
        store = DamagedSidecar()
        tape = fresh(store, archives=tmp_path)
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("x")
        await tape.sidecar("other").append_event("y")
        store.damaged = "spill"
        await tape.reset(archive=True)
        archived, reset = await events(tape, "sidecar.")
        assert (event_name(archived), archived.payload["data"]["status"], archived.payload["data"]["sidecar"]) == ("sidecar.archive", "error", "spill")
        assert reset.payload["data"] == {"sidecar": "spill", "status": "skipped", "reason": "reset", "cause": "archive_failed"}
        assert archived.meta["context"] is False
        store.damaged = ""
        assert (await names(tape.sidecar("spill")), await names(tape.sidecar("other"))) == (["x"], [])

    run(go)


def test_a_sidecar_that_cannot_be_merged_is_told_of_and_keeps_nothing_else_back():
    async def go():
        store = DamagedSidecar()
        tape = fresh(store)
        await tape.append(user("one"))
        branch = await tape.fork()
        await branch.append(user("two"))
        await branch.sidecar("spill").append_event("lost")
        await branch.sidecar("other").append_event("kept")
        store.damaged = "spill"
        report = await branch.merge()
        store.damaged = ""
        assert list(report.failed) == ["spill"] and "is damaged" in report.failed["spill"]
        (event,) = await events(tape, "sidecar.merge")
        assert event.payload["data"]["tape"] == "spill" and event.payload["data"]["status"] == "error" and event.meta["context"] is False
        assert [m.text for m in await tape.read_messages()] == ["one", "two"]
        assert await names(tape.sidecar("other")) == ["kept"]
        assert (await branch.record()).state == SQUASHED and await tape.gc() == []
        assert await names(branch.sidecar("spill")) == ["lost"]

    run(go)


def test_a_sidecar_that_refuses_what_comes_back_is_told_of_as_well():
    async def go():
        tape = fresh()
        await tape.append(user("one"))
        branch = await tape.fork()
        await branch.append(user("two"))
        await branch.sidecar("spill").append(TapeEntry.event("x", 1, **{IDEMPOTENCY_KEY: "k"}))
        await branch.sidecar("other").append_event("kept")
        await tape.sidecar("spill").append(TapeEntry.event("x", 2, **{IDEMPOTENCY_KEY: "k"}))
        report = await branch.merge()
        assert list(report.failed) == ["spill"]
        assert await names(tape.sidecar("other")) == ["kept"]
        assert [m.text for m in await tape.read_messages()] == ["one", "two"]

    run(go)


def test_one_sidecar_is_archived_and_reset_and_the_tape_says_so(tmp_path):
    async def go():
        tape = fresh(archives=tmp_path)
        await tape.append(user("one"))
        await tape.sidecar("spill").append_event("x")
        event = await tape.archive_sidecar("spill")
        assert event.payload["data"]["status"] == "ok" and event.payload["data"]["reason"] == "manual" and event.payload["data"]["archive"].startswith(str(tmp_path))
        archived, reset = await tape.reset_sidecar("spill", archive=True, reason="gc")
        assert [e.payload["data"]["status"] for e in (archived, reset)] == ["ok", "ok"]
        assert await names(tape.sidecar("spill")) == []
        assert await names(tape) == ["sidecar.archive", "sidecar.archive", "sidecar.reset"]
        with pytest.raises(KeyError):
            await tape.reset_sidecar("x")

    run(go)


def test_a_reset_of_one_sidecar_is_skipped_where_its_archive_fails(tmp_path):
    async def go():
        tape = fresh()
        await tape.sidecar("spill").append_event("x")
        blocked = tmp_path / "file"
        blocked.write_text("in the way")
        archived, reset = await tape.reset_sidecar("spill", archive=blocked)
        assert archived.payload["data"]["status"] == "error"
        assert reset.payload["data"]["cause"] == "archive_failed"
        assert await names(tape.sidecar("spill")) == ["x"]

    run(go)


class Counting(TapeSidecar):
    """Counts what is said on each tape, on its own tape, and remembers where it was told."""

    def __init__(self, name, *, error=None):
        super().__init__(name)
        self.told = []
        self.error = error

    async def on_commit(self, tape, entries):
        self.told.append((tape.name, [e.id for e in entries]))
        if self.error is not None:
            raise self.error
        await tape.sidecar(self.name).append_event("words", sum(len(e.payload["content"].split()) for e in entries if e.kind == "message"))


class Blocking:
    """An ability without a tape of its own, which is told without being awaited."""

    name = "blocking"

    def __init__(self):
        self.texts = []

    def on_commit(self, tape, entries):
        self.texts += [e.payload["content"] for e in entries if e.kind == "message"]


def test_an_ability_is_told_of_every_append_and_of_what_a_merge_brought_back():
    async def go():
        counting, blocking = Counting("words"), Blocking()
        tape = Tape(fresh_store(), "t", sidecars=[counting])
        tape.mount(blocking)
        await tape.append(user("one two"))
        async with tape.fork_tape() as branch:
            await branch.append_many([user("three"), user("four")])
            name = branch.name
        assert counting.told == [("t", [1]), (name, [2, 3]), ("t", [2, 3])]
        assert blocking.texts == ["one two", "three", "four", "three", "four"]
        assert [e.payload["data"] for e in await tape.sidecar("words").query().all()] == [2, 2, 2]
        tape.unmount("blocking")
        await tape.append(user("five"))
        assert len(blocking.texts) == 5 and counting.told[-1] == ("t", [5])
        with pytest.raises(InvalidInput):
            await tape.append({"role": "user"})
        assert len(counting.told) == 4

    run(go)


def test_an_ability_that_fails_when_it_is_told_is_noted_and_refuses_nothing():
    async def go():
        broken, sound = Counting("broken", error=ValueError("no")), Counting("sound")
        tape = Tape(fresh_store(), "t", sidecars=[broken, sound])
        assert (await tape.append(user("one"))).id == 1
        (event,) = await events(tape, "sidecar.")
        assert event.payload["name"] == "sidecar.commit" and event.meta["context"] is False
        assert event.payload["data"] == {"sidecar": "broken", "status": "error", "reason": "on_commit", "error": "no"}
        assert sound.told == [("t", [1])]

    run(go)


def test_an_ability_is_told_of_what_a_recovery_brought_back():
    async def go():
        told = Counting("words")
        tape = Tape(fresh_store(), "t", sidecars=[told])
        await tape.append(user("one"))
        work = Blocking()
        branch = await tape.fork(owner=str(new_owner(work)))
        await branch.append(user("two"))
        del work
        await tape.recover()
        assert told.told[-1] == ("t", [2])

    run(go)
