"""What a model is asked, what it answers piece by piece, and what a provider's adapter must offer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message, ToolCall

StopReason = Literal["end", "tool_calls", "length", "refusal", "content_filter", "stop_sequence", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it: the name it is called by, what it is for, and a JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of a model: messages in order, the tools it may call, and how it is to answer.

    `max_tokens` bounds the answer. `output_schema` asks for JSON of that schema. `tool_choice` is "auto", "none", "required" or
    the name of a tool. `extra` is added to the provider's body as it is.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    output_schema: Mapping[str, Any] | None = None
    reasoning_effort: str | None = None
    tool_choice: str = "auto"
    extra: Mapping[str, Any] = field(default_factory=FrozenDict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call cost, in tokens: `input` is all that was read, of which `cache_read` came from the provider's cache.

    `cache_write` is what was written to it, `reasoning` the part of `output` that was thought.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """What was read and written."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
        )

    def facts(self) -> dict[str, Any]:
        """Return it as a tape records it, under the names that `tape.info()` reads."""
        details = {"cached_tokens": self.cache_read, "cache_write_tokens": self.cache_write}
        return {"prompt_tokens": self.input, "completion_tokens": self.output, "total_tokens": self.total, "prompt_tokens_details": details, "reasoning_tokens": self.reasoning}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Some more words of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """Some more words of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReady:
    """A tool call that is complete.

    `problem` says why its arguments are no JSON object, as the model is told; `call.arguments` is then empty.
    """

    call: ToolCall
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The whole answer, the last event of every stream: one assistant message, as it is kept and sent back.

    `problems` says, by the id of a call, why its arguments cannot be read. `usage` is None where the provider did not say.
    """

    message: Message
    stop: StopReason = "end"
    usage: Usage | None = None
    id: str | None = None
    model: str | None = None
    problems: Mapping[str, str] = field(default_factory=FrozenDict)

    @property
    def text(self) -> str:
        """The words of the answer."""
        return self.message.text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return self.message.calls


ModelEvent = TextDelta | ReasoningDelta | CallReady | Reply


@runtime_checkable
class Model(Protocol):
    """A model of a provider; an async context manager that lets go of its connections.

    Raises ModelUnavailable (try again later), ContextLimitExceeded, ModelRejected, ModelRefused, BadReply; what had come before the
    failure was yielded. A stream ends with exactly one Reply.
    """

    @property
    def name(self) -> str:
        """Provider and model, such as `openai:gpt-5-mini`; signatures of its reasoning are bound to both."""
        ...

    @property
    def context_limit(self) -> int | None:
        """How many tokens a request and its answer may have together, None where nobody knows: given, else learned, else listed."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask, and yield the answer as it comes; leaving the block ends the call."""
        ...

    async def complete(self, request: ModelRequest) -> Reply:
        """Ask, and return the whole answer."""
        ...

    async def aclose(self) -> None:
        """Let go of connections; closing twice is fine."""
        ...


def texts(messages: Sequence[Message]) -> str:
    """Return the words of messages, a line each; for errors that show a request."""
    return "\n".join(f"{message.role}: {message.text}" for message in messages)
