import pytest

from playhead.entry.entry import TapeEntry, placed, stamped
from playhead.entry.message import ToolCall, ToolResult, assistant, tool_result_message, user
from playhead.entry.payload import message_to_entries
from playhead.view.pairing import INTERRUPTED
from playhead.view.projection import DEFAULT, MINIMAL
from playhead.view.tokens import default_counter


def on_tape(*items):
    entries = [e for item in items for e in ((item,) if isinstance(item, TapeEntry) else message_to_entries(item))]
    return [placed(stamped(e), id=i) for i, e in enumerate(entries, 1)]


def built(*items, projection=DEFAULT):
    return projection.build(on_tape(*items), counter=default_counter())


def call(id, name="ping"):
    return ToolCall(id=id, name=name, arguments={"n": id})


def shown(unit):
    return [(m.role, m.text) for m in unit.messages]


def test_a_round_is_one_unit_with_all_its_results():
    units = built(user("go"), assistant("both", calls=[call("a"), call("b")]), tool_result_message("b", "B"), tool_result_message("a", "A"), assistant("done")).units
    assert [u.kind for u in units] == ["message", "round", "message"]
    assert shown(units[1]) == [("assistant", "both"), ("tool", "A"), ("tool", "B")]
    assert units[1].ids == (2, 3, 4) and not units[1].is_open


def test_results_follow_the_order_of_their_calls_whatever_order_they_came_in():
    (unit,) = built(assistant(calls=[call("a"), call("b"), call("c")]), tool_result_message("c", "C"), tool_result_message("a", "A"), tool_result_message("b", "B")).units
    assert [m.results[0].call_id for m in unit.messages[1:]] == ["a", "b", "c"]


def test_words_between_a_call_and_its_result_stand_behind_the_round():
    units = built(assistant(calls=[call("a")]), user("hurry"), tool_result_message("a", "A")).units
    assert [u.kind for u in units] == ["round", "message"]
    assert units[0].ids == (1, 3) and units[1].ids == (2,)


def test_a_call_without_a_result_says_that_it_was_interrupted():
    (unit, _) = built(assistant(calls=[call("a"), call("b")]), tool_result_message("a", "A"), user("next")).units
    assert unit.is_open
    stub = unit.messages[2].results[0]
    assert (stub.call_id, stub.content, stub.is_error) == ("b", INTERRUPTED, True)


def test_a_result_without_a_call_is_hidden_with_that_reason():
    result = built(tool_result_message("nobody", "x"), user("hi"))
    assert [u.kind for u in result.units] == ["message"]
    assert [(h.id, h.reason) for h in result.hidden] == [(1, "result without call")]


def test_a_second_result_for_a_call_is_hidden():
    result = built(assistant(calls=[call("a")]), tool_result_message("a", "first"), tool_result_message("a", "second"))
    assert shown(result.units[0])[1] == ("tool", "first")
    assert [h.reason for h in result.hidden] == ["its call has a result already"]


def test_a_call_id_used_again_is_answered_by_the_newest_turn():
    units = built(assistant(calls=[call("a")]), tool_result_message("a", "one"), assistant(calls=[call("a")]), tool_result_message("a", "two")).units
    assert [shown(u)[1][1] for u in units] == ["one", "two"]


def test_results_without_ids_answer_the_turn_before_them_by_position():
    calls = TapeEntry.tool_call([{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}])
    (unit,) = built(calls, TapeEntry.tool_result(["F", "G"])).units
    asked = [c.id for c in unit.messages[0].calls]
    assert len(set(asked)) == 2 and all(asked)
    assert [(m.results[0].call_id, m.text) for m in unit.messages[1:]] == list(zip(asked, ["F", "G"], strict=True))


def test_more_results_than_calls_never_reach_the_model():
    result = built(TapeEntry.tool_call([{"name": "f", "arguments": {}}]), TapeEntry.tool_result(["F", "extra"]), TapeEntry.tool_result(["late"]))
    assert len(result.units[0].messages) == 2
    assert [(h.id, h.reason) for h in result.hidden] == [(2, "result without call"), (3, "result without call")]


def test_what_of_an_entry_is_left_out_has_a_reason_too():
    words = TapeEntry.message({"role": "user", "content": [{"type": "tool_result", "call_id": "nobody", "content": "A"}, {"type": "text", "text": "go on"}]})
    calls = TapeEntry.tool_call([{"name": "f", "arguments": {}}, "no call", {"id": "x"}])
    result = built(words, calls)
    assert [(h.id, h.reason) for h in result.hidden] == [(1, "result without call"), (2, "2 of its calls have no name")]
    assert [u.kind for u in result.units] == ["message", "round"]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"role": "tool", "content": "x"}, "a tool's message that answers no call"),
        ({"role": "user", "content": [{"type": "tool_call", "id": "a", "name": "f"}]}, "calls in a message that is not the assistant's"),
    ],
)
def test_a_message_that_no_provider_takes_is_hidden(payload, reason):
    result = built(TapeEntry.message(payload), user("hi"))
    assert [u.kind for u in result.units] == ["message"] and [h.reason for h in result.hidden] == [reason]


def test_equal_ids_in_one_turn_are_told_apart():
    (unit,) = built(assistant(calls=[call("a"), call("a")]), tool_result_message("a", "A")).units
    asked = [c.id for c in unit.messages[0].calls]
    assert len(set(asked)) == 2
    assert unit.messages[1].results[0].content == "A"


def test_calls_in_openai_form_inside_messages_pair_too():
    turn = TapeEntry.message({"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    answer = TapeEntry.message({"role": "tool", "tool_call_id": "a", "content": "A"})
    (unit,) = built(turn, answer).units
    assert unit.kind == "round" and shown(unit)[1] == ("tool", "A")


def test_the_minimal_projection_hides_other_kinds_with_its_reason():
    result = built(user("hi"), assistant(calls=[call("a")]), tool_result_message("a", "A"), TapeEntry.event("e"), TapeEntry.anchor("x"), projection=MINIMAL)
    assert [u.ids for u in result.units] == [(1,)]
    assert {h.reason for h in result.hidden} == {"kind not shown by the minimal projection"}
    assert [h.id for h in result.hidden] == [2, 3, 4, 5]


def test_only_the_boolean_false_hides_an_entry():
    result = built(TapeEntry.message({"role": "user", "content": "a"}, context=False), TapeEntry.message({"role": "user", "content": "b"}, context=0))
    assert [u.messages[0].text for u in result.units] == ["b"]
    assert [h.reason for h in result.hidden] == ["meta.context is False"]


def test_anchors_inside_a_view_say_their_name_and_state():
    result = built(TapeEntry.anchor("größe", {"n": "ü"}), TapeEntry.anchor("bare"))
    assert [shown(u)[0] for u in result.units] == [("assistant", '[Anchor created: größe]: {"n":"ü"}'), ("assistant", "[Anchor created: bare]: null")]


def test_an_anchor_inside_a_round_stands_behind_it():
    units = built(assistant(calls=[call("a")]), TapeEntry.anchor("mid"), tool_result_message("a", "A")).units
    assert [u.kind for u in units] == ["round", "anchor"]


@pytest.mark.parametrize("payload", [{"calls": []}, {"calls": ["x"]}, {"calls": "x"}, {}])
def test_a_turn_without_a_call_or_a_word_is_hidden(payload):
    result = built(TapeEntry(0, "tool_call", payload))
    assert result.units == () and [h.reason for h in result.hidden] == ["empty message"]


def test_a_user_turn_with_results_and_words_feeds_the_round_and_speaks():
    entry = TapeEntry.message({"role": "user", "content": [{"type": "tool_result", "call_id": "a", "content": "A"}, {"type": "text", "text": "go on"}]})
    units = built(assistant(calls=[call("a")]), entry).units
    assert shown(units[0])[1] == ("tool", "A") and shown(units[1]) == [("user", "go on")]
    assert units[0].ids == (1, 2) and units[1].ids == (2,)


def test_messages_carry_the_uids_of_their_entries():
    entries = on_tape(assistant(calls=[call("a")]), tool_result_message("a", "A"))
    (unit,) = DEFAULT.build(entries, counter=default_counter()).units
    assert [m.sources for m in unit.messages] == [(entries[0].uid,), (entries[1].uid,)]
    assert unit.messages[1].results[0] == ToolResult(call_id="a", content="A", name="ping")


@pytest.mark.parametrize(
    "entry",
    [
        TapeEntry.message({"role": "user", "content": [None]}),
        TapeEntry.message({"role": "user", "content": [7, ["x"]]}),
        TapeEntry.message({"role": "assistant", "content": None, "tool_calls": 7}),
        TapeEntry.message({"role": "assistant", "content": "x", "calls": True}),
        TapeEntry(0, "tool_call", {"calls": 5}),
        TapeEntry(0, "tool_result", {"results": 5}),
    ],
)
def test_an_entry_that_cannot_be_read_is_hidden_and_breaks_nothing_else(entry):
    result = built(user("before"), entry, user("after"))
    assert [u.messages[0].text for u in result.units] == ["before", "after"]
    assert [h.id for h in result.hidden] == [2]
