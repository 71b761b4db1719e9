"""Every provider that pydantic-ai knows, over the `pydantic_ai` package."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from playhead.entry import codec
from playhead.errors import BadReply, InvalidInput, ModelRefused, ProviderNotFoundError
from playhead.model.protocol import ModelEvent, ModelRequest, ReasoningDelta, Reply, StopReason, TextDelta, Usage
from playhead.model.replies import loaded_response, maker_of, mapping, problems_in, ready, text, usage_of
from playhead.model.settings import Settings, package
from playhead.model.tool_names import ToolNames, is_strict, named_tool
from playhead.wire.pydantic_ai import LONGEST_NAME, dump

_STOPS: Mapping[str, StopReason] = {"stop": "end", "length": "length", "content_filter": "content_filter", "tool_call": "tool_calls"}


class PydanticAI:
    """Asks a model of pydantic-ai."""

    def __init__(self, model: Any, *, timeout: float | None) -> None:
        self._model = model
        self._timeout = timeout
        self._is_entered = False

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask once, and yield the answer as it comes."""
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415 - the package is an extra
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415

        names = ToolNames(request.tools, longest=LONGEST_NAME)
        written = dump(request.messages, model=self._model.model_name, system=self._model.system)
        messages = ModelMessagesTypeAdapter.validate_json(codec.encode(written))
        parameters, settings = self._parameters(request, names), self._settings(request, names)
        await self._enter()
        async with model_request_stream(self._model, messages, model_settings=settings, model_request_parameters=parameters) as stream:
            async for event in stream:
                for found in _words(event):
                    yield found
            response = ModelMessagesTypeAdapter.dump_python([stream.get()], mode="json")[0]
        for found in self._end(response, names):
            yield found

    async def aclose(self) -> None:
        """Let go of the connections."""
        if self._is_entered:
            self._is_entered = False
            await self._model.__aexit__(None, None, None)

    async def _enter(self) -> None:
        """Let the model own its connections from the first request on, so that closing it lets go of them."""
        if not self._is_entered:
            self._is_entered = True
            await self._model.__aenter__()

    def _parameters(self, request: ModelRequest, names: ToolNames) -> Any:
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

        tools = [ToolDefinition(name=names.sent(t.name), description=t.description, parameters_json_schema=dict(t.parameters), strict=t.strict) for t in request.tools]
        if request.output_schema is None:
            return ModelRequestParameters(function_tools=tools)
        schema = dict(request.output_schema)
        output = OutputObjectDefinition(json_schema=schema, name="answer", strict=is_strict(schema))
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=output)

    def _settings(self, request: ModelRequest, names: ToolNames) -> Any:
        named = named_tool(request) if request.tools else None
        settings: dict[str, Any] = {"max_retries": 0}
        if named is not None:
            settings["tool_choice"] = [names.sent(named)]
        elif request.tools and request.tool_choice != "auto":
            settings["tool_choice"] = request.tool_choice
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        if request.reasoning_effort is not None:
            settings["thinking"] = request.reasoning_effort if request.reasoning_effort != "none" else False
        if request.extra:
            settings["extra_body"] = dict(request.extra)
        if self._timeout is not None:
            settings["timeout"] = self._timeout
        return settings

    def _end(self, response: dict[str, Any], names: ToolNames) -> Iterator[ModelEvent]:
        if not _is_whole(response):
            raise BadReply("The answer broke off before its end; ask again.")
        answered = response.get("model_name")
        message = names.restored(loaded_response(response, maker=maker_of(self._model.model_name, answered)))
        stop: StopReason = "tool_calls" if message.calls and response["finish_reason"] != "length" else _STOPS.get(response["finish_reason"], "other")
        if stop == "content_filter" and not message.parts:
            raise ModelRefused("The provider's filter lets no answer through. Ask otherwise, or ask another model.")
        for call in message.calls:
            yield ready(call, is_cut=stop == "length")
        usage = _usage(mapping(response.get("usage")))
        problems = problems_in(message, is_cut=stop == "length")
        yield Reply(message=message, stop=stop, usage=usage, id=response.get("provider_response_id"), model=text(answered) or self._model.model_name, problems=problems)


def _is_whole(response: Mapping[str, Any]) -> bool:
    """Tell whether a response came to its end: where the server said neither why it ended nor what it cost, it broke off."""
    said = mapping(response.get("provider_details")).get("finish_reason") or not mapping(response.get("usage")).get("unmeasured_requests")
    return response.get("state") != "incomplete" and response.get("finish_reason") is not None and bool(said)


def _words(event: Any) -> Iterator[ModelEvent]:
    """Yield the words in an event: of a part that begins, or of a delta."""
    if event.event_kind == "part_start":
        kind, words = event.part.part_kind, getattr(event.part, "content", None)
    elif event.event_kind == "part_delta":
        kind, words = event.delta.part_delta_kind, getattr(event.delta, "content_delta", None)
    else:
        return
    if isinstance(words, str) and words and kind in ("text", "thinking"):
        yield TextDelta(text=words) if kind == "text" else ReasoningDelta(text=words)


def _usage(told: Mapping[str, Any]) -> Usage | None:
    usage = usage_of(
        input=told.get("input_tokens"),
        output=told.get("output_tokens"),
        cache_read=told.get("cache_read_tokens"),
        cache_write=told.get("cache_write_tokens"),
        reasoning=told.get("output_reasoning_tokens") or mapping(told.get("details")).get("reasoning_tokens"),
    )
    return usage if usage.total else None


def connect(settings: Settings) -> PydanticAI:
    """Return the adapter for a model of pydantic-ai, named as they name it; raises MissingExtra without the package.

    A key, an address and options go to the provider that pydantic-ai has for the model.
    """
    models = package("pydantic_ai.models", extra="pydantic-ai", what=f"The model {settings.spec}")
    exceptions = package("pydantic_ai.exceptions", extra="pydantic-ai", what=f"The model {settings.spec}")
    providers = package("pydantic_ai.providers", extra="pydantic-ai", what=f"The model {settings.spec}")
    given = {"api_key": settings.api_key, "base_url": settings.base_url}
    options = {**{k: v for k, v in given.items() if v is not None}, **settings.options}

    def made(name: str) -> Any:
        try:
            kind = providers.infer_provider_class(name)
        except ValueError as exc:
            raise ProviderNotFoundError(f"pydantic-ai:{name}", known=_known(models)) from exc
        return kind(**options) if options else providers.infer_provider(name)

    try:
        return PydanticAI(models.infer_model(settings.model, made), timeout=settings.timeout)
    except (exceptions.UserError, ValueError, ImportError, TypeError) as exc:
        raise InvalidInput(f"pydantic-ai cannot make the model {settings.model!r}: {str(exc).strip()}") from exc


def _known(models: Any) -> tuple[str, ...]:
    names = getattr(models.KnownModelName, "__value__", models.KnownModelName).__args__
    return tuple(sorted({f"pydantic-ai:{name.partition(':')[0]}" for name in names if ":" in name}))
