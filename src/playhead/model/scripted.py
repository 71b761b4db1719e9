"""A model that says what it was told to say, turn by turn; for tests, demos and dry runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message, Part, Text, Thinking, ToolCall
from playhead.errors import BadReply, InvalidInput
from playhead.model.protocol import CallReady, ModelEvent, ModelRequest, ReasoningDelta, Reply, StopReason, TextDelta, Usage, texts
from playhead.model.replies import told
from playhead.wire.providers import request_body

Piece = str | Part | Message | ModelEvent | Usage | BaseException | type[BaseException]
"""A piece of a scripted turn: words, a part, a whole message or reply, a raw event, what it costs, or an error to raise there."""

Turn = Piece | Iterable[Piece] | Callable[[ModelRequest], object]
"""One answer: a piece, several of them, or a function of the request that returns (or awaits, or yields) them."""

_SHOWN = 300


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a call of a tool, for a script; its id is given when it is said."""
    return ToolCall(id="", name=name, arguments=arguments)


class ScriptedModel:
    """A model that answers from a script, one turn a request, and keeps the `requests` it got.

    A turn is a text, a `call(name, **arguments)`, a Thinking or any other part, a Message, a Reply, an error to raise, a raw
    event (TextDelta, ReasoningDelta, CallReady), a list of these for one turn, or a function of the request that returns any of
    them or yields them asynchronously. Calls without id get `call_1`, `call_2` and so on. A request that no provider would take
    (a call without result, nobody who speaks) raises WireError, one past the end of the script BadReply.
    """

    def __init__(self, script: Iterable[Turn] | str, *, name: str = "scripted:script", context_limit: int | None = None) -> None:
        if isinstance(script, str):
            raise InvalidInput("A script is a list of turns; for one turn write ScriptedModel([text]), for a file get_model('scripted:FILE').")
        self.requests: list[ModelRequest] = []
        self._script = tuple(script)
        self._name = name
        self._context_limit = context_limit
        self._calls = 0

    @property
    def name(self) -> str:
        """Who answers."""
        return self._name

    @property
    def context_limit(self) -> int | None:
        """The limit it was given; it does not count."""
        return self._context_limit

    @property
    def left(self) -> int:
        """How many turns of the script are left."""
        return max(0, len(self._script) - len(self.requests))

    def stream(self, request: ModelRequest) -> aclosing[AsyncGenerator[ModelEvent, None]]:
        """Yield the next turn of the script, piece by piece."""
        return aclosing(self._events(request))

    async def complete(self, request: ModelRequest) -> Reply:
        """Return the next turn of the script as a whole."""
        async with self.stream(request) as events:
            async for event in events:
                if isinstance(event, Reply):
                    return event
        raise BadReply("The scripted turn ended without a reply.", model=self._name)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        at = len(self.requests)
        request_body("openai", request.messages)
        if at > len(self._script):
            asked = texts(request.messages[-1:])[:_SHOWN]
            raise BadReply(f"The script of {len(self._script)} turn(s) is over, and request {at} asks: {asked!r}. Add a turn to the script, or let the run end before.", model=self._name)
        said = _Said()
        async with aclosing(_pieces(self._script[at - 1], request)) as pieces:
            async for piece in pieces:
                for event in said.take(self._named(piece)):
                    yield event
                    if isinstance(event, Reply):
                        return
        for event in said.end(model=self._name):
            yield event

    def _named(self, piece: Piece) -> Piece:
        """Return the piece with an id for each call that has none."""
        match piece:
            case ToolCall():
                return self._named_call(piece)
            case CallReady():
                return replace(piece, call=self._named_call(piece.call))
            case Message():
                return self._named_message(piece)
            case Reply():
                return replace(piece, message=self._named_message(piece.message))
        return piece

    def _named_message(self, message: Message) -> Message:
        if all(c.id for c in message.calls):
            return message
        return replace(message, content=tuple(self._named_call(p) if isinstance(p, ToolCall) else p for p in message.parts))

    def _named_call(self, call: ToolCall) -> ToolCall:
        if call.id:
            return call
        self._calls += 1
        return replace(call, id=f"call_{self._calls}")


async def _pieces(turn: Any, request: ModelRequest) -> AsyncGenerator[Piece, None]:
    """Yield the pieces of a turn; what a function gives may be awaited or come asynchronously."""
    if callable(turn) and not isinstance(turn, type):
        turn = turn(request)
    if isinstance(turn, Awaitable):
        turn = await turn
    if isinstance(turn, AsyncGenerator):
        async with aclosing(turn):
            async for piece in turn:
                yield piece
        return
    if isinstance(turn, AsyncIterable):
        async for piece in turn:
            yield piece
        return
    is_one = isinstance(turn, (str, Message)) or not isinstance(turn, Iterable)
    for piece in (turn,) if is_one else turn:
        yield piece


class _Said:
    """What was said of a turn so far, as the parts of the message it becomes."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._problems: dict[str, str] = {}
        self._usage: Usage | None = None

    def take(self, piece: object) -> Iterable[ModelEvent]:
        """Return the events of a piece; raises the piece where it is an error."""
        match piece:
            case BaseException():
                raise piece
            case type() if issubclass(piece, BaseException):
                raise piece
            case Reply():
                return told(piece)
            case Message():
                return told(Reply(message=piece, stop=_stop(piece), usage=self._usage))
            case Usage():
                self._usage = piece
                return ()
            case str() | TextDelta():
                return self._add(Text(text=piece if isinstance(piece, str) else piece.text))
            case ReasoningDelta():
                return self._add(Thinking(text=piece.text))
            case CallReady():
                if piece.problem is not None:
                    self._problems[piece.call.id] = piece.problem
                self._parts.append(piece.call)
                return (piece,)
            case Text() | Thinking() | ToolCall():
                return self._add(piece)
            case _ if isinstance(piece, Part):
                self._parts.append(piece)
                return ()
        raise InvalidInput(f"A script holds texts, calls, parts, messages, replies, events and errors, not {type(piece).__name__}.")

    def _add(self, part: Text | Thinking | ToolCall) -> Iterable[ModelEvent]:
        """Return the event of a part; plain words go on where words stood before, as those of one turn do."""
        last = self._parts[-1] if self._parts else None
        if isinstance(part, ToolCall):
            self._parts.append(part)
            return (CallReady(call=part),)
        if isinstance(last, type(part)) and replace(part, text=last.text) == last:
            self._parts[-1] = replace(part, text=last.text + part.text)
        else:
            self._parts.append(part)
        if not part.text:
            return ()
        return (TextDelta(text=part.text) if isinstance(part, Text) else ReasoningDelta(text=part.text),)

    def end(self, *, model: str) -> Iterable[ModelEvent]:
        """Return the reply, the last event."""
        only = self._parts[0] if len(self._parts) == 1 else None
        content = only.text if isinstance(only, Text) and not only.extra else tuple(self._parts)
        message = Message(role="assistant", content=content or "")
        return (Reply(message=message, stop=_stop(message), usage=self._usage, model=model, problems=FrozenDict(self._problems)),)


def _stop(message: Message) -> StopReason:
    return "tool_calls" if message.calls else "end"
