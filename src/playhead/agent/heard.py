"""What was heard of an answer: its words and thoughts as they come, and whether the whole of it agrees with them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from inspect import iscoroutine

import anyio

from playhead import clock
from playhead.agent.events import ReasoningEvent, TextEvent
from playhead.agent.running import is_cancelled
from playhead.agent.stream import Emit
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message, Part, Text, Thinking, ToolCall, assistant
from playhead.errors import BadReply, InvalidInput, ModelError, ModelUnavailable, PlayheadError
from playhead.model.protocol import CallReady, Model, ModelEvent, ModelRequest, ReasoningDelta, Reply, TextDelta, Usage
from playhead.tracing import Span


async def events_of(model: Model, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
    """Ask a model and yield what it answers.

    Raises errors of playhead as they are, ModelError for what else the model raises, ModelUnavailable where something else than
    this run cancelled it, InvalidInput where its stream is none.
    """
    try:
        async with _stream(model, request) as events:
            async for event in events:
                yield event
    except PlayheadError:
        raise
    except Exception as exc:
        raise ModelError(f"{model.name} failed with {type(exc).__name__}: {exc}", model=model.name) from exc
    except anyio.get_cancelled_exc_class() as exc:
        if is_cancelled():
            raise
        raise ModelUnavailable(f"{model.name} was cancelled by something else than the run; ask again.", model=model.name) from exc


def _stream(model: Model, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
    stream = model.stream(request)
    if isinstance(stream, AbstractAsyncContextManager):
        return stream
    if iscoroutine(stream):
        stream.close()
    raise InvalidInput(
        f"The stream(request) of {model.name} returns {type(stream).__name__}, not an async context manager; decorate it with contextlib.asynccontextmanager, or return contextlib.aclosing(...)."
    )


class Heard:
    """Hears one answer of a model and refuses what is none; `text` are the words so far."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._calls = 0

    @property
    def text(self) -> str:
        """The words that have come."""
        return "".join(self._words)

    @property
    def partial(self) -> Message | None:
        """What has come of an answer that broke off, None where nothing has; its thoughts, which no provider signed, are kept and never sent back."""
        words, thoughts = self.text, "".join(self._thoughts)
        if not thoughts:
            return assistant(words) if words else None
        said = (Text(text=words),) if words else ()
        return Message(role="assistant", content=(Thinking(text=thoughts), *said))

    async def answer_of(self, model: Model, request: ModelRequest, *, told: Span, emit: Emit, accepted: Callable[[], Awaitable[None]] | None = None) -> Reply:
        """Ask a model and hear all of its answer, telling words and thoughts as they come; with each event the request is `accepted`. Raises ModelError."""
        first = True
        async with aclosing(events_of(model, request)) as events:
            async for event in events:
                if accepted is not None:
                    await accepted()
                self.take(event, model=model.name)
                if first:
                    told.add(first=event)
                    first = False
                if isinstance(event, Reply):
                    reply = self.whole(event, model=model.name)
                    told.add(reply=reply)
                    return reply
                await _tell(event, emit)
        raise BadReply(f"{model.name} ended without an answer; ask again.", model=model.name, partial=self.text)

    def take(self, event: ModelEvent, *, model: str) -> None:
        """Hear one event of the stream. Raises BadReply for what is none."""
        match event:
            case TextDelta(text=str() as words):
                self._words.append(words)
            case CallReady(call=ToolCall()):
                self._calls += 1
            case ReasoningDelta(text=str() as thoughts):
                self._thoughts.append(thoughts)
            case Reply(message=Message(), usage=Usage() | None, model=str() | None):
                pass
            case _:
                raise BadReply(
                    f"{model} answers with {event!r:.200}, which is no event of an answer; a model yields TextDelta, ReasoningDelta, CallReady and, last, a Reply.", model=model, partial=self.text
                )

    def whole(self, reply: Reply, *, model: str) -> Reply:
        """Return the whole answer, each call with an id of its own. Raises BadReply where it is no turn of an assistant, or less than what was heard."""
        message = reply.message
        if message.role != "assistant" or message.results:
            raise BadReply(f"{model} answers as role '{message.role}'{' with results of tools' if message.results else ''}; an answer is one message of the assistant.", model=model, partial=self.text)
        if self._calls > len(reply.calls):
            raise BadReply(f"{model} asked for {self._calls} calls, and {len(reply.calls)} of them are in its whole answer; ask again.", model=model, partial=self.text)
        if not reply.calls and not reply.text.strip() and self.text.strip():
            raise BadReply(f"{model} said something, and its whole answer has no words; ask again.", model=model, partial=self.text)
        return _with_ids(reply if reply.model is not None else replace(reply, model=model))


async def _tell(event: ModelEvent, emit: Emit) -> None:
    match event:
        case TextDelta(text=text) if text:
            await emit(TextEvent(delta=text))
        case ReasoningDelta(text=text) if text:
            await emit(ReasoningEvent(delta=text))


def _with_ids(reply: Reply) -> Reply:
    """Return an answer in which no call is without an id or has that of another: results are paired by it."""
    if not reply.calls:
        return reply
    taken: set[str] = set()
    parts: list[Part] = []
    problems: Mapping[str, str] = reply.problems
    for part in reply.message.parts:
        if isinstance(part, ToolCall) and (not part.id or part.id in taken):
            named = replace(part, id=f"call_{clock.new_uid().replace('-', '')}")
            if part.id in reply.problems:
                problems = {**problems, named.id: reply.problems[part.id]}
            part = named
        if isinstance(part, ToolCall):
            taken.add(part.id)
        parts.append(part)
    if all(new is old for new, old in zip(parts, reply.message.parts, strict=True)):
        return reply
    return replace(reply, message=replace(reply.message, content=tuple(parts)), problems=FrozenDict(problems))
