"""What a chat shows is a function of what happened."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from playhead.agent.events import ErrorEvent, FinalEvent, ReasoningEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.cli.bar import Share
from playhead.cli.chat.live import Live
from playhead.cli.chat.pieces import Answered, Called, Remark, Said, Spent, Thoughts, Words
from playhead.cli.chat.rendering import Renderer, plain_lines
from playhead.cli.chat.session import INTERRUPTED, Session, Size
from playhead.cli.chat.status import status
from playhead.entry.message import ToolCall, ToolResult
from playhead.errors import ContextLimitExceeded
from playhead.model.prices import listed_cost, listed_price, money
from playhead.model.protocol import Usage
from tests.integration.program import uncoloured

CALL = ToolCall(id="c1", name="ping", arguments={"host": "gw1"})
RESULT = ToolResult(call_id="c1", content="\n".join(f"line {n}" for n in range(9)))


def after(*events, session=None):
    """Return the session and the pieces that events lead to."""
    session, pieces = (session or Session(tape="t", model="echo:")).begun(), []
    for event in events:
        session, more = session.told(event)
        pieces += more
    return session, pieces


def test_words_are_kept_back_until_their_block_is_complete_and_none_is_lost():
    session, pieces = after(TextEvent(delta="One.\n\nTwo.\nMo"), TextEvent(delta="re."))
    assert (pieces, session.tail) == ([Words(text="One.\n\n")], "Two.\nMore.")
    _, rest = session.told(FinalEvent(text="One.\n\nTwo.\nMore."))
    assert rest == (Words(text="Two.\nMore."),)


def test_thoughts_stand_before_the_words_and_calls_they_lead_to():
    _, pieces = after(ReasoningEvent(delta="Hm"), ReasoningEvent(delta="m."), TextEvent(delta="Yes."), ToolCallEvent(call=CALL), ToolResultEvent(call=CALL, result=RESULT, elapsed_ms=5))
    assert pieces == [Thoughts(text="Hmm."), Words(text="Yes."), Called(call=CALL), Answered(call=CALL, result=RESULT, elapsed_ms=5)]


def test_an_answer_that_was_given_at_once_is_shown():
    assert after(FinalEvent(text="All of it."))[1] == [Words(text="All of it.")]


@pytest.mark.parametrize(("stop", "word"), [("length", "cut off"), ("refusal", "will not answer"), ("content_filter", "held the answer back")])
def test_an_answer_that_did_not_end_by_itself_says_so(stop, word):
    assert word in after(TextEvent(delta="Half"), FinalEvent(text="Half", stop=stop))[1][-1].text


def test_a_request_that_was_too_long_is_told_also_where_the_turn_goes_on():
    assert after(ErrorEvent(error=ContextLimitExceeded("too long")))[1] == [Remark(text="The request was too long for the model.")]


def test_a_turn_that_is_interrupted_shows_all_that_was_said_and_what_it_cost():
    usage = Usage(input=10, output=2)
    session, _ = after(ReasoningEvent(delta="Hm."), ToolCallEvent(call=CALL), UsageEvent(usage=usage), TextEvent(delta="Hal"))
    session, pieces = session.ended(is_interrupted=True, error=None, cost=0.5)
    assert pieces == (Words(text="Hal"), Spent(usage=usage, cost=0.5), Remark(text=INTERRUPTED))
    assert (session.is_running, session.calls, session.tail, session.paid) == (False, (), "", 0.5)
    assert session.begun().ended(is_interrupted=False, error="It broke.", cost=1.0)[0].paid == 1.5


def test_a_line_that_waits_is_shown_for_good_once_it_is_taken():
    session = Session(tape="t", model="echo:").waits("1", "Hurry.").waits("2", "Faster.")
    session, pieces = session.taken("1")
    assert (pieces, dict(session.waiting)) == ((Said(text="Hurry."),), {"2": "Faster."})
    assert session.taken("1") == (session, ())


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_the_status_fits_its_line(width):
    session = Session(tape="a tape with a long name " * 4, model="openai:gpt-5-mini-" * 5, last=Usage(input=10, cache_read=5), paid=1.0)
    for size in (Size(used=1234), Size(used=1234, room=96_000, shares=(Share(form="raw", tokens=1234),))):
        line = status(replace(session, size=size), width=width)
        assert cell_len(line.plain) <= width
        assert all(fact in line.plain for fact in ("1,234", "50% cached", *(["$1.00"] if width > 40 else [])))
        assert ("█" in line.plain) == (size.room is not None and width >= 80)


@pytest.mark.parametrize("paid", [None, 0.0123, 123.45])
def test_the_bar_stays_in_a_usual_terminal_and_what_was_paid_makes_room_for_it(paid):
    size = Size(used=12_345, room=192_000, shares=(Share(form="raw", tokens=12_345),))
    session = Session(tape="support/42", model="openai:gpt-5-mini", last=Usage(input=10, cache_read=9), paid=paid, size=size)
    usual, wide = status(session, width=79).plain, status(session, width=120).plain
    assert "█" in usual and "90% cached" in usual and cell_len(usual) <= 79
    assert "█" in wide and ("$" in wide) == (paid is not None)


@pytest.mark.parametrize("rows", [2, 5, 20])
def test_the_live_part_fits_its_rows_and_shows_the_end_of_what_is_said(rows):
    session = replace(after(TextEvent(delta="\n".join(f"word{n}" for n in range(60))))[0], waiting={"1": "Hurry."})
    lines = uncoloured(Live().of(session, width=60, rows=rows)).split("\n")
    assert len(lines) <= max(rows, 3)
    assert "… Hurry." in lines[-1]
    assert ("word59" in "\n".join(lines)) == (rows > 3)


def test_nothing_that_is_said_speaks_to_the_terminal_itself():
    evil = "\x1b]0;owned\x07\x1b[2J[link](http://x\x1b[8m)\u202e"
    pieces = (Words(text=evil), Said(text=evil), Thoughts(text=evil), Called(call=ToolCall(id="", name=evil, arguments={evil: evil})), Remark(text=evil))
    for piece in (*pieces, Answered(call=CALL, result=ToolResult(call_id="c1", content=evil), elapsed_ms=1)):
        for text in (Renderer(width=60).of(piece), plain_lines(piece)):
            assert "\x1b]" not in text and "\x1b[2J" not in text and "\x1b[8m" not in text and "\u202e" not in text


def test_prices_are_known_for_models_on_the_list_alone():
    usage = Usage(input=1_000_000, output=0)
    known = listed_price("openai:gpt-5-mini", usage)
    assert known is not None and known > 0
    assert listed_price("openai-responses:gpt-5-mini", usage) == listed_price("pydantic-ai:openai:gpt-5-mini", usage) == known
    assert listed_price("openai:no-such-model", usage) is listed_price("echo:", usage) is listed_price("openai:gpt-5-mini", Usage()) is None
    assert (money(0.00012), money(1234.5)) == ("$0.0001", "$1,234.50")
    assert (money(0.0000004), money(0.0)) == ("<$0.0001", "$0.0000")


def test_the_calls_of_a_turn_are_priced_one_by_one():
    call = Usage(input=150_000, output=10)
    session, _ = after(*(UsageEvent(usage=call) for _ in range(3)))
    assert session.asked == (call, call, call)
    one, together = listed_price("claude-sonnet-4-5", call), listed_price("claude-sonnet-4-5", sum(session.asked, Usage()))
    assert one is not None and together is not None and together > 3 * one + 0.1
    assert listed_cost("claude-sonnet-4-5", session.asked) == pytest.approx(3 * one)
    assert listed_cost("claude-sonnet-4-5", ()) is listed_cost("echo:", session.asked) is None
