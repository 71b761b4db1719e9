"""The budget watcher: when it tells the model to hand off, what it believes of a report, and when it hands off itself."""

import logging

import anyio
import pytest

from playhead.agent.budget_watch import ANCHOR, MARKER, RESERVE, SIDECAR, STATE, BudgetWatcher, ContextBudget
from playhead.agent.decisions import RunFacts
from playhead.agent.hooks import Hooks
from playhead.entry.message import Message, Text, ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidInput, ModelUnavailable
from playhead.model.protocol import ModelRequest, Reply, ToolSpec, Usage
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context

HANDOFF = ToolSpec(name="tape_handoff", description="Start a new phase.", parameters={"type": "object"})
OTHER = ToolSpec(name="ping", description="Ping a host.", parameters={"type": "object", "properties": {"host": {"type": "string"}}})


class Words:
    """Counts words, so that tests can say what a text costs."""

    name = "words"

    def count(self, text):
        return len(text.split())


def watching(tokens, **known):
    """Return a watcher whose threshold is that many tokens."""
    return BudgetWatcher(ContextBudget(max_context_tokens=tokens * 4 // 3, **known), counter=Words())


def request(*messages, tools=(HANDOFF,)):
    return ModelRequest(messages=messages, tools=tools)


def words(n):
    return " ".join(["word"] * n)


def facts(tape=None, **known):
    tape = tape or Tape(InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))
    return RunFacts(**{"run_id": "r", "tape": tape, "model": "scripted:a", "prompt": user("Mend it."), "state": {}, "step": 1, **known})


def reply(text="Fine.", *, total=None, calls=()):
    return Reply(message=assistant(text, calls=calls), usage=None if total is None else Usage(input=total - 1, output=1))


async def sent(watcher, asked, run):
    """Return the request as it is sent."""
    return await Hooks([watcher]).before_llm_call(asked, run.state, run=run)


async def answered(watcher, asked, got, run):
    await Hooks([watcher]).after_llm_call(asked, got, None, run.state, run=run)


async def call(watcher, asked, got, run):
    request = await sent(watcher, asked, run)
    await answered(watcher, request, got, run)
    return request


def is_told(asked):
    return any(MARKER in m.text for m in asked.messages if m.role == "system")


def test_the_usual_settings_leave_room_for_the_answer():
    settings = ContextBudget.from_environment({})
    assert settings == ContextBudget() == ContextBudget(max_context_tokens=200_000, encoding_name=None, compact_after=3)
    assert settings.threshold() == 183_616
    assert settings.threshold(128_000) == 128_000 - RESERVE
    assert settings.threshold(1_000_000) == 183_616
    assert ContextBudget(max_context_tokens=8_000).threshold() == 6_000


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PLAYHEAD_CONTEXT_BUDGET_MAX_CONTEXT_TOKENS", "100000")
    monkeypatch.setenv("PLAYHEAD_CONTEXT_BUDGET_ENCODING_NAME", "cl100k_base")
    monkeypatch.setenv("PLAYHEAD_CONTEXT_BUDGET_COMPACT_AFTER", " 0 ")
    assert BudgetWatcher().settings == ContextBudget(max_context_tokens=100_000, encoding_name="cl100k_base", compact_after=0)


@pytest.mark.parametrize(("name", "value"), [("MAX_CONTEXT_TOKENS", "0"), ("MAX_CONTEXT_TOKENS", "many"), ("COMPACT_AFTER", "-1"), ("ENCODING_NAME", "latin-1")])
def test_settings_that_cannot_be_are_refused_with_their_name(name, value):
    with pytest.raises(InvalidInput, match=f"PLAYHEAD_CONTEXT_BUDGET_{name}"):
        ContextBudget.from_environment({f"PLAYHEAD_CONTEXT_BUDGET_{name}": value})


def test_a_request_at_the_threshold_stays_and_one_token_more_is_told():
    async def main():
        asked = request(system("Be brief."), user(words(90)))
        tokens = watching(1).estimate(asked, {})
        for threshold, told in ((tokens, False), (tokens - 1, True)):
            watcher = watching(threshold)
            assert watcher.settings.threshold() == threshold
            assert is_told(await sent(watcher, asked, facts())) is told

    anyio.run(main)


def test_the_instruction_ends_the_first_system_message_and_the_request_passed_in_is_unchanged():
    async def main():
        asked = request(system("Be brief."), user(words(200)), system("Later."))
        told = await sent(watching(100), asked, facts())
        assert told.messages[0].content.startswith(f"Be brief.\n\n{MARKER} ")
        assert "`tape_handoff` with the name `context-budget`" in told.messages[0].text
        assert all(word in told.messages[0].text for word in ("goal", "progress", "decisions", "files", "remains"))
        assert told.messages[1:] == asked.messages[1:]
        assert asked == request(system("Be brief."), user(words(200)), system("Later."))
        assert await sent(watching(100), told, facts()) == told

        parts = await sent(watching(100), request(system([Text(text="Be brief.")]), user(words(200))), facts())
        assert [p.text[: len(MARKER)] for p in parts.messages[0].parts] == ["Be brief.", MARKER]
        assert await sent(watching(100), parts, facts()) == parts

        bare = await sent(watching(100), request(user(words(200))), facts())
        assert [m.role for m in bare.messages] == ["system", "user"]
        assert bare.messages[0].text.startswith(MARKER)

    anyio.run(main)


def test_the_schemas_of_tools_count_and_no_messages_are_nothing():
    watcher = watching(100)
    assert watcher.estimate(request(user("Hi.")), {}) < watcher.estimate(request(user("Hi."), tools=(HANDOFF, OTHER)), {})
    assert watcher.estimate(request(), {}) == 0


def test_what_was_reported_is_believed_and_only_what_came_since_is_estimated():
    async def main():
        watcher, run = watching(1_000), facts()
        first = request(system("Be brief."), user("Hello."))
        await call(watcher, first, reply("Hi.", total=900), run)
        again = request(*first.messages, assistant("Hi."), user("More."))
        new = watcher.estimate(request(user("More."), tools=()), {})
        assert watcher.estimate(again, run.state, run) == 900 + new
        assert not is_told(await sent(watcher, again, run))
        assert is_told(await sent(watcher, request(*first.messages, assistant("Hi."), user(words(100))), run))

    anyio.run(main)


def test_a_report_is_not_believed_for_another_model_other_tools_or_another_beginning():
    async def main():
        watcher, run = watching(1_000), facts()
        first = request(system("Be brief."), user("Hello."))
        await call(watcher, first, reply("Hi.", total=900), run)
        again = request(*first.messages, assistant("Hi."), user("More."))
        fresh = watcher.estimate(again, {}, run)
        assert fresh < 100 < watcher.estimate(again, run.state, run)
        assert watcher.estimate(again, run.state, facts(model="scripted:b")) == fresh
        described = ToolSpec(name="tape_handoff", description="Another text.", parameters={"type": "object"})
        assert watcher.estimate(request(*again.messages, tools=(described,)), run.state, run) < 100
        assert watcher.estimate(request(*again.messages, tools=(HANDOFF, OTHER)), run.state, run) < 100
        for other in ((system("Be long."), *again.messages[1:]), (*again.messages[:2], assistant("Ho."), user("More.")), again.messages[:2]):
            assert watcher.estimate(request(*other), run.state, run) < 100

    anyio.run(main)


def test_words_at_the_tail_that_no_tape_keeps_do_not_hide_what_was_reported():
    async def main():
        watcher, run = watching(1_000), facts()
        kept = Message(role="user", content="Hello.", sources=("u1",))
        await call(watcher, request(kept, user("Continue the task.")), reply("Hi.", total=900), run)
        assert watcher.estimate(request(kept, assistant("Hi."), user("Continue the task.")), run.state, run) == 900

    anyio.run(main)


def test_a_failed_call_and_one_without_a_report_change_nothing_that_is_known():
    async def main():
        watcher, run = watching(1_000), facts()
        first = request(user("Hello."))
        await call(watcher, first, reply("Hi.", total=900), run)
        before = dict(run.state[STATE])
        await Hooks([watcher]).after_llm_call(first, None, ModelUnavailable("busy"), run.state, run=run)
        await call(watcher, first, reply("Hi."), run)
        assert run.state[STATE] == before

    anyio.run(main)


def test_a_request_with_the_instruction_covers_the_same_messages_as_one_without():
    async def main():
        for told_once in (system("Be brief."), system([Text(text="Be brief.")]), None):
            watcher, run = watching(100), facts()
            lead = [] if told_once is None else [told_once]
            first = request(*lead, user(words(200)))
            told = await call(watcher, first, reply("Hi.", total=5_000), run)
            assert is_told(told)
            assert watcher.estimate(request(*first.messages, assistant("Hi."), user("More.")), run.state, run) > 5_000

    anyio.run(main)


def test_what_is_known_goes_from_turn_to_turn_beside_the_tape():
    async def main():
        watcher, tape = watching(1_000), Tape(InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))
        first = request(system("Be brief."), user("Hello."))
        async with tape.fork_tape() as branch:
            await call(watcher, first, reply("Hi.", total=900), facts(branch))
        again = request(*first.messages, assistant("Hi."), user(words(200)))
        async with tape.fork_tape() as branch:
            run = facts(branch)
            assert is_told(await sent(watching(1_000), again, run))
            assert watcher.estimate(again, run.state, run) > 1_000
        assert await tape.read_messages() == []

        discarded = Tape(InMemoryTapeStore(), "t")
        async with discarded.fork_tape(merge_back=False) as branch:
            await call(watcher, first, reply("Hi.", total=900), facts(branch))
        assert not is_told(await sent(watcher, again, facts(discarded)))

    anyio.run(main)


def test_one_state_for_two_tapes_keeps_them_apart():
    async def main():
        watcher, state = watching(100), {}
        one, other = (facts(Tape(InMemoryTapeStore(), name), state=state) for name in "ab")
        await call(watcher, request(user(words(200))), reply(), one)
        assert state[STATE]["ignored"] == 1
        await call(watcher, request(user("Hello.")), reply(), other)
        assert (state[STATE]["tape"], state[STATE]["ignored"]) == ("b", 0)

    anyio.run(main)


def test_without_a_run_it_watches_what_the_state_knows():
    async def main():
        watcher, state = watching(100), {}
        told = await Hooks([watcher]).before_llm_call(request(user(words(200))), state)
        assert is_told(told)
        await Hooks([watcher]).after_llm_call(told, reply(total=300), None, state)
        assert state[STATE]["ignored"] == 1

    anyio.run(main)


async def conversation(tape):
    """Keep a turn on a tape: a prompt, a tool round, and words."""
    await tape.append(user("Mend the gateway."))
    await tape.append(assistant("I look.", calls=[ToolCall(id="1", name="ping", arguments={"host": "gw"})]))
    await tape.append(tool_result_message("1", "gw is down " + "x" * 9_000, name="ping"))
    await tape.append(assistant(calls=[ToolCall(id="2", name="restart", arguments={"host": "gw"})]))
    await tape.append(tool_result_message("2", "no rights", is_error=True, name="restart"))


async def ignored(watcher, run, *, times, tools=(HANDOFF,)):
    for _ in range(times):
        await watcher.step_start(run)
        await call(watcher, request(user(words(5_000)), tools=tools), reply(calls=[ToolCall(id="1", name="ping")]), run)


def test_a_model_that_ignores_it_is_handed_off_at_the_next_step_with_its_work_retold():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context())
        await tape.bootstrap()
        await conversation(tape)
        watcher, run = watching(4_000), facts(tape, step=4, prompt=user("Mend the gateway."))
        await ignored(watcher, run, times=3)
        assert [a.name for a in await tape.anchors()] == ["session/start"]
        await Hooks([watcher]).step_start(run)
        anchors = await tape.anchors()
        assert [a.name for a in anchors] == ["session/start", ANCHOR]
        told = anchors[-1].state["summary"]
        for line in ("User: Mend the gateway.", "You: I look.", 'You called ping: {"host":"gw"}', "ping answered: gw is down x", "characters are left out", "restart failed: no rights"):
            assert line in told
        assert len(told) < 4_000
        note, again = await tape.read_messages()
        assert "Note left at auto_handoff/context_budget" in note.text
        assert again == user("Mend the gateway.")
        await Hooks([watcher]).step_start(run)
        assert len(await tape.anchors()) == 2

    anyio.run(main)


def test_at_the_first_step_of_a_turn_only_the_anchor_is_left_and_what_was_ignored_counts_across_turns():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context())
        await tape.bootstrap()
        watcher = watching(4_000, compact_after=2)
        for turn in range(3):
            async with tape.fork_tape() as branch:
                run = facts(branch, prompt=user(f"Turn {turn}."))
                await Hooks([watcher]).step_start(run)
                await branch.append(run.prompt)
                asked = request(*await branch.read_messages(), user(words(5_000)) if turn < 2 else user("More."))
                await call(watcher, asked, reply(f"Answer {turn}."), run)
                await branch.append(assistant(f"Answer {turn}."))
        note, *rest = await tape.read_messages()
        assert "User: Turn 0.\nYou: Answer 0.\nUser: Turn 1.\nYou: Answer 1." in note.text
        assert rest == [user("Turn 2."), assistant("Answer 2.")]

    anyio.run(main)


def test_a_model_that_hands_off_or_a_request_that_fits_again_starts_the_count_anew():
    async def main():
        watcher, run = watching(4_000), facts()
        await ignored(watcher, run, times=2)
        await call(watcher, request(user(words(5_000))), reply(calls=[ToolCall(id="1", name="tape_handoff")]), run)
        assert run.state[STATE]["ignored"] == 0
        await ignored(watcher, run, times=2)
        await call(watcher, request(user("Short.")), reply(), run)
        assert run.state[STATE]["ignored"] == 0

    anyio.run(main)


def test_without_a_tool_to_hand_off_with_the_model_is_not_told_and_the_watcher_hands_off():
    async def main():
        watcher, run = watching(4_000), facts()
        assert await sent(watcher, request(user(words(5_000)), tools=(OTHER,)), run) == request(user(words(5_000)), tools=(OTHER,))
        await ignored(watcher, run, times=3, tools=(OTHER,))
        await Hooks([watcher]).step_start(run)
        assert [a.name for a in await run.tape.anchors()] == [ANCHOR]

    anyio.run(main)


def test_it_never_hands_off_where_that_is_switched_off():
    async def main():
        watcher, run = watching(4_000, compact_after=0), facts()
        await ignored(watcher, run, times=9)
        assert await run.tape.anchors() == []

    anyio.run(main)


def test_where_a_handoff_cannot_help_nobody_is_asked_for_one(caplog):
    async def main():
        watcher, run = watching(4_000), facts()
        huge = request(system(words(5_000)), user("Hello."))
        for _ in range(5):
            await watcher.step_start(run)
            assert not is_told(await call(watcher, huge, reply(), run))
        assert await run.tape.anchors() == []

        watcher, run = watching(4_000), facts()
        await ignored(watcher, run, times=3)
        for _ in range(9):
            await watcher.step_start(run)
            assert not is_told(await call(watcher, request(user(words(5_000))), reply(), run))
        assert len(await run.tape.anchors()) == 1

    anyio.run(main)
    assert {(r.name, r.levelno) for r in caplog.records} == {("playhead", logging.WARNING)}


def test_a_long_note_and_a_long_past_are_retold_within_a_tenth_of_the_context():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context())
        await tape.handoff("first", {"summary": f"The goal is peace. {words(9_000)} The end."})
        for n in range(400):
            await tape.append(user(f"Question {n}: {words(20)}"))
            await tape.append(assistant(f"Answer {n}."))
        watcher, run = watching(4_000), facts(tape, step=2, prompt=user([]))
        await ignored(watcher, run, times=3)
        await Hooks([watcher]).step_start(run)
        told = (await tape.anchors())[-1].state["summary"]
        assert Words().count(told) < 450
        assert "The goal is peace." in told
        assert "Answer 399." in told
        assert "Question 0:" not in told
        assert (await tape.read_messages())[-1] == user("Go on.")

    anyio.run(main)


def test_the_sidecar_holds_one_entry_a_turn():
    async def main():
        watcher, run = watching(4_000), facts()
        await call(watcher, request(user("Hello.")), reply(calls=[ToolCall(id="1", name="ping")], total=50), run)
        await call(watcher, request(user("Hello.")), reply(total=60), run)
        (kept,) = await run.tape.sidecar(SIDECAR).query().all()
        assert sorted(kept.payload["data"]) == ["baseline", "handed_off", "ignored"]

    anyio.run(main)
