"""OpenAI Responses, over the `openai` package."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from playhead.entry.frozen import thaw
from playhead.errors import BadReply
from playhead.model.openai import client_of
from playhead.model.protocol import ModelEvent, ModelRequest, Reply, StopReason, ToolSpec
from playhead.model.replies import loaded, maker_of, problems_in, ready
from playhead.model.response_events import ResponsesAnswer
from playhead.model.sdk_stream import objects
from playhead.model.settings import Settings
from playhead.model.tool_names import ToolNames, is_strict, named_tool
from playhead.wire.openai_responses import LONGEST_NAME, PROVIDER
from playhead.wire.providers import request_body

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONS = re.compile(r"(?:.*/)?(?:o\d|gpt-(?:[5-9]|\d\d)|codex)(?!.*-chat)")
"""Models that reason: only they take the question for encrypted reasoning."""

_ENCRYPTED = "reasoning.encrypted_content"
_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIResponses:
    """Asks for responses that the server does not keep: the tape does, and encrypted reasoning goes back with it."""

    def __init__(self, client: AsyncOpenAI, *, model: str) -> None:
        self._client = client
        self._model = model

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask once, and yield the answer as it comes."""
        names = ToolNames(request.tools, longest=LONGEST_NAME)
        body = self._body(request, names)
        # In `extra_body` the SDK sends what it is given as it is, and does not walk through a long conversation once more.
        stream = await self._client.responses.create(model=self._model, stream=True, extra_body=body)
        answer = ResponsesAnswer()
        async with aclosing(objects(stream, asked=self._model)) as events:
            async for event in events:
                for found in answer.take(event):
                    yield found
        for found in self._end(answer, names, is_kept=body["store"] is not False):
            yield found

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    def _body(self, request: ModelRequest, names: ToolNames) -> dict[str, Any]:
        body = request_body(PROVIDER, request.messages, model=self._model)
        body["store"] = False
        if request.reasoning_effort is not None or _REASONS.match(self._model):
            body["include"] = [_ENCRYPTED]
        if request.reasoning_effort is not None:
            body["reasoning"] = {"effort": request.reasoning_effort, "summary": "auto"}
        if request.tools:
            body["tools"] = [_tool(t, names) for t in request.tools]
            named = named_tool(request)
            if named is not None:
                body["tool_choice"] = {"type": "function", "name": names.sent(named)}
            elif request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if request.output_schema is not None:
            body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": request.output_schema, "strict": is_strict(request.output_schema)}}
        return {**body, **request.extra}

    def _end(self, answer: ResponsesAnswer, names: ToolNames, *, is_kept: bool) -> Iterator[ModelEvent]:
        if answer.status is None:
            raise BadReply("The answer broke off before its end; ask again.")
        items = answer.items()
        # Reasoning that the server neither keeps nor hands out cannot go back: it is bound to no model.
        goes_back = is_kept or all(item.get("encrypted_content") for item in items if item.get("type") == "reasoning")
        maker = maker_of(self._model, answer.model)
        message = names.restored(loaded(PROVIDER, items, maker=maker if goes_back else ""))
        stop: StopReason = "tool_calls" if message.calls else "refusal" if answer.has_refused else "end"
        stop = _INCOMPLETE.get(answer.why, "other") if answer.status == "incomplete" else stop
        for call in message.calls:
            yield ready(call, is_cut=stop == "length")
        yield Reply(message=message, stop=stop, usage=answer.usage, id=answer.id, model=answer.model or self._model, problems=problems_in(message, is_cut=stop == "length"))


def _tool(tool: ToolSpec, names: ToolNames) -> dict[str, Any]:
    # Not told, the server would take every schema for a strict one.
    return {"type": "function", "name": names.sent(tool.name), "description": tool.description, "parameters": thaw(tool.parameters), "strict": tool.strict}


def connect(settings: Settings) -> OpenAIResponses:
    """Return the adapter for a model."""
    return OpenAIResponses(client_of(settings), model=settings.model)
