"""Messages become pydantic-ai's requests and responses, which its own adapter reads, and its responses become messages."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

import playhead as ph
from playhead.entry import codec
from playhead.wire.pydantic_ai import dump, load

PNG = "iVBORw0KGgo+/w=="


def read(messages: list[ph.Message], **how: str) -> list[Any]:
    """Return what pydantic-ai reads of messages."""
    return ModelMessagesTypeAdapter.validate_json(codec.encode(dump(messages, **how)))


def written(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a response as pydantic-ai writes it, with every member it has."""
    read = ModelMessagesTypeAdapter.validate_python([{"kind": "response", "parts": list(parts), **fields}])
    return ModelMessagesTypeAdapter.dump_python(read, mode="json")[0]


TURN = ph.assistant("I look.", calls=[ph.ToolCall(id="c1", name="ping", arguments={"host": "gw"}), ph.ToolCall(id="c2", name="look")])
RESULTS = [ph.tool_result_message("c1", "3 lost"), ph.tool_result_message("c2", "", is_error=True)]


def test_a_conversation_becomes_requests_and_responses():
    found = read([ph.system("Be brief."), ph.user("Up?", name="Ann"), TURN, *RESULTS, ph.user("So?")], model="m", system="openai")
    assert [m.kind for m in found] == ["request", "response", "request"]
    assert [(p.part_kind, p.content) for p in found[0].parts] == [("system-prompt", "Be brief."), ("user-prompt", "Ann: Up?")]
    assert [p.part_kind for p in found[1].parts] == ["text", "tool-call", "tool-call"]
    assert (found[1].model_name, found[1].provider_name) == ("m", "openai")
    assert [p.args for p in found[1].parts[1:]] == ['{"host":"gw"}', "{}"]
    assert [(p.part_kind, getattr(p, "tool_name", ""), getattr(p, "outcome", "")) for p in found[2].parts] == [
        ("tool-return", "ping", "success"),
        ("tool-return", "look", "failed"),
        ("user-prompt", "", ""),
    ]
    assert found[2].parts[1].content


def test_media_arrives_as_it_was():
    media = [ph.Media(kind="image", mime="image/png", data=PNG), ph.Media(kind="document", url="https://x.org/a.pdf"), ph.Media(kind="video", ref="sha256:9")]
    (request,) = read([ph.user([ph.Text(text="See"), *media])])
    words, image, document, stub = request.parts[0].content
    assert words == "See"
    assert image.data == bytes.fromhex("89504e470d0a1a0a3eff")
    assert (document.kind, document.url) == ("document-url", "https://x.org/a.pdf")
    assert "sha256:9" in stub


def test_a_result_shows_its_media():
    results = [ph.tool_result_message("c1", [ph.Text(text="here"), ph.Media(kind="image", mime="image/png", data=PNG)]), RESULTS[1]]
    found = read([ph.user("Up?"), TURN, *results])
    assert found[2].parts[0].content[0] == "here"
    assert found[2].parts[0].content[1].media_type == "image/png"


PARTS = (
    {"part_kind": "thinking", "content": "Hm.", "signature": "c2ln", "provider_name": "anthropic"},
    {"part_kind": "thinking", "content": "", "signature": "opaque", "id": "redacted_thinking", "provider_name": "anthropic"},
    {"part_kind": "text", "content": "I look.", "id": "msg_1", "provider_name": "anthropic"},
    {"part_kind": "tool-call", "tool_name": "ping", "args": '{"host":  "gw"}', "tool_call_id": "c1", "id": "fc_1", "provider_name": "anthropic"},
)


def test_a_response_comes_back_as_it_was():
    response = written(*PARTS, model_name="m", provider_name="anthropic")
    message = load(response)
    (_, again, _) = read([ph.user("Up?"), message, RESULTS[0]], model="m", system="anthropic")
    expected = ModelMessagesTypeAdapter.validate_python([response])[0]
    assert list(again.parts) == list(expected.parts)
    assert (again.model_name, again.provider_name) == ("m", "anthropic")


def test_reasoning_goes_to_its_model_alone_and_whole_or_not_at_all():
    message = load(written(*PARTS, model_name="m", provider_name="anthropic"))
    kinds = [p["part_kind"] for p in dump([ph.user("Up?"), message, RESULTS[0]], model="other", system="anthropic")[1]["parts"]]
    assert kinds == ["text", "tool-call"]
    foreign = ph.assistant([*message.parts[:1], ph.Thinking(text="Mine.", provider="openai", model="m"), ph.Text(text="Yes.")])
    assert [p["part_kind"] for p in dump([ph.user("Up?"), foreign], model="m", system="anthropic")[1]["parts"]] == ["text"]


def test_reasoning_that_came_another_way_goes_to_the_provider_that_made_it():
    message = ph.assistant([ph.Thinking(text="Hm.", signature="c2ln", provider="anthropic", model="m"), ph.Thinking(redacted="opaque", provider="anthropic", model="m"), ph.Text(text="Yes.")])
    (_, response) = read([ph.user("Up?"), message], model="m", system="anthropic")
    assert [(p.content, p.signature, p.id, p.provider_name) for p in response.parts[:2]] == [("Hm.", "c2ln", None, "anthropic"), ("", "opaque", "redacted_thinking", "anthropic")]


def test_words_alone_are_a_plain_message():
    assert load(written({"part_kind": "text", "content": "Yes."})) == ph.assistant("Yes.")


def test_a_part_without_a_neutral_form_comes_back_word_for_word():
    part = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"query": "gw"}, "tool_call_id": "s1", "provider_name": "anthropic"}
    message = load({"parts": [part, {"part_kind": "text", "content": "Yes."}], "model_name": "m"})
    assert dump([ph.user("Up?"), message], model="m")[1]["parts"][0] == part


def test_an_open_call_is_refused():
    with pytest.raises(ph.WireError, match="unanswered"):
        dump([ph.user("Up?"), TURN])


def test_halves_of_surrogates_are_replaced():
    assert dump([ph.user("a\ud800b")])[0]["parts"][0]["content"] == "a\ufffdb"
