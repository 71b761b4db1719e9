"""Blocks that only one provider knows are kept as they came, and go back as they came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import playhead as ph
from tests.integration.model.asking import asked, events_of, request, words
from tests.integration.model.server import Answer, ProviderServer
from tests.integration.model.wires import MESSAGES, RESPONSES, Turn, Wire, sse

SHORT = Turn(words=("Yes.",))
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "gw-3"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://x.org", "title": "gw-3", "encrypted_content": "ab"}]}
CITED = {"type": "web_search_result_location", "url": "https://x.org", "title": "gw-3", "encrypted_index": "cd", "cited_text": "down"}


def messages_stream(blocks: Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]) -> Answer:
    """Return a stream of Anthropic Messages that holds the blocks, each with its deltas."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MESSAGES.model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    pieces = [sse({"type": "message_start", "message": message}, event="message_start")]
    for at, (block, deltas) in enumerate(blocks):
        pieces.append(sse({"type": "content_block_start", "index": at, "content_block": block}, event="content_block_start"))
        pieces += [sse({"type": "content_block_delta", "index": at, "delta": delta}, event="content_block_delta") for delta in deltas]
        pieces.append(sse({"type": "content_block_stop", "index": at}, event="content_block_stop"))
    pieces.append(sse({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 9}}, event="message_delta"))
    return Answer(pieces=(*pieces, sse({"type": "message_stop"}, event="message_stop")))


def returned(wire: Wire, answer: Answer) -> tuple[ph.Reply, dict[str, Any]]:
    """Return the reply, and the body of the request in which it goes back."""

    async def act(model: ph.Model, server: ProviderServer) -> tuple[ph.Reply, dict[str, Any]]:
        reply = await model.complete(request())
        await model.complete(request(reply.message, ph.user("And?")))
        return reply, server.requests[1].body

    return asked(wire, [answer, wire.answer(SHORT)], act)


def test_anthropics_own_blocks_go_back_as_they_came():
    reply, body = returned(
        MESSAGES,
        messages_stream(
            [
                ({"type": "redacted_thinking", "data": "b3BhcXVl"}, []),
                ({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "signature_delta", "signature": "c2ln"}]),
                ({**SEARCH, "input": {}}, [{"type": "input_json_delta", "partial_json": '{"query":'}, {"type": "input_json_delta", "partial_json": ' "gw-3"}'}]),
                (FOUND, []),
                ({"type": "text", "text": ""}, []),
                (
                    {"type": "text", "text": "It is ", "citations": []},
                    [{"type": "text_delta", "text": "down"}, {"type": "citations_delta", "citation": CITED}, {"type": "text_delta", "text": "."}],
                ),
            ]
        ),
    )
    assert body["messages"][1]["content"] == [
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        SEARCH,
        FOUND,
        {"type": "text", "text": "It is down.", "citations": [CITED]},
    ]
    assert reply.text == "It is down."


def test_a_block_of_a_kind_nobody_knows_yet_is_kept():
    strange = {"type": "hologram", "data": "ab"}
    _, body = returned(MESSAGES, messages_stream([(strange, [{"type": "hologram_delta", "data": "cd"}]), ({"type": "text", "text": "See."}, [])]))
    assert body["messages"][1]["content"][0] == {"type": "hologram", "data": "abcd"}


def response_stream(*items: dict[str, Any], event: str = "completed", in_events: bool = True, **more: Any) -> Answer:
    """Return a stream of OpenAI Responses that holds the items."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": RESPONSES.model, "status": event, "output": list(items), "tools": [], **more}
    pieces = [sse({"type": "response.created", "sequence_number": 0, "response": {**response, "status": "in_progress", "output": []}}, event="response.created")]
    for at, item in enumerate(items if in_events else ()):
        pieces.append(sse({"type": "response.output_item.done", "sequence_number": at + 1, "output_index": at, "item": item}, event="response.output_item.done"))
    name = f"response.{event}"
    return Answer(pieces=(*pieces, sse({"type": name, "sequence_number": 99, "response": response}, event=name)))


SAID = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "Yes.", "annotations": [], "logprobs": []}]}
SEARCHED = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "gw-3"}}


def test_the_items_of_responses_go_back_as_they_came():
    reply, body = returned(RESPONSES, response_stream(SEARCHED, SAID))
    assert body["input"][1:3] == [SEARCHED, SAID]
    assert (reply.text, reply.stop, reply.id) == ("Yes.", "end", "resp_1")


def test_items_that_only_the_last_event_has_are_taken_from_it():
    reply, body = returned(RESPONSES, response_stream(SEARCHED, SAID, in_events=False))
    assert body["input"][1:3] == [SEARCHED, SAID]
    assert reply.text == "Yes."


def test_a_refusal_of_responses_is_one():
    refused = {**SAID, "content": [{"type": "refusal", "refusal": "I will not."}]}
    delta = {"type": "response.refusal.delta", "sequence_number": 1, "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "I will not."}
    answer = response_stream(refused)
    events = asked(RESPONSES, [Answer(pieces=(answer.pieces[0], sse(delta, event="response.refusal.delta"), *answer.pieces[1:]))], lambda model, server: events_of(model))
    assert words(events, ph.TextDelta) == events[-1].text == "I will not."
    assert events[-1].stop == "refusal"


def test_a_filter_that_cuts_an_answer_is_told():
    answer = response_stream(SAID, event="incomplete", incomplete_details={"reason": "content_filter"})
    assert asked(RESPONSES, [answer], lambda model, server: events_of(model))[-1].stop == "content_filter"


def test_a_long_answer_in_small_pieces_arrives_whole():
    piece = {"type": "input_json_delta", "partial_json": "abcdefgh" * 4}
    begin, end = {"type": "input_json_delta", "partial_json": '{"text": "'}, {"type": "input_json_delta", "partial_json": '"}'}
    call = {"type": "tool_use", "id": "c", "name": "write", "input": {}}
    events = asked(MESSAGES, [messages_stream([(call, [begin, *[piece] * 8_000, end])])], lambda model, server: events_of(model))
    assert len(events[-1].calls[0].arguments["text"]) == 8_000 * 32
