"""What a provider streams becomes one reply, however the network cuts it, and goes back as the provider wants it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import playhead as ph
from tests.integration.model.asking import TOOLS, asked, events_of, request, words
from tests.integration.model.server import ProviderServer
from tests.integration.model.wires import ALL, CHAT, MESSAGES, OURS, RESPONSES, Turn, Wire, name_of

SPELLED = '{"host": "gw-3",  "count": 3, "ü": "–"}'
WHOLE = Turn(reasoning="The tunnel rekeys; – ünder load.", signature="c2lnbmVk", words=("I look ", "at both ", "ends – 日本."), calls=(("call_a", "net_ping", SPELLED), ("call_b", "look", "{}")))
SHORT = Turn(words=("It is up.",))
RESULTS = (ph.tool_result_message("call_a", "3 lost"), ph.tool_result_message("call_b", "", is_error=True))
ALL_WIRES = pytest.mark.parametrize("wire", ALL, ids=name_of)
OUR_WIRES = pytest.mark.parametrize("wire", OURS, ids=name_of)


async def streamed(model: ph.Model, server: ProviderServer) -> list[Any]:
    return await events_of(model, tools=TOOLS)


async def completed(model: ph.Model, server: ProviderServer) -> ph.Reply:
    return await model.complete(request(tools=TOOLS))


@ALL_WIRES
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_answer_is_the_same_wherever_the_network_cuts_it(wire: Wire, size: int):
    events = asked(wire, [wire.answer(WHOLE, size=size)], streamed)
    reply = events[-1]
    assert words(events, ph.TextDelta) == reply.text == "I look at both ends – 日本."
    assert words(events, ph.ReasoningDelta) == "The tunnel rekeys; – ünder load."
    assert [(c.id, c.name, c.arguments) for c in reply.calls] == [("call_a", "net.ping", json.loads(SPELLED)), ("call_b", "look", {})]
    assert [e.call for e in events if isinstance(e, ph.CallReady)] == list(reply.calls)
    assert reply.stop == "tool_calls"
    assert reply.problems == {}
    assert sum(isinstance(e, ph.Reply) for e in events) == 1


@ALL_WIRES
def test_words_come_before_the_answer_ends(wire: Wire):
    events = asked(wire, [wire.answer(WHOLE)], streamed)
    kinds = [type(e) for e in events]
    assert kinds.count(ph.TextDelta) > 1
    assert kinds.index(ph.ReasoningDelta) < kinds.index(ph.TextDelta) < kinds.index(ph.CallReady) < kinds.index(ph.Reply)


@ALL_WIRES
def test_usage_counts_what_came_from_the_cache(wire: Wire):
    usage = asked(wire, [wire.answer(SHORT)], completed).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read, usage.total) == (100, 20, 64, 120)


def test_usage_counts_what_was_written_to_the_cache_and_what_was_thought():
    assert asked(MESSAGES, [MESSAGES.answer(SHORT)], completed).usage == ph.Usage(input=100, output=20, cache_read=64, cache_write=6)
    assert asked(CHAT, [CHAT.answer(SHORT)], completed).usage == ph.Usage(input=100, output=20, cache_read=64, reasoning=12)


@ALL_WIRES
def test_a_plain_answer_is_a_plain_message(wire: Wire):
    reply = asked(wire, [wire.answer(SHORT)], completed)
    assert (reply.text, reply.stop, reply.calls, reply.model) == ("It is up.", "end", (), wire.model)
    assert reply.message.role == "assistant"


async def twice(model: ph.Model, server: ProviderServer) -> list[dict[str, Any]]:
    reply = await model.complete(request(tools=TOOLS))
    await model.complete(request(reply.message, *RESULTS, tools=TOOLS))
    return [r.body for r in server.requests]


def test_chat_gets_its_turn_back_as_it_was():
    first, second = asked(CHAT, [CHAT.answer(WHOLE), CHAT.answer(SHORT)], twice)
    turn, *results = second["messages"][len(first["messages"]) :]
    function = {"name": "net_ping", "arguments": SPELLED}
    assert turn == {
        "role": "assistant",
        "content": "I look at both ends – 日本.",
        "reasoning_content": "The tunnel rekeys; – ünder load.",
        "tool_calls": [{"id": "call_a", "type": "function", "function": function}, {"id": "call_b", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    assert [r["tool_call_id"] for r in results] == ["call_a", "call_b"]


def test_responses_gets_its_items_back_as_they_were():
    first, second = asked(RESPONSES, [RESPONSES.answer(WHOLE), RESPONSES.answer(SHORT)], twice)
    begin = len(first["input"])
    assert second["input"][begin : begin + 4] == list(RESPONSES.items(WHOLE))
    assert [item["call_id"] for item in second["input"][begin + 4 :]] == ["call_a", "call_b"]
    assert (second["store"], second["include"]) == (False, ["reasoning.encrypted_content"])


def test_anthropic_gets_its_blocks_back_as_they_were():
    first, second = asked(MESSAGES, [MESSAGES.answer(WHOLE), MESSAGES.answer(SHORT)], twice)
    turn, results = second["messages"][len(first["messages"]) :]
    assert turn["content"] == [
        {"type": "thinking", "thinking": "The tunnel rekeys; – ünder load.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "I look at both ends – 日本."},
        {"type": "tool_use", "id": "call_a", "name": "net_ping", "input": json.loads(SPELLED)},
        {"type": "tool_use", "id": "call_b", "name": "look", "input": {}},
    ]
    assert list(turn["content"][2]["input"]) == ["host", "count", "ü"]
    assert [(r["tool_use_id"], r.get("is_error", False)) for r in results["content"]] == [("call_a", False), ("call_b", True)]


@ALL_WIRES
def test_the_second_request_begins_with_the_bytes_of_the_first(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> list[bytes]:
        await twice(model, server)
        return [r.raw for r in server.requests]

    first, second = asked(wire, [wire.answer(WHOLE), wire.answer(SHORT)], act)
    key = b'"input":[' if b'"input":[' in first else b'"messages":['
    begin = first.index(key)
    conversation = first[begin : first.index(b"gw-3 drop packets?") + len(b"gw-3 drop packets?")]
    assert second[second.index(key) :].startswith(conversation)


@ALL_WIRES
def test_reasoning_goes_back_to_its_maker_with_its_signature(wire: Wire):
    _, second = asked(wire, [wire.answer(WHOLE), wire.answer(SHORT)], twice)
    sent = json.dumps(second, ensure_ascii=False)
    assert "The tunnel rekeys; – ünder load." in sent
    assert ("c2lnbmVk" in sent) == wire.signs


@ALL_WIRES
def test_a_dated_name_in_the_answer_is_the_model_that_was_asked(wire: Wire):
    dated = Turn(reasoning="Hm.", signature="c2lnbmVk", words=("Yes.",), calls=WHOLE.calls, model=f"{wire.model}-20261101")
    _, second = asked(wire, [wire.answer(dated), wire.answer(SHORT)], twice)
    assert "Hm." in json.dumps(second)


@OUR_WIRES
def test_reasoning_goes_to_no_other_model(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> dict[str, Any]:
        reply = await model.complete(request(tools=TOOLS))
        other = ph.get_model(wire.spec + "-other", api_key="k", base_url=server.url + wire.prefix)
        async with other:
            await other.complete(request(reply.message, *RESULTS, tools=TOOLS))
        return server.requests[-1].body

    sent = json.dumps(asked(wire, [wire.answer(WHOLE), wire.answer(SHORT)], act))
    assert "rekeys" not in sent
    assert "c2lnbmVk" not in sent
    assert "call_a" in sent


@ALL_WIRES
def test_a_gateway_that_answers_under_another_name_gets_its_reasoning_back(wire: Wire):
    renamed = Turn(reasoning="Hm.", signature="c2lnbmVk", words=("Yes.",), calls=WHOLE.calls, model="deployment-7")
    _, second = asked(wire, [wire.answer(renamed), wire.answer(SHORT)], twice)
    assert "Hm." in json.dumps(second)


@ALL_WIRES
@pytest.mark.parametrize("spelled", ['{"host": "gw', '["gw-3"]', "gw-3", '{"host": NaN}'])
def test_arguments_that_are_no_object_are_a_problem_the_model_is_told(wire: Wire, spelled: str):
    events = asked(wire, [wire.answer(Turn(calls=(("call_a", "net_ping", spelled), ("call_b", "look", "{}"))))], streamed)
    bad, good = (e for e in events if isinstance(e, ph.CallReady))
    reply = events[-1]
    assert bad.problem is not None
    assert "arguments" in bad.problem
    assert bad.call.arguments == {}
    assert reply.problems == {"call_a": bad.problem}
    assert good.problem is None
    assert reply.calls[0].arguments == {"_unparsed": spelled}


@OUR_WIRES
def test_arguments_that_are_no_object_go_back_in_a_form_the_provider_takes(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> bytes:
        reply = await model.complete(request(tools=TOOLS))
        await model.complete(request(reply.message, ph.tool_result_message("call_a", "No JSON.", is_error=True), tools=TOOLS))
        return server.requests[-1].raw

    raw = asked(wire, [wire.answer(Turn(calls=(("call_a", "net_ping", '{"host": "gw'),))), wire.answer(SHORT)], act)
    assert json.dumps('{"host": "gw').encode() in raw


@OUR_WIRES
def test_an_answer_that_reached_its_limit_says_so(wire: Wire):
    stop = "max_tokens" if wire is MESSAGES else "length"
    reply = asked(wire, [wire.answer(Turn(words=("And then",), stop=stop))], completed)
    assert (reply.stop, reply.text) == ("length", "And then")
    cut = asked(wire, [wire.answer(Turn(calls=(("call_a", "net_ping", '{"host": "g'),), stop=stop))], completed)
    assert "limit of tokens" in cut.problems["call_a"]


# The SDK of OpenAI leaves its generators behind at the end of a stream; trio would have them closed.
@pytest.mark.filterwarnings("ignore:Async generator 'openai:ResourceWarning")
@OUR_WIRES
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_it_works_on_every_event_loop(wire: Wire, backend: str):
    assert asked(wire, [wire.answer(SHORT)], completed, backend=backend).text == "It is up."
