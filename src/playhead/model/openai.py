"""OpenAI Chat Completions, and every server that speaks it, over the `openai` package."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from playhead.entry.message import Message
from playhead.errors import BadReply
from playhead.model.chat_deltas import ChatAnswer
from playhead.model.failures import ToldFailure
from playhead.model.protocol import ModelEvent, ModelRequest, Reply, StopReason, ToolSpec
from playhead.model.replies import loaded, maker_of, problems_in, ready, text
from playhead.model.sdk_stream import objects
from playhead.model.settings import Settings, package
from playhead.model.tool_names import ToolNames, is_strict, named_tool
from playhead.wire.openai_chat import LONGEST_NAME, PROVIDER
from playhead.wire.providers import request_body

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_KEY = "no-key"
"""What is sent where no key is given: a server of one's own asks for none, and the SDK does not do without."""

_STOPS: Mapping[str, StopReason] = {"stop": "end", "tool_calls": "tool_calls", "function_call": "tool_calls", "length": "length", "content_filter": "content_filter"}


class OpenAIChat:
    """Asks for chat completions; `is_compatible` says that another server than OpenAI's answers."""

    def __init__(self, client: AsyncOpenAI, *, model: str, is_compatible: bool) -> None:
        self._client = client
        self._model = model
        self._is_compatible = is_compatible

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask once, and yield the answer as it comes."""
        names = ToolNames(request.tools, longest=LONGEST_NAME)
        body = self._body(request, names)
        # In `extra_body` the SDK sends what it is given as it is, and does not walk through a long conversation once more.
        stream = await self._client.chat.completions.create(model=self._model, messages=[], stream=True, extra_body=body)
        answer = ChatAnswer()
        async with aclosing(objects(stream, asked=self._model)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk.get("error"), Mapping):
                    raise ToldFailure(chunk["error"])
                for event in answer.take(chunk):
                    yield event
        for event in self._end(answer, names):
            yield event

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    def _body(self, request: ModelRequest, names: ToolNames) -> dict[str, Any]:
        body = request_body(PROVIDER, request.messages, model=self._model)
        body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [_tool(t, names) for t in request.tools]
            named = named_tool(request)
            if named is not None:
                body["tool_choice"] = {"type": "function", "function": {"name": names.sent(named)}}
            elif request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        if request.max_tokens is not None:
            body["max_tokens" if self._is_compatible else "max_completion_tokens"] = request.max_tokens
        if request.reasoning_effort is not None:
            body["reasoning_effort"] = request.reasoning_effort
        if request.output_schema is not None:
            schema = {"name": "answer", "schema": request.output_schema, "strict": is_strict(request.output_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {**body, **request.extra}

    def _end(self, answer: ChatAnswer, names: ToolNames) -> Iterator[ModelEvent]:
        if answer.finish is None:
            raise BadReply("The answer broke off before its end; ask again.")
        message = names.restored(loaded(PROVIDER, [answer.message()], maker=maker_of(self._model, answer.model)))
        stop = _stop(answer, message)
        for call in message.calls:
            yield ready(call, is_cut=stop == "length")
        yield Reply(message=message, stop=stop, usage=answer.usage, id=answer.id, model=answer.model or self._model, problems=problems_in(message, is_cut=stop == "length"))


def _tool(tool: ToolSpec, names: ToolNames) -> dict[str, Any]:
    function = {"name": names.sent(tool.name), "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": {**function, **({"strict": True} if tool.strict else {})}}


def _stop(answer: ChatAnswer, message: Message) -> StopReason:
    if message.calls and answer.finish != "length":
        return "tool_calls"
    if answer.has_refused:
        return "refusal"
    return _STOPS.get(text(answer.finish), "other")


def connect(settings: Settings) -> OpenAIChat:
    """Return the adapter for a model; any server at another base_url is taken for one that needs no key where none is given."""
    client = client_of(settings)
    return OpenAIChat(client, model=settings.model, is_compatible=client.base_url.host != "api.openai.com")


def client_of(settings: Settings) -> AsyncOpenAI:
    """Return a client of the `openai` package; raises MissingExtra without it, and InvalidInput where OpenAI is asked without a key."""
    openai = package("openai", extra="openai", what=f"The model {settings.spec}")
    is_elsewhere = settings.base_url is not None or bool(os.environ.get("OPENAI_BASE_URL"))
    key = settings.api_key or os.environ.get("OPENAI_API_KEY") or (_NO_KEY if is_elsewhere or "api_key" in settings.options else settings.require_key("OPENAI_API_KEY"))
    return settings.made(openai.AsyncOpenAI, api_key=key)  # type: ignore[no-any-return]
