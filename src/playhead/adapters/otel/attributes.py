"""What OpenTelemetry is told of each operation: the name of its span, and its attributes.

Source: OpenTelemetry's semantic conventions for generative AI (spans of agents, inference and tools); names that these do not have
begin with `playhead.`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.agent.calling import Answer
from playhead.entry.message import ToolCall
from playhead.errors import PlayheadError
from playhead.fold.ticker import Ticked
from playhead.model.protocol import ModelRequest, Reply, Usage
from playhead.prompt.budget import Budget
from playhead.prompt.prompt import Prompt
from playhead.store.family import kin_of

Value = str | bool | int | float | tuple[str, ...]
"""What an attribute holds."""

PROVIDERS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic"}
"""Providers by the first part of a model's name, as the conventions call them."""

OPERATIONS = {"agent": "invoke_agent", "chat": "chat", "tool": "execute_tool", "fold": "compact"}
"""The operations that the conventions have a name for, and that of compaction."""

FINISH = {"end": "stop", "tool_calls": "tool_call", "refusal": "content_filter", "stop_sequence": "stop"}
"""Why a model stopped, where the conventions have another word for it."""


def span_name(operation: str, facts: Mapping[str, Any]) -> str:
    """Return what a span is called: the operation, and what it is done with where few different things are."""
    match operation:
        case "agent":
            return f"invoke_agent {facts.get('agent', '')}".rstrip()
        case "chat":
            return f"chat {model_id(facts.get('model', ''))}".rstrip()
        case "tool":
            return f"execute_tool {facts.get('name', '')}".rstrip()
        case "fold":
            return "compact"
    return operation


def attributes(operation: str, facts: Mapping[str, Any]) -> dict[str, Value]:
    """Return the attributes that facts of an operation come to; none of them holds anything that was said."""
    found = dict(_told(facts))
    if operation in OPERATIONS:
        found["gen_ai.operation.name"] = OPERATIONS[operation]
    if operation == "tool":
        found["gen_ai.tool.type"] = "function"
    return found


def error_type(error: BaseException) -> str:
    """Return what an error is called: the kind of one of ours, else its class."""
    return error.kind if isinstance(error, PlayheadError) else type(error).__qualname__


def model_id(name: str) -> str:
    """Return a model's name without its provider."""
    return name.partition(":")[2] or name


def _told(facts: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, fact in facts.items():
        match name, fact:
            case "agent", str():
                yield "gen_ai.agent.name", fact
            case "tape", str():
                yield "gen_ai.conversation.id", kin_of(fact).root
                yield "playhead.tape", fact
            case "run_id", str():
                yield "playhead.run.id", fact
            case "step", int():
                yield "playhead.step", fact
            case "model", str():
                yield "gen_ai.request.model", model_id(fact)
                yield "gen_ai.provider.name", PROVIDERS.get(provider := fact.partition(":")[0], provider)
            case "name", str():
                yield "gen_ai.tool.name", fact
            case "strategy", str():
                yield "playhead.strategy", fact
            case "level", int():
                yield "playhead.summary.level", fact
            case "before" | "after", int():
                yield f"playhead.tokens.{name}", fact
            case _:
                yield from _values(fact)


def _values(fact: object) -> Iterator[tuple[str, Value]]:
    match fact:
        case ModelRequest():
            yield from _request(fact)
        case Reply():
            yield from _reply(fact)
        case Usage():
            yield from _usage(fact)
        case ToolCall():
            yield "gen_ai.tool.call.id", fact.id
        case Answer():
            yield "playhead.tool.is_error", fact.result.is_error
            if fact.error is not None:
                yield "error.type", error_type(fact.error)
        case Budget():
            yield "playhead.budget.max_tokens", fact.max_tokens
            yield "playhead.budget.reserve", fact.reserve_for_response
        case Prompt():
            yield from _prompt(fact)
        case Ticked():
            yield from _ticked(fact)


def _request(request: ModelRequest) -> Iterator[tuple[str, Value]]:
    yield "playhead.request.messages", len(request.messages)
    yield "playhead.request.tools", len(request.tools)
    yield "gen_ai.request.stream", True
    if request.max_tokens is not None:
        yield "gen_ai.request.max_tokens", request.max_tokens
    if request.output_schema is not None:
        yield "gen_ai.output.type", "json"


def _reply(reply: Reply) -> Iterator[tuple[str, Value]]:
    yield "gen_ai.response.finish_reasons", (FINISH.get(reply.stop, reply.stop),)
    if reply.id is not None:
        yield "gen_ai.response.id", reply.id
    if reply.model is not None:
        yield "gen_ai.response.model", model_id(reply.model)
    if reply.usage is not None:
        yield from _usage(reply.usage)


def _usage(usage: Usage) -> Iterator[tuple[str, Value]]:
    yield "gen_ai.usage.input_tokens", usage.input
    yield "gen_ai.usage.output_tokens", usage.output
    yield "gen_ai.usage.cache_read.input_tokens", usage.cache_read
    yield "gen_ai.usage.cache_creation.input_tokens", usage.cache_write
    if usage.reasoning:
        yield "gen_ai.usage.reasoning.output_tokens", usage.reasoning


def _prompt(prompt: Prompt) -> Iterator[tuple[str, Value]]:
    stats = prompt.stats
    yield "playhead.compile.id", prompt.compile_id
    yield "playhead.compile.digest", prompt.digest
    yield "playhead.tokens.total", stats.total
    yield "playhead.tokens.raw", stats.raw
    yield "playhead.tokens.trimmed", stats.trimmed
    yield "playhead.tokens.summaries", stats.summaries
    yield "playhead.tokens.omitted", stats.omitted
    yield "playhead.spans", len(prompt.plan.spans)
    yield "playhead.over_budget", prompt.over_budget is not None


def _ticked(ticked: Ticked) -> Iterator[tuple[str, Value]]:
    yield "playhead.fold.did", ticked.did
    if ticked.node is not None:
        yield "playhead.summary.id", ticked.node.id
        yield "playhead.summary.units", ticked.node.units
