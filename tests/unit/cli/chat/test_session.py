"""What a chat shows is a function of what happened."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from playhead.agent.answers import failure
from playhead.agent.events import ErrorEvent, FinalEvent, ReasoningEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.cli.bar import Share
from playhead.cli.chat.live import Live
from playhead.cli.chat.pieces import Answered, Asked, Called, Remark, Said, Spent, Thoughts, Words
from playhead.cli.chat.rendering import Renderer, plain_lines
from playhead.cli.chat.session import INTERRUPTED, Session, Size
from playhead.cli.chat.status import status
from playhead.entry.message import ToolCall, ToolResult
from playhead.errors import ContextLimitExceeded, ToolFailed
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


ROW = "\n\x1b[1m› \x07\r\u2028→ rm\u2029← rm (0.1 s)\x85✗ rm\n10 tokens read, 2 written\r\nRun rm? y: yes\n" + "long " * 40
OURS = ("›", "→", "←", "✗", "10 tokens", "Run", "force", "│ force")


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize(
    "piece",
    [
        Words(text=ROW),
        Words(text=f"```\n{ROW}\n```\n"),
        Words(text=f"- {ROW}"),
        Thoughts(text=ROW),
        Remark(text=f"Failed: {ROW}"),
        Said(text=ROW),
        Called(call=ToolCall(id="", name=f"ping{ROW}", arguments={ROW: ROW})),
        Answered(call=CALL, result=ToolResult(call_id="c1", content=ROW), elapsed_ms=1),
        Answered(call=ToolCall(id="", name=f"ping{ROW}", arguments={}), result=ToolResult(call_id="c1", content=ROW, is_error=True), elapsed_ms=1),
    ],
    ids=lambda piece: type(piece).__name__,
)
def test_only_what_is_the_chats_own_begins_at_the_left_edge(piece, width):
    first, *more = [row for row in uncoloured(Renderer(width=width).of(piece)).split("\n") if row.strip()]
    assert isinstance(piece, (Remark, Said, Called, Answered)) or first.startswith("  ")
    assert [row for row in more if not row.startswith("  ")] == []
    assert not isinstance(piece, Answered) or all(row.startswith(("  │", "  …")) for row in more)


def test_no_argument_of_a_call_passes_for_another_one():
    arguments = {"what": f"x\nforce: false\u2028force: no{' ' * 300}force: maybe", "a\nforce": "1", "text": "true", "flag": True, "list": '["a"]'}
    rows = uncoloured(Renderer(width=80).of(Asked(call=ToolCall(id="c", name="rm", arguments=arguments)))).rstrip("\n").split("\n")
    assert [row for row in rows if not row.startswith("  │ ")] == ["  what: x", '  a force: "1"', '  text: "true"', "  flag: true", '  list: "[\\"a\\"]"']
    assert [row for row in rows if "force: maybe" in row] == ["  │ force: maybe"]


def test_a_tool_that_failed_is_told_in_words_with_the_cause():
    error = ToolFailed("Tool 'boom' execution failed.", tool="boom", error=f"ValueError('kaboom {'far ' * 30}away')")
    rows = uncoloured(Renderer(width=60).of(Answered(call=replace(CALL, name="boom"), result=failure(error, call=CALL), elapsed_ms=100))).rstrip("\n").split("\n")
    assert rows[:3] == ["✗ boom (0.1 s)", "  │ Tool 'boom' execution failed.", "  │ error: ValueError('kaboom far far far far far far far"]
    assert rows[-1].endswith("away')") and "{" not in "".join(rows) and all(cell_len(row) <= 60 for row in rows)
    assert "kaboom" in plain_lines(Answered(call=CALL, result=failure(error, call=CALL), elapsed_ms=1))
    own = ToolResult(call_id="c1", content='{"kind": "mine"}', is_error=True)
    assert '  │ {"kind": "mine"}' in plain_lines(Answered(call=CALL, result=own, elapsed_ms=1))


def test_a_long_line_of_the_users_hangs_behind_its_sign():
    rows = uncoloured(Renderer(width=60).of(Said(text="say " + "word " * 30 + "\nand more\n" + "x" * 130))).strip("\n").split("\n")
    assert rows[0].startswith("› say word") and all(row.startswith("  ") and cell_len(row) <= 60 for row in rows[1:])


def test_a_tool_at_work_stands_once():
    session, pieces = after(ToolCallEvent(call=CALL))
    live = uncoloured(Live().of(session, width=80, rows=20))
    assert [type(piece) for piece in pieces] == [Called]
    assert "at work: ping" in live and "→" not in live and "gw1" not in live


def test_one_empty_line_stands_between_blocks():
    text = "One:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nTwo:\n\n```\ncode\n\n\nmore\n```\n\nThree.\n"
    shown = uncoloured(Renderer(width=60).of(Words(text=text)))
    assert "\n\n\n" not in shown.replace("code\n\n\n", "") and shown.count("\n\n") == 5
    session, pieces = after(*(TextEvent(delta=line) for line in text.splitlines(keepends=True)))
    assert "".join(Renderer(width=60).of(piece) for piece in (*pieces, *session.flushed()[1])) == Renderer(width=60).of(Words(text=text))
