"""The chunks of Chat Completions become one message, in every dialect that servers write them."""

from __future__ import annotations

from typing import Any

import playhead as ph
from playhead.model.chat_deltas import ChatAnswer


def gathered(*deltas: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    answer = ChatAnswer()
    events = [event for delta in deltas for event in answer.take({"choices": [{"delta": delta, "finish_reason": None}]})]
    return answer.message(), events


def piece(arguments: str | None = None, *, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"tool_calls": [{**fields, "function": function}]}


def calls(*deltas: dict[str, Any]) -> list[tuple[str | None, str, str]]:
    return [(c.get("id"), c["function"]["name"], c["function"]["arguments"]) for c in gathered(*deltas)[0]["tool_calls"]]


def test_pieces_of_interleaved_calls_find_their_call_by_index():
    found = calls(piece("", name="a", index=0, id="x"), piece("", name="b", index=1, id="y"), piece('{"n"', index=1), piece('{"m"', index=0), piece(":1}", index=0), piece(":2}", index=1))
    assert found == [("x", "a", '{"m":1}'), ("y", "b", '{"n":2}')]


def test_calls_that_are_all_numbered_0_are_told_apart_by_id():
    assert calls(piece("{}", name="a", index=0, id="x"), piece("{}", name="b", index=0, id="y")) == [("x", "a", "{}"), ("y", "b", "{}")]


def test_pieces_without_an_index_go_to_the_last_call():
    found = calls(piece("", name="a", id="x"), piece('{"m":'), piece("1}"), piece("{", name="b", id="y"), piece("}"))
    assert found == [("x", "a", '{"m":1}'), ("y", "b", "{}")]


def test_pieces_that_repeat_the_id_and_the_name_stay_one_call():
    assert calls(piece("{", name="a", index=0, id="x"), piece("}", name="a", index=0, id="x")) == [("x", "a", "{}")]
    assert calls(piece("{", name="a", id="x"), piece("{", name="b", id="y"), piece("}", id="x"), piece("}", id="y")) == [("x", "a", "{}"), ("y", "b", "{}")]


def test_an_id_that_comes_late_belongs_to_the_call_begun():
    assert calls(piece("{", name="a", index=0), piece("}", index=0, id="x")) == [("x", "a", "{}")]


def test_several_calls_in_one_chunk_are_several_calls():
    both = {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "a", "arguments": "{}"}}, {"index": 1, "id": "y", "function": {"name": "b", "arguments": "{}"}}]}
    assert calls(both) == [("x", "a", "{}"), ("y", "b", "{}")]


def test_an_old_function_call_is_a_call():
    assert calls({"function_call": {"name": "a", "arguments": ""}}, {"function_call": {"arguments": "{}"}}) == [(None, "a", "{}")]


def test_what_a_server_adds_to_a_call_is_kept():
    message, _ = gathered(piece("{}", name="a", index=0, id="x", extra_content={"google": {"thought_signature": "c2ln"}}))
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_reasoning_in_two_spellings_is_told_once_and_kept_in_both():
    message, events = gathered({"reasoning": "Hm.", "reasoning_content": "Hm."}, {"content": "Yes."})
    assert events == [ph.ReasoningDelta(text="Hm."), ph.TextDelta(text="Yes.")]
    assert message == {"role": "assistant", "content": "Yes.", "reasoning": "Hm.", "reasoning_content": "Hm."}


def test_reasoning_details_grow_by_index_and_keep_their_signature():
    message, events = gathered(
        {"reasoning": "One ", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "One ", "signature": None}]},
        {"reasoning": "two.", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "two."}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "ab"}]},
    )
    assert [e.text for e in events] == ["One ", "two."]
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "One two.", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "ab"},
    ]


def test_odd_chunks_say_nothing():
    answer = ChatAnswer()
    for chunk in ({}, {"choices": []}, {"choices": None}, {"choices": [3]}, {"choices": [{"delta": None}]}, {"choices": [{"delta": {"content": 3, "tool_calls": "x"}}]}, {"usage": 3}):
        assert list(answer.take(chunk)) == []
    assert answer.message() == {"role": "assistant", "content": ""}
    assert answer.usage is None
