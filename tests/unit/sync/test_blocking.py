"""Tapes and managers without `await`: one loop, from anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime

import anyio
import pytest

import playhead as ph
from playhead import clock, sync
from playhead.store.query import PAGE

MESSAGES_PAGE = 256


@pytest.fixture
def tape():
    with sync.open_tape("memory:", "t") as tape:
        yield tape


def test_a_tape_is_written_queried_and_compiled_without_await(tape: sync.Tape):
    tape.append(ph.user("one"))
    tape.append_event("noted", {"by": "me"})
    tape.handoff("next", {"summary": "one was said"})
    tape.append_many([ph.user("two"), ph.assistant("three")])
    assert [e.id for e in tape.query().kinds("message")] == [1, 5, 6]
    assert [e.id for e in tape.query().after_anchor("next").newest_first().all()] == [6, 5, 4]
    assert [str(m) for m in tape.read_messages()][1:] == ["two", "three"]
    assert [a.name for a in tape.anchors()] == ["next"]
    assert sync.compile(tape, ph.Budget()).stats.total > 0


def test_iterating_a_query_reads_past_one_page(tape: sync.Tape):
    tape.append_many([ph.user(str(i)) for i in range(PAGE + 5)])
    ids = []
    for entry in tape.query():
        ids.append(entry.id)
        if entry.id == PAGE + 2:
            break
    assert ids == list(range(1, PAGE + 3))


def test_a_handle_of_another_view_is_a_blocking_one_too(tape: sync.Tape):
    tape.append(ph.user("one"))
    tape.append(ph.user("two"))
    assert [str(m) for m in tape.with_context(ph.TapeContext(anchor=None)).at(1).read_messages()] == ["one"]
    assert tape.scoped("other").info().entries == 0


def test_an_error_reaches_the_caller_as_it_is(tape: sync.Tape):
    with pytest.raises(ph.NoAnchors):
        tape.read_messages()


def test_it_works_inside_a_running_event_loop():
    async def main() -> int:
        with sync.open_tape("memory:", "t") as tape:
            return tape.append(ph.user("from inside a loop")).id

    assert anyio.run(main) == 1
    assert anyio.run(main, backend="trio") == 1


def test_threads_share_one_loop_and_lose_nothing(tape: sync.Tape):
    threads = [threading.Thread(target=lambda: [tape.append(ph.user("x")) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [e.id for e in tape.query()] == list(range(1, 81))
    assert sum(t.name == "playhead-sync" for t in threading.enumerate()) == 1


def test_a_blocking_call_inside_a_blocking_call_raises_instead_of_waiting_for_itself(tape: sync.Tape):
    tape.append(ph.user("one"))
    context = ph.TapeContext(anchor=None, select=lambda entries, context: [ph.user(str(tape.head()))])
    with pytest.raises(ph.PlayheadError, match="use the async form there"):
        tape.with_context(context).read_messages()


def test_an_iterator_that_is_dropped_on_the_loop_itself_raises_nothing(tape: sync.Tape):
    tape.append_many([ph.user("one"), ph.user("two")])
    entries = iter(tape.query())
    assert next(entries).id == 1

    async def drop() -> None:
        entries.close()

    sync.wait(drop)
    assert list(entries) == []


class StoppedClock:
    def now(self) -> datetime:
        return datetime(2026, 3, 2, 13, 2, 20, tzinfo=UTC)

    def uid(self) -> str:
        return "00000000-0000-7000-8000-000000000001"


def test_the_callers_clock_tells_the_time(tape: sync.Tape):
    with clock.using(StoppedClock()):
        entry = tape.append(ph.user("at two past one"))
    assert (entry.date, entry.uid) == ("2026-03-02T13:02:20.000000+00:00", "00000000-0000-7000-8000-000000000001")


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_starts_its_own_loop():
    code = (
        "import os, playhead as ph\n"
        "tape = ph.sync.open_tape('memory:', 't')\n"
        "tape.append(ph.user('parent'))\n"
        "child = os.fork()\n"
        "fresh = ph.sync.open_tape('memory:', 't')\n"
        "fresh.append(ph.user('both'))\n"
        "if child == 0: os._exit(fresh.append(ph.user('child')).id)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    result = run_python(code.replace("-W error", ""))
    assert (result.returncode, result.stdout.strip()) == (0, "2"), result.stderr


def test_a_loop_that_was_ended_from_inside_is_followed_by_another():
    code = (
        "import asyncio, playhead as ph\n"
        "tape = ph.sync.open_tape('memory:', 't')\n"
        "tape.append(ph.user('one'))\n"
        "async def leave(): raise SystemExit\n"
        "async def doom():\n"
        "    asyncio.get_running_loop().create_task(leave())\n"
        "    await asyncio.sleep(60)\n"
        "try: ph.sync.wait(doom)\n"
        "except asyncio.CancelledError: print('cancelled')\n"
        "while ph.sync.portal._PORTAL._thread.is_alive(): pass\n"
        "print(tape.append(ph.user('two')).id)\n"
    )
    result = run_python(code)
    assert (result.returncode, result.stdout.split()) == (0, ["cancelled", "2"]), result.stderr


def test_a_program_that_forgets_to_close_ends_quietly_and_keeps_what_it_wrote(tmp_path):
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    result = run_python("import sys, playhead as ph\nph.sync.open_tape(sys.argv[1], 't').append(ph.user('kept'))", url)
    assert (result.returncode, result.stderr) == (0, "")
    with sync.open_tape(url, "t") as tape:
        assert [e.payload["content"] for e in tape.query()] == ["kept"]


def test_branches_sidecars_and_leases_work_without_await(tape: sync.Tape):
    tape.append(ph.user("one"))
    tape.mount(ph.TapeSidecar("spill"))
    with tape.fork_tape() as branch:
        assert isinstance(branch, sync.Branch)
        branch.append(ph.user("two"))
        branch.sidecar("spill").append_event("kept")
        assert [e.kind for e in branch.delta()] == ["message"]
    trial = tape.fork(1, name="trial")
    assert trial.record().parent == "t"
    trial.append(ph.user("other"))
    assert [e.id for e in sync.diff(tape, trial).added] == [2]
    trial.discard()
    assert tape.gc() == ["t__branch__trial"]
    with tape.lock(), tape.lease(5) as held:
        held.append(ph.user("three"))
    assert [e.payload["content"] for e in tape.query().kinds("message")] == ["one", "two", "three"]
    assert [e.payload["name"] for e in tape.sidecar("spill").query()] == ["kept"]
    assert sync.copy_tape(tape, "copy").rename("copied").name == "copied"


def test_following_without_await_yields_what_another_thread_appends(tape: sync.Tape):
    entries = tape.follow("me", after=0, pause=0.01)
    tape.append(ph.user("one"))
    assert next(entries).payload["content"] == "one"
    threading.Thread(target=tape.append, args=(ph.user("two"),)).start()
    assert next(entries).payload["content"] == "two"
    entries.close()


def test_an_exception_leaves_a_blocking_fork_as_it_was_raised(tape: sync.Tape):
    with pytest.raises(ph.InvalidInput, match="mine"), tape.fork_tape() as branch:  # noqa: PT012 - the block is what is tested
        branch.append(ph.user("kept"))
        raise ph.InvalidInput("mine")
    assert [e.payload["content"] for e in tape.query().kinds("message")] == ["kept"]


FOLDING = {"compression_model": "extractive", "recent_window_tokens": 50, "target_chunk_tokens": 60, "summary_target_tokens": 40, "l1_holdback_chunks": 0}


def test_a_manager_remembers_compiles_and_reopens_without_await(tmp_path):
    with sync.ContextManager.open(path=tmp_path / "memory", strategy=ph.AutobiographicalStrategy(**FOLDING)) as manager:
        ids = [manager.add_message(who, f"{who} says what stands in file{n}.py, line {n}, about the order A{n}.") for n in range(12) for who in ("User", "Claude")]
        assert manager.tick().did == "summary"
        assert manager.drain() > 1
        prompt = manager.compile(ph.Budget(700, reserve_for_response=100))
        assert prompt.stats.summaries > 0
        assert manager.get_render_stats() == prompt.render_stats
        found = manager.search_summaries("file0.py", include_merged=True)[0].node
        assert manager.get_summary(found.id) == found
    assert manager.is_closed
    with pytest.raises(ph.ManagerClosed):
        manager.message_count()
    manager = sync.ContextManager.open(path=tmp_path / "memory", strategy=ph.AutobiographicalStrategy(**FOLDING))
    assert [message.id for message in manager.messages()] == ids
    assert manager.compile(ph.Budget(700, reserve_for_response=100)).digest == prompt.digest
    manager.aclose()
    manager.aclose()


def test_a_manager_shares_the_store_of_a_blocking_tape_and_leaves_it_open(tape: sync.Tape):
    tape.append(ph.user("from the tape"))
    with sync.ContextManager.open(store=tape.store, tape=tape.name) as manager:
        manager.add_message("Claude", "from the manager")
        assert [message.text for message in manager.messages()] == ["from the tape", "from the manager"]
        manager.branch_at(next(manager.messages()).id, name="try")
        manager.switch_branch("try")
        assert (manager.current_branch(), manager.message_count(), isinstance(manager.tape, sync.Branch)) == ("try", 1, True)
    assert [entry.payload["content"] for entry in tape.query().kinds("message")] == ["from the tape", "from the manager"]


def test_a_manager_folds_in_the_background_while_nothing_is_asked_of_it(tape: sync.Tape):
    strategy = ph.AutobiographicalStrategy(**FOLDING, auto_tick_on_new_message=True)
    heard: list[str] = []
    with sync.ContextManager.open(store=tape.store, strategy=strategy) as manager:
        end = manager.on_message(lambda event: heard.append(event.kind))
        held = manager.add_message("User", "This will be edited before it is remembered.", hold=60)
        assert [hold.uid for hold in manager.compression_holds()] == [held]
        for n in range(12):
            manager.add_message("User", f"The order A{n} goes to the customer C{n} by the van V{n}.")
        manager.settled()
        assert manager.max_summary_level() == 0
        manager.release_compression(held)
        manager.settled()
        assert manager.max_summary_level() >= 1
        end()
        manager.remove_message(held)
    assert heard == ["add"] * 13


def test_iterating_messages_reads_past_one_page_and_may_be_left_early(tape: sync.Tape):
    with sync.ContextManager.open(store=tape.store) as manager:
        for n in range(MESSAGES_PAGE + 2):
            manager.add_message("User", str(n))
        assert [message.text for message in manager.messages()] == [str(n) for n in range(MESSAGES_PAGE + 2)]
        for message in manager.messages():
            if message.text == "3":
                break
        assert message.text == "3"
