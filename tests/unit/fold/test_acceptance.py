"""Only a whole answer in words becomes memory."""

import pytest

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Text, Thinking, ToolCall, assistant, user
from playhead.fold.writing.acceptance import FLAWS, Accepted, Unusable, judged, without_thinking
from playhead.model.protocol import Reply


def reply(content="We fixed gw-3.", stop="end", **more):
    return Reply(message=assistant(content, **more), stop=stop)


def test_an_answer_that_ended_by_itself_and_says_something_is_kept():
    assert judged(reply("  We fixed gw-3.\n")) == Accepted(text="We fixed gw-3.")


def test_text_blocks_are_joined_by_newlines_and_thinking_is_left_out():
    parts = (Thinking(text="What was it?", signature="s"), Text(text="We fixed gw-3."), Text(text="Then we slept."))
    assert judged(reply(parts)) == Accepted(text="We fixed gw-3.\nThen we slept.")


@pytest.mark.parametrize("stop", ["refusal", "content_filter", "tool_calls", "length", "stop_sequence", "other"])
def test_an_answer_that_ended_otherwise_is_never_kept(stop):
    assert judged(reply("A long and convincing memory of the day. " * 9, stop=stop)) == Unusable(flaw=stop)


def test_a_stop_reason_nobody_knows_is_never_kept():
    assert judged(reply(stop="abort")) == Unusable(flaw="other")
    assert judged(reply(stop=None)) == Unusable(flaw="other")


def test_an_answer_with_a_call_is_never_kept_whatever_it_says_of_its_end():
    assert judged(reply("Done.", calls=[ToolCall(id="1", name="save")])) == Unusable(flaw="tool_calls")


@pytest.mark.parametrize("content", ["", " \n\t", (), (Text(text=" "),), (Thinking(text="Nothing comes."),)])
def test_an_answer_without_words_is_empty(content):
    assert judged(reply(content)) == Unusable(flaw="empty")


def test_words_marked_as_a_refusal_are_one_even_where_the_answer_ended_by_itself():
    assert judged(reply((Text(text="I can't help with that.", extra=FrozenDict({"openai": FrozenDict({"type": "refusal"})})),))) == Unusable(flaw="refusal")


def test_what_no_answer_holds_makes_it_malformed():
    assert judged(reply((Text(text="See this."), Media(kind="image", url="https://a/b.png")))) == Unusable(flaw="other")
    assert judged(Reply(message=user("We fixed gw-3."))) == Unusable(flaw="other")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<thinking>hm\nwell</thinking>\n\nWe fixed it.", "We fixed it."),
        ("\n <thinking></thinking>We fixed it.", "We fixed it."),
        ("<thinking>a</thinking> <thinking>b</thinking> We fixed it.", "We fixed it."),
        ("<thinking>We fixed it.", ""),
        ("<thinking>We fixed it.</thinking>", ""),
        ("The tag <thinking> was in the log, <thinking>once</thinking>.", "The tag <thinking> was in the log, <thinking>once</thinking>."),
        ("<Thinking> with a capital is a word.", "<Thinking> with a capital is a word."),
    ],
)
def test_only_a_leading_thinking_element_is_taken_off(text, kept):
    assert without_thinking(text) == kept
    assert judged(reply(text)) == (Accepted(text=kept) if kept else Unusable(flaw="empty"))


def test_every_flaw_has_a_name():
    assert set(FLAWS) == {"refusal", "content_filter", "tool_calls", "length", "stop_sequence", "other", "empty", "overlong"}
