"""Commands in a chat, and the decisions about calls."""

import anyio
import pytest

from playhead.agent.tools import ToolContext
from playhead.cli.chat.approvals import NOBODY, Approvals
from playhead.cli.chat.slashes import SLASHES, completed, matching, meant
from playhead.entry.message import ToolCall
from playhead.errors import InvalidInput
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [("/help", "help", ""), (" /fork  a b ", "fork", "a b"), ("/handoff x two\nlines", "handoff", "x two\nlines"), ("/HELP", "help", ""), ("/ help", "help", ""), ("/Fork A b", "fork", "A b")],
)
def test_a_line_with_a_slash_and_a_known_word_is_a_command(line, name, rest):
    slash, words = meant(line)
    assert (slash.name, words) == (name, rest)


@pytest.mark.parametrize("line", ["hello", "", "/", "/etc/hosts is broken", "//help", "a /help", "/ is the root", "/Users/ada has no rights"])
def test_any_other_line_is_something_to_say(line):
    assert meant(line) is None


def test_an_unknown_command_is_refused_with_one_that_is_like_it():
    with pytest.raises(InvalidInput, match="perhaps you mean /handoff"):
        meant("/handof now")


@pytest.mark.parametrize("line", ["/pin/fork try", "/help/", "/Fork/x"])
def test_a_command_that_was_typed_on_behind_another_one_is_not_said_to_the_model(line):
    with pytest.raises(InvalidInput, match="second slash"):
        meant(line)


def test_a_command_is_completed_as_far_as_it_is_certain():
    assert (completed("/he"), completed("/fo"), completed("/un"), completed("/x"), completed("hi")) == ("/help", "/fork ", "/un", "/x", "hi")
    assert [slash.name for slash in matching("/un")] == ["undo", "unpin"]
    assert (matching("/fork "), matching("hi")) == ((), ())
    assert len(matching("/")) == len(SLASHES)


def decided(*answers, approvals=None):
    """Return what becomes of calls of one tool, the user's answers, and what was asked."""
    approvals, asked = approvals or Approvals(approves_all=False), []
    context = ToolContext(tape=Tape(InMemoryTapeStore(), "t"), name="cut")

    async def go():
        told = iter(answers)

        def ask(call):
            asked.append(call)
            if call is not None:
                while approvals.decide(next(told)) is None:
                    continue

        approvals.ask = ask
        return [await approvals(ToolCall(id=str(number), name="cut"), context) for number in range(2)]

    return anyio.run(go), [call.id for call in asked if call is not None]


def test_calls_are_approved_denied_with_a_reason_or_always_approved():
    assert decided("y", "n") == ([True, "the user said no"], ["0", "1"])
    assert decided("", "  ", "Not on a Friday.", "yes") == (["the user said: Not on a Friday.", True], ["0", "1"])
    assert decided("always") == ([True, True], ["0"])
    assert decided(approvals=Approvals(approves_all=True)) == ([True, True], [])


def test_nobody_approves_where_nobody_is_asked():
    async def go():
        context = ToolContext(tape=Tape(InMemoryTapeStore(), "t"), name="cut")
        return await Approvals(approves_all=False)(ToolCall(id="1", name="cut"), context)

    assert anyio.run(go) == NOBODY
