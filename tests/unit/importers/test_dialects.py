"""What is particular to each format of conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from playhead.importers.conversations import Conversations
from playhead.importers.report import Notes
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples import langchain, request, response
from tests.unit.importers.sessions import read, shown, told


def lines(format: str, *records: Any, tmp_path: Path) -> tuple[list[TapeEntry], Notes]:
    return read(Sample(format=format, records=list(records)).write(tmp_path / "file"), format=format)


def content(entry: TapeEntry) -> list[dict[str, Any]]:
    found = entry.payload["content"]
    return [{"type": "text", "text": found}] if isinstance(found, str) else list(found)


# ---- conversations ---------------------------------------------------------------------------------------------------


def test_fields_that_are_spoken_begin_the_conversation_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "system": "Be brief.", "model": "claude-x", "max_tokens": 5}
    for indent in (None, 1):
        path.write_text(json.dumps(body, indent=indent))
        entries, _ = read(path, format="anthropic-messages")
        assert told(shown(entries)) == ["message Be brief.", "message hi"]
        assert shown(entries)[0].meta["import"]["line"] == (1 if indent is None else 13)
    assert [e.payload["data"] for e in entries if e.kind == "event"] == [{"model": "claude-x"}, {"max_tokens": 5}]


def test_each_body_of_several_is_a_conversation_with_its_own_system_prompt(tmp_path: Path) -> None:
    bodies = [{"system": f"S{n}", "messages": [{"role": "user", "content": "hi"}]} for n in range(2)]
    entries, _ = lines("anthropic-messages", *bodies, tmp_path=tmp_path)
    assert told(shown(entries)) == ["anchor conversation/1", "message S0", "message hi", "anchor conversation/2", "message S1", "message hi"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_is_one_message_is_read(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {"output_tokens": 1}}
    path.write_text(json.dumps(answer, indent=indent))
    entries, _ = read(path)
    assert told(entries) == ["message hi"]
    assert (entries[0].meta["model"], entries[0].meta["usage"], entries[0].meta["import"]["stop_reason"]) == ("claude-x", {"output_tokens": 1}, "end_turn")


def test_messages_carry_their_place_in_their_conversation(tmp_path: Path) -> None:
    chats = [{"conversations": [{"from": "human", "value": str(i)} for i in range(n)]} for n in (2, 3)]
    entries, _ = lines("sharegpt", *chats, tmp_path=tmp_path)
    places = [(e.meta["import"]["conversation"], e.meta["import"]["item"]) for e in entries if e.kind == "message"]
    assert places == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3)]


def test_a_source_of_conversations_brings_no_anchor() -> None:
    assert Conversations.brings_anchor is False


# ---- OpenAI Responses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 1])
def test_a_request_whose_input_is_a_text_is_read(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "gpt-5", "input": "hi", "instructions": "Be brief."}, indent=indent))
    entries, _ = read(path, format="openai-responses")
    assert told(shown(entries)) == ["message Be brief.", "message hi"]


def test_an_answer_is_a_turn_with_its_usage_and_its_model(tmp_path: Path) -> None:
    output = [{"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}]
    entries, _ = lines("openai-responses", {"object": "response", "id": "resp_1", "model": "gpt-5", "output": output, "usage": {"input_tokens": 3}}, tmp_path=tmp_path)
    (turn,) = shown(entries)
    assert (turn.meta["usage"], turn.meta["model"]) == ({"input_tokens": 3}, "gpt-5")
    assert content(turn)[0]["model"] == "gpt-5"


def test_an_item_that_cannot_be_read_does_not_cost_the_turn(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"}
    entries, notes = lines("openai-responses", {"role": "user", "content": "hi"}, call, {"type": "message", "role": "assistant", "content": "ho"}, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message hi", "message ho"]
    assert len(notes.warnings) == 1


# ---- SWE-agent -------------------------------------------------------------------------------------------------------


def test_a_trajectory_without_a_history_is_told_by_its_steps(tmp_path: Path) -> None:
    step = {"action": "ls", "observation": "a b", "response": "I look.\n```ls```", "thought": "I look.", "state": "{}"}
    for document in ({"trajectory": [step]}, {"trajectory": [step], "history": []}):
        (tmp_path / "t.traj").write_text(json.dumps(document, indent=1))
        entries, _ = read(tmp_path / "t.traj")
        assert told(shown(entries)) == ["message I look.\n```ls```", "message a b"]
        assert shown(entries)[0].meta["import"]["fields"]["action"] == "ls"


def test_an_observation_answers_every_call_it_names(tmp_path: Path) -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    turn, seen = {"role": "assistant", "content": "", "tool_calls": calls, "agent": "m"}, {"role": "tool", "content": "x", "tool_call_ids": ["a", "b"], "agent": "m"}
    entries, _ = lines("swe-agent", {"role": "user", "content": "Go.", "agent": "m"}, turn, seen, tmp_path=tmp_path)
    assert shown(entries)[-1].payload["call_ids"] == ["a", "b"]
    assert shown(entries)[-1].payload["results"] == ["x", ""]


def test_steps_that_repeat_the_history_are_kept_as_they_are(tmp_path: Path) -> None:
    step = {"action": "ls", "observation": "a b", "response": "r", "thought": "t", "messages": [{"role": "user", "content": "x" * 9_000}]}
    (tmp_path / "t.traj").write_text(json.dumps({"trajectory": [step], "history": [{"role": "user", "content": "Go.", "agent": "m"}]}))
    entries, _ = read(tmp_path / "t.traj")
    assert [e.payload["data"] for e in entries if e.payload.get("name") == "swe_agent.step"] == [step]


# ---- mini-SWE-agent --------------------------------------------------------------------------------------------------


def test_what_the_agent_noted_beside_a_message_is_kept_with_it(tmp_path: Path) -> None:
    noted = {"timestamp": 1_772_359_201.5, "actions": ["ls"], "response": {"model": "gpt-5", "usage": {"prompt_tokens": 3}}}
    entries, _ = lines("mini-swe-agent", {"role": "user", "content": "Go."}, {"role": "assistant", "content": "ls", "extra": noted}, tmp_path=tmp_path)
    turn = shown(entries)[1]
    assert (turn.date, turn.meta["model"], turn.meta["usage"]) == ("2026-03-01T10:00:01.500000+00:00", "gpt-5", {"prompt_tokens": 3})
    assert turn.meta["import"]["fields"]["actions"] == ["ls"]


# ---- ShareGPT --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("speaker", "role"), [("human", "user"), ("User", "user"), ("gpt", "assistant"), ("chatgpt", "assistant"), ("system", "system")])
def test_speakers_have_roles(speaker: str, role: str, tmp_path: Path) -> None:
    entries, _ = lines("sharegpt", {"from": speaker, "value": "hi"}, tmp_path=tmp_path)
    assert entries[0].payload["role"] == role


def test_several_calls_in_one_message_are_answered_in_order(tmp_path: Path) -> None:
    calls = json.dumps([{"name": "a", "arguments": {}}, {"name": "b", "arguments": "{}"}])
    records = [
        {"from": "human", "value": "Go."},
        {"from": "function_call", "value": calls},
        {"from": "observation", "value": "1"},
        {"from": "observation", "value": "2"},
        {"from": "observation", "value": "3"},
    ]
    entries, _ = lines("sharegpt", *records, tmp_path=tmp_path)
    assert [e.kind for e in shown(entries)] == ["message", "tool_call", "tool_result", "tool_result", "message"]


def test_a_call_that_is_no_json_is_told_as_words(tmp_path: Path) -> None:
    entries, _ = lines("sharegpt", {"from": "human", "value": "Go."}, {"from": "function_call", "value": "ls -l"}, {"from": "observation", "value": "a"}, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Go.", "message ls -l", "message a"]
    assert shown(entries)[2].payload["role"] == "user"


def test_a_speaker_nobody_knows_is_kept_and_told(tmp_path: Path) -> None:
    entries, notes = lines("sharegpt", {"from": "human", "value": "hi"}, {"from": "narrator", "value": "dusk"}, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message hi"]
    assert len(notes.warnings) == 1


# ---- mini-SWE-agent --------------------------------------------------------------------------------------------------


def test_an_answer_keeps_what_stands_beside_its_output_and_one_without_any_is_an_event(tmp_path: Path) -> None:
    said = {"object": "response", "id": "resp_1", "output": [{"role": "assistant", "content": "hi"}], "extra": {"cost": 0.1}}
    silent = {"object": "response", "id": "resp_2", "output": [], "error": {"message": "overloaded"}}
    entries, notes = lines("mini-swe-agent", said, silent, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message hi"]
    assert shown(entries)[0].meta["import"]["fields"] == {"id": "resp_1", "cost": 0.1}
    assert [e.payload for e in entries if e.kind == "event"] == [{"name": "mini_swe_agent.message", "data": silent}]
    assert notes.warnings == ["line 2 is kept as an event: nothing is said in it"]


# ---- LangChain -------------------------------------------------------------------------------------------------------


def test_a_call_that_stands_in_the_content_too_is_told_once_and_in_its_place(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"q": 1}}, {"type": "text", "text": "b"}]
    entries, _ = lines("langchain", langchain("ai", blocks, tool_calls=[{"name": "f", "args": {"q": 1}, "id": "c1"}]), tmp_path=tmp_path)
    assert [p["type"] for p in content(entries[0])] == ["text", "tool_call", "text"]
    assert len(entries[0].payload["calls"]) == 1


def test_arguments_that_are_no_json_are_kept_as_they_were_written(tmp_path: Path) -> None:
    entries, _ = lines("langchain", langchain("ai", "", invalid_tool_calls=[{"name": "f", "args": "{bad", "id": "c", "error": "no JSON"}]), tmp_path=tmp_path)
    (call,) = entries[0].payload["calls"]
    assert (call["arguments"], call["extra"]) == ({"_unparsed": "{bad"}, {"langchain": {"error": "no JSON"}})


def test_calls_in_the_form_of_openai_alone_are_read(tmp_path: Path) -> None:
    raw = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}]
    entries, _ = lines("langchain", langchain("ai", "", additional_kwargs={"tool_calls": raw}), tmp_path=tmp_path)
    assert [(c["id"], c["name"], c["arguments"]) for c in entries[0].payload["calls"]] == [("c", "f", {"q": 1})]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "image", "base64": "aGk=", "mime_type": "image/png"}, {"type": "image", "mime": "image/png", "data": "aGk="}),
        ({"type": "image", "source_type": "base64", "data": "aGk=", "mime_type": "image/png"}, {"type": "image", "mime": "image/png", "data": "aGk="}),
        ({"type": "image", "source_type": "url", "url": "https://x/y.png"}, {"type": "image", "url": "https://x/y.png"}),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}, {"type": "image", "mime": "image/png", "data": "aGk="}),
        ({"type": "file", "file_id": "f1"}, {"type": "document", "ref": "f1"}),
        ({"type": "input_image", "image_url": "https://x/y.png"}, {"type": "image", "url": "https://x/y.png"}),
        ({"type": "oddity", "x": 1}, {"type": "provider", "provider": "langchain", "value": {"type": "oddity", "x": 1}}),
    ],
)
def test_blocks_of_every_make_are_read(block: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    entries, _ = lines("langchain", langchain("human", [block]), tmp_path=tmp_path)
    assert content(entries[0]) == [expected]


def test_reasoning_is_bound_to_the_provider_that_the_message_names(tmp_path: Path) -> None:
    block, made = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}, {"model_name": "claude-x", "model_provider": "bedrock"}
    entries, _ = lines("langchain", langchain("ai", [block, {"type": "text", "text": "hi"}], response_metadata=made), tmp_path=tmp_path)
    thinking = content(entries[0])[0]
    assert (thinking["provider"], thinking["model"], thinking["signature"]) == ("bedrock", "claude-x", "sig")


# ---- pydantic-ai -----------------------------------------------------------------------------------------------------


def test_instructions_are_told_where_they_come_into_force(tmp_path: Path) -> None:
    ask = {"part_kind": "user-prompt", "content": "hi"}
    entries, _ = lines("pydantic-ai", request(ask), request(ask), request(ask, instructions="In German."), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message In French.", "message hi", "message hi", "message hi"]
    assert [e.payload["data"] for e in entries if e.payload.get("name") == "pydantic_ai.instructions"] == [{"instructions": "In German."}]


def test_bytes_are_read_in_the_alphabet_the_adapter_writes(tmp_path: Path) -> None:
    entries, _ = lines("pydantic-ai", request({"part_kind": "user-prompt", "content": [{"kind": "binary", "data": "_-8=", "media_type": "image/png"}]}), tmp_path=tmp_path)
    assert content(shown(entries)[1])[0]["data"] == "/+8="


def test_redacted_thinking_is_kept_as_such(tmp_path: Path) -> None:
    part = {"part_kind": "thinking", "content": "", "id": "redacted_thinking", "signature": "opaque", "provider_name": "anthropic"}
    entries, _ = lines("pydantic-ai", response(part, {"part_kind": "text", "content": "hi"}), tmp_path=tmp_path)
    thinking = content(entries[0])[0]
    assert (thinking["redacted"], thinking.get("signature"), thinking["provider"]) == ("opaque", None, "anthropic")


@pytest.mark.parametrize(("outcome", "is_error"), [("success", False), ("failed", True), ("retried", True), ("denied", False), ("interrupted", False)])
def test_answers_are_errors_where_pydantic_ai_sends_them_as_such(outcome: str, is_error: bool, tmp_path: Path) -> None:
    call, answer = (
        {"part_kind": "tool-call", "tool_name": "f", "args": None, "tool_call_id": "c"},
        {"part_kind": "tool-return", "tool_name": "f", "content": "x", "tool_call_id": "c", "outcome": outcome},
    )
    entries, _ = lines("pydantic-ai", response(call), request(answer, instructions=None), tmp_path=tmp_path)
    assert entries[1].payload.get("is_error", [False]) == [is_error]


def test_pictures_that_a_tool_returns_are_pictures(tmp_path: Path) -> None:
    answer = {"part_kind": "tool-return", "tool_name": "f", "content": ["see", {"kind": "binary", "data": "aGk=", "media_type": "image/png"}], "tool_call_id": "c"}
    entries, _ = lines("pydantic-ai", request(answer, instructions=None), tmp_path=tmp_path)
    assert [p["type"] for p in entries[0].payload["results"][0]] == ["text", "image"]
