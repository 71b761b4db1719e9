"""Tool rounds: every call answered once, right behind its turn, under an id the provider takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from playhead.entry.message import Message, Part, ToolCall, ToolResult
from playhead.errors import WireError
from playhead.wire.ids import IdRule, fitting_id, fitting_name

FAILED = "The tool failed without a message."
"""What a failed tool is said to have answered where it answered nothing."""


def settled(messages: Iterable[Message], *, ids: IdRule, longest_name: int) -> tuple[Message, ...]:
    """Return the messages with provider ids, each result as a `tool` message of its own right behind the turn it answers.

    Words that stand beside results become a user's message behind the round. A result whose call_id is ""
    answers the first open call; calls of one id in one turn are answered in order.
    Raises WireError for an unanswered call, a result without call or a second one, and calls or results in a role that has none.
    """
    book = _Rounds(ids=ids, longest_name=longest_name)
    at = -1
    for at, message in enumerate(messages):
        book.take(message, at=at)
    book.require_closed(at=at + 1)
    return tuple(book.written)


@dataclass(slots=True, kw_only=True)
class _OpenCall:
    call_id: str
    sent_as: str
    at: int


@dataclass(slots=True, kw_only=True)
class _Rounds:
    """The messages written so far and the calls still open; lives for one dump."""

    ids: IdRule
    longest_name: int
    written: list[Message] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    open_calls: list[_OpenCall] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    words: list[Message] = field(default_factory=list)

    def take(self, message: Message, *, at: int) -> None:
        _require_roles(message, at=at)
        if message.role == "tool" or message.results:
            self._answer(message, at=at)
            return
        self.require_closed(at=at)
        self.written.append(self._call(message, at=at) if message.calls else message)

    def require_closed(self, *, at: int) -> None:
        if not self.open_calls:
            return
        missing = ", ".join(repr(c.call_id) for c in self.open_calls)
        raise WireError(
            f"{len(self.open_calls)} tool call(s) of messages[{self.open_calls[0].at}] unanswered: {missing}; add a result for each right behind the turn",
            where=f"messages[{at}]",
        )

    def _call(self, message: Message, *, at: int) -> Message:
        self.answered.clear()
        if self.ids.unique_in == "round":
            self.taken.clear()
        return replace(message, content=tuple(self._opened(p, at=at) if isinstance(p, ToolCall) else p for p in message.parts))

    def _opened(self, call: ToolCall, *, at: int) -> ToolCall:
        sent_as = fitting_id(call.id, taken=self.taken, room=len(self.taken), rule=self.ids)
        self.taken.add(sent_as)
        self.open_calls.append(_OpenCall(call_id=call.id, sent_as=sent_as, at=at))
        name = fitting_name(call.name, longest=self.longest_name)
        return call if (sent_as, name) == (call.id, call.name) else replace(call, id=sent_as, name=name)

    def _answer(self, message: Message, *, at: int) -> None:
        for result in message.results:
            answer = replace(result, call_id=self._closed(result, at=at).sent_as)
            self.written.append(Message(role="tool", content=(answer,), sources=message.sources))
        words: tuple[Part, ...] = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        if words:
            self.words.append(Message(role="user", content=words, name=message.name, extra=message.extra, sources=message.sources))
        if not self.open_calls:
            self.written.extend(self.words)
            self.words.clear()

    def _closed(self, result: ToolResult, *, at: int) -> _OpenCall:
        for i, call in enumerate(self.open_calls):
            if result.call_id in ("", call.call_id):
                self.answered.add(call.call_id)
                return self.open_calls.pop(i)
        if result.call_id in self.answered:
            raise WireError(f"Call {result.call_id!r} is answered a second time; keep one result for each call", where=f"messages[{at}]")
        raise WireError(f"A result without call: {result.call_id!r} is no open call of the turn before; keep each result right behind its turn", where=f"messages[{at}]")


def _require_roles(message: Message, *, at: int) -> None:
    if message.calls and message.role != "assistant":
        raise WireError(f"A message of role '{message.role}' calls a tool; only an assistant does", where=f"messages[{at}]")
    if message.results and message.role not in ("tool", "user"):
        raise WireError(f"A message of role '{message.role}' holds a tool's result; a tool's message does", where=f"messages[{at}]")
    if message.role == "tool" and message.parts and not message.results:
        raise WireError("A tool's message without a result; write it with tool_result_message(call_id, content)", where=f"messages[{at}]")
