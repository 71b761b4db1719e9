"""One tape, several agents: each sees itself as the assistant and the others as users."""

import anyio

import playhead as ph

CALL = ph.ToolCall(id="c1", name="look")


def seen(agent, *messages):
    async def read():
        tape = ph.Tape(ph.InMemoryTapeStore(), "t", context=ph.default_tape_context(anchor=None, agent=agent))
        await tape.append_many(messages)
        return await tape.read(), await tape.read_messages()

    return anyio.run(read)


def test_an_agents_own_words_are_the_assistants_without_a_name():
    _, messages = seen("Claude", ph.user("Hi."), ph.assistant("Hello.", name="claude"))
    assert [(m.role, m.name, m.text) for m in messages] == [("user", None, "Hi."), ("assistant", None, "Hello.")]


def test_another_agents_words_are_a_users_of_that_name():
    _, messages = seen("Bob", ph.assistant("Hello.", name="Claude"), ph.assistant("I say so too."))
    assert [(m.role, m.name, m.text) for m in messages] == [("user", "Claude", "Hello."), ("assistant", None, "I say so too.")]


def test_of_another_agents_tool_work_only_its_words_are_shown():
    round_ = (ph.assistant("I look.", calls=(CALL,), name="Claude"), ph.tool_result_message("c1", "seen"))
    units, messages = seen("Bob", *round_, ph.assistant(calls=(CALL,), name="Claude"))
    assert [(m.role, m.name, m.text) for m in messages] == [("user", "Claude", "I look.")]
    assert [h.reason for h in units.hidden] == ["result without call", "work of Claude without words"]
    assert [m.role for m in seen("Claude", *round_)[1]] == ["assistant", "tool"]


def test_without_a_reader_everybody_keeps_role_and_name():
    _, messages = seen(None, ph.assistant("Hello.", name="Claude"))
    assert [(m.role, m.name) for m in messages] == [("assistant", "Claude")]
