"""Anthropic Messages, over the `anthropic` package."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from playhead.errors import BadReply, ModelRefused
from playhead.model.answer_schema import taken
from playhead.model.message_events import AnthropicAnswer
from playhead.model.protocol import ModelEvent, ModelRequest, Reply, StopReason, ToolSpec
from playhead.model.replies import loaded, maker_of, problems_in, ready
from playhead.model.sdk_stream import objects
from playhead.model.settings import Settings, package
from playhead.model.tool_names import ToolNames, named_tool
from playhead.wire.anthropic import LONGEST_NAME, PROVIDER
from playhead.wire.providers import request_body

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

MAX_TOKENS = 8_192
"""How long an answer may be where the request does not say: Anthropic asks for a number."""

MAX_TOKENS_THINKING = 32_768
"""The same for an answer whose reasoning counts towards it."""

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
}
_BY_BUDGET = re.compile(r"claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|$|@|-latest))")
"""Models that think within a number of tokens; later ones take an effort."""

_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768}


class AnthropicMessages:
    """Asks for messages."""

    def __init__(self, client: AsyncAnthropic, *, model: str) -> None:
        self._client = client
        self._model = model

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask once, and yield the answer as it comes."""
        names = ToolNames(request.tools, longest=LONGEST_NAME)
        body = self._body(request, names)
        # In `extra_body` the SDK sends what it is given as it is, and does not walk through a long conversation once more.
        stream = await self._client.messages.create(model=self._model, max_tokens=body["max_tokens"], messages=[], stream=True, extra_body=body)
        answer = AnthropicAnswer()
        async with aclosing(objects(stream, asked=self._model)) as events:
            async for event in events:
                for found in answer.take(event):
                    yield found
        for found in self._end(answer, names):
            yield found

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    def _body(self, request: ModelRequest, names: ToolNames) -> dict[str, Any]:
        body = request_body(PROVIDER, request.messages, model=self._model)
        body["max_tokens"] = request.max_tokens or MAX_TOKENS
        if request.tools:
            body["tools"] = [_tool(t, names) for t in request.tools]
            named = named_tool(request)
            if named is not None:
                body["tool_choice"] = {"type": "tool", "name": names.sent(named)}
            elif request.tool_choice != "auto":
                body["tool_choice"] = {"type": "any" if request.tool_choice == "required" else "none"}
        if request.output_schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": taken(request.output_schema)}}
        if request.reasoning_effort is not None:
            self._think(body, effort=request.reasoning_effort, has_limit=request.max_tokens is not None)
        return {**body, **request.extra}

    def _think(self, body: dict[str, Any], *, effort: str, has_limit: bool) -> None:
        """Ask for reasoning, in the way the model takes: an effort, or for older ones a number of tokens beside the answer's."""
        if effort == "none":
            body["thinking"] = {"type": "disabled"}
        elif _BY_BUDGET.match(self._model):
            budget = _BUDGETS.get(effort, _BUDGETS["medium"])
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            body["max_tokens"] += budget
        else:
            body["thinking"] = {"type": "adaptive"}
            body["max_tokens"] = body["max_tokens"] if has_limit else MAX_TOKENS_THINKING
            body["output_config"] = {**body.get("output_config", {}), "effort": "low" if effort == "minimal" else effort}

    def _end(self, answer: AnthropicAnswer, names: ToolNames) -> Iterator[ModelEvent]:
        if answer.stop is None:
            raise BadReply("The answer broke off before its end; ask again.")
        stop = _STOPS.get(answer.stop, "other")
        message = names.restored(loaded(PROVIDER, [answer.message()], maker=maker_of(self._model, answer.model)))
        if stop == "refusal" and not message.parts:
            raise ModelRefused(f"{self._model} will not answer{answer.explanation}. Ask otherwise, or ask another model; it refuses again as long as the conversation is the same.")
        for call in message.calls:
            yield ready(call, is_cut=stop == "length")
        yield Reply(message=message, stop=stop, usage=answer.usage, id=answer.id, model=answer.model or self._model, problems=problems_in(message, is_cut=stop == "length"))


def _tool(tool: ToolSpec, names: ToolNames) -> dict[str, Any]:
    fields = {"name": names.sent(tool.name), "description": tool.description, "input_schema": tool.parameters}
    return {**fields, **({"strict": True} if tool.strict else {})}


def connect(settings: Settings) -> AnthropicMessages:
    """Return the adapter for a model; raises MissingExtra without the `anthropic` package, and InvalidInput without a key."""
    anthropic = package("anthropic", extra="anthropic", what=f"The model {settings.spec}")
    token = os.environ.get("ANTHROPIC_AUTH_TOKEN")
    has_other = bool(token and not settings.api_key) or bool({"auth_token", "credentials"} & settings.options.keys())
    key = {} if has_other else {"api_key": settings.require_key("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")}
    return AnthropicMessages(settings.made(anthropic.AsyncAnthropic, **key), model=settings.model)
