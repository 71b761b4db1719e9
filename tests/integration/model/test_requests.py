"""What a request asks for stands in the provider's body as the provider spells it."""

from __future__ import annotations

from typing import Any

import pytest

import playhead as ph
from playhead.model.openai import OpenAIChat
from playhead.model.settings import Settings
from playhead.model.tool_names import ToolNames
from tests.integration.model.asking import PING, TOOLS, asked, request
from tests.integration.model.server import ProviderServer
from tests.integration.model.wires import ALL, BRIDGED_CHAT, BRIDGED_MESSAGES, CHAT, MESSAGES, OURS, RESPONSES, Messages, Turn, Wire, name_of

SHORT = Turn(words=("Yes.",))
SCHEMA = {"type": "object", "properties": {"up": {"type": "boolean"}}, "required": ["up"], "additionalProperties": False}


def sent(wire: Wire, **fields: Any) -> dict[str, Any]:
    """Return the body of a request."""

    async def act(model: ph.Model, server: ProviderServer) -> dict[str, Any]:
        await model.complete(request(**fields))
        return server.requests[0].body

    return asked(wire, [wire.answer(SHORT)], act)


@pytest.mark.parametrize("wire", ALL, ids=name_of)
def test_it_asks_the_model_for_a_stream(wire: Wire):
    async def act(model: ph.Model, server: ProviderServer) -> tuple[str, dict[str, Any], dict[str, str]]:
        await model.complete(request())
        return server.requests[0].path.partition("?")[0], server.requests[0].body, server.requests[0].headers

    path, body, headers = asked(wire, [wire.answer(SHORT)], act)
    assert (path, body["model"], body["stream"]) == (wire.path, wire.model, True)
    assert headers.get("authorization") == "Bearer k" or headers.get("x-api-key") == "k"


def test_tools_are_declared_under_names_a_provider_takes():
    schema = PING.parameters
    assert sent(CHAT, tools=TOOLS)["tools"][0] == {"type": "function", "function": {"name": "net_ping", "description": "Ping a host.", "parameters": schema}}
    assert sent(RESPONSES, tools=TOOLS)["tools"][0] == {"type": "function", "name": "net_ping", "description": "Ping a host.", "parameters": schema, "strict": False}
    assert sent(MESSAGES, tools=TOOLS)["tools"][0] == {"name": "net_ping", "description": "Ping a host.", "input_schema": schema}


@pytest.mark.parametrize("wire", OURS, ids=name_of)
def test_a_strict_tool_is_strict(wire: Wire):
    strict = ph.ToolSpec(name="up", description="", parameters=SCHEMA, strict=True)
    tool = sent(wire, tools=(strict,))["tools"][0]
    assert tool.get("function", tool)["strict"] is True


@pytest.mark.parametrize("wire", ALL, ids=name_of)
def test_two_tools_of_one_name_are_refused(wire: Wire):
    with pytest.raises(ph.InvalidInput, match=r"'net\.ping' and 'net_ping' are one name"):
        sent(wire, tools=(PING, ph.ToolSpec(name="net_ping", description="", parameters={"type": "object"})))


def test_the_choice_of_a_tool_is_spelled_as_the_provider_does():
    chosen = {"type": "function", "function": {"name": "net_ping"}}
    assert [sent(CHAT, tools=TOOLS, tool_choice=c).get("tool_choice") for c in ("auto", "none", "required", "net.ping")] == [None, "none", "required", chosen]
    named = {"type": "function", "name": "net_ping"}
    assert [sent(RESPONSES, tools=TOOLS, tool_choice=c).get("tool_choice") for c in ("auto", "none", "required", "net.ping")] == [None, "none", "required", named]
    forms = [None, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "net_ping"}]
    assert [sent(MESSAGES, tools=TOOLS, tool_choice=c).get("tool_choice") for c in ("auto", "none", "required", "net.ping")] == forms
    assert sent(BRIDGED_CHAT, tools=TOOLS, tool_choice="required")["tool_choice"] == "required"


@pytest.mark.parametrize("wire", ALL, ids=name_of)
def test_a_tool_that_is_not_declared_cannot_be_chosen(wire: Wire):
    with pytest.raises(ph.InvalidInput, match=r"net\.ping, look"):
        sent(wire, tools=TOOLS, tool_choice="nothing")


def test_the_length_of_the_answer_is_bounded():
    assert sent(CHAT, max_tokens=99)["max_tokens"] == 99
    assert sent(RESPONSES, max_tokens=99)["max_output_tokens"] == 99
    assert sent(MESSAGES, max_tokens=99)["max_tokens"] == 99
    assert sent(MESSAGES)["max_tokens"] == 8_192
    assert sent(BRIDGED_MESSAGES, max_tokens=99)["max_tokens"] == 99


def test_openai_itself_is_asked_in_its_newer_words():
    from playhead.model.openai import connect

    settings = Settings(spec="openai:gpt-5-mini", model="gpt-5-mini", api_key="k", base_url=None, timeout=None, options={"base_url": "https://api.openai.com/v1"})
    adapter = connect(settings)
    assert isinstance(adapter, OpenAIChat)
    asked = request(max_tokens=99)
    assert adapter._body(asked, ToolNames((), longest=64))["max_completion_tokens"] == 99


def test_effort_is_asked_for_in_each_providers_way():
    assert sent(CHAT, reasoning_effort="low")["reasoning_effort"] == "low"
    assert sent(RESPONSES, reasoning_effort="low")["reasoning"] == {"effort": "low", "summary": "auto"}
    body = sent(MESSAGES, reasoning_effort="minimal")
    assert (body["thinking"], body["output_config"], body["max_tokens"]) == ({"type": "adaptive"}, {"effort": "low"}, 32_768)
    assert sent(MESSAGES, reasoning_effort="none")["thinking"] == {"type": "disabled"}
    older = Messages(spec="anthropic:claude-haiku-4-5", path=MESSAGES.path, model="claude-haiku-4-5")
    body = sent(older, reasoning_effort="low", max_tokens=1_000)
    assert (body["thinking"], body["max_tokens"]) == ({"type": "enabled", "budget_tokens": 2_048}, 3_048)
    assert "thinking" in sent(BRIDGED_MESSAGES, reasoning_effort="low") or "output_config" in sent(BRIDGED_MESSAGES, reasoning_effort="low")


def test_a_schema_of_the_answer_is_sent():
    strict = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert sent(CHAT, output_schema=SCHEMA)["response_format"] == {"type": "json_schema", "json_schema": strict}
    assert sent(RESPONSES, output_schema=SCHEMA)["text"] == {"format": {"type": "json_schema", **strict}}
    assert sent(MESSAGES, output_schema=SCHEMA)["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    loose = {"type": "object", "properties": {"up": {"type": "boolean"}}}
    assert sent(CHAT, output_schema=loose)["response_format"]["json_schema"]["strict"] is False
    assert sent(BRIDGED_CHAT, output_schema=SCHEMA)["response_format"]["json_schema"]["schema"]["properties"] == SCHEMA["properties"]


@pytest.mark.parametrize("wire", ALL, ids=name_of)
def test_extra_goes_into_the_body_as_it_is(wire: Wire):
    body = sent(wire, extra={"service_tier": "flex", "metadata": {"user_id": "7"}})
    assert (body["service_tier"], body["metadata"]) == ("flex", {"user_id": "7"})


def test_a_model_that_does_not_reason_is_not_asked_for_its_reasoning():
    plain = type(RESPONSES)(spec="openai-responses:gpt-4o", path=RESPONSES.path, model="gpt-4o", prefix="/v1")
    assert "include" not in sent(plain)
    assert sent(RESPONSES)["include"] == ["reasoning.encrypted_content"]


def test_reasoning_that_was_neither_kept_nor_handed_out_does_not_go_back():
    turn = Turn(reasoning="Hm.", signature="", words=("Yes.",))

    async def act(model: ph.Model, server: ProviderServer) -> list[dict[str, Any]]:
        reply = await model.complete(request())
        await model.complete(request(reply.message, ph.user("And?")))
        return server.requests[1].body["input"]

    items = asked(RESPONSES, [RESPONSES.answer(turn), RESPONSES.answer(SHORT)], act)
    assert [item["type"] for item in items] == ["message", "message", "message"]
    assert all("id" not in item for item in items)
