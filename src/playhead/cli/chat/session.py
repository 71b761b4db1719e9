"""What a chat shows, as a value: each thing that happens gives the next one, and the pieces that are shown for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from playhead.agent.events import ErrorEvent, FinalEvent, ReasoningEvent, RunEvent, TextEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.cli.bar import Share
from playhead.cli.chat.blocks import Reading, read_on
from playhead.cli.chat.pieces import Answered, Called, Piece, Remark, Said, Spent, Thoughts, Words
from playhead.entry.message import ToolCall
from playhead.errors import ContextLimitExceeded
from playhead.model.prices import added
from playhead.model.protocol import StopReason, Usage

STOPS: Mapping[StopReason, str] = {
    "length": "The answer was cut off at its limit of tokens.",
    "refusal": "The model will not answer this.",
    "content_filter": "The provider held the answer back.",
}
"""What is said of an answer that did not end by itself."""

INTERRUPTED = "Stopped. What was said until then stands on the tape; /retry asks again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of the budget the next prompt takes: its tokens by form, all of them, and how many there may be, None for no limit."""

    shares: tuple[Share, ...] = ()
    used: int = 0
    room: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The state of a chat as it is shown.

    `tail` is what of the answer is not shown for good yet, `reading` how far it was read, `thoughts` what the model thinks before it;
    `waiting` are lines that no
    run has taken up, by id; `question` is a call that waits for an approval;
    `asked` is what each call of the turn cost, in tokens, `paid` what this chat has cost, in dollars.
    """

    tape: str
    model: str
    is_running: bool = False
    is_stopping: bool = False
    tail: str = ""
    reading: Reading = field(default_factory=Reading)
    thoughts: str = ""
    heard: bool = False
    calls: tuple[ToolCall, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)
    question: ToolCall | None = None
    last: Usage | None = None
    asked: tuple[Usage, ...] = ()
    paid: float | None = None
    size: Size = field(default_factory=Size)

    # -- the course of a turn

    def begun(self) -> Session:
        """Return what is shown once a turn has begun."""
        return replace(self, is_running=True, is_stopping=False, tail="", reading=Reading(), thoughts="", heard=False, calls=(), asked=())

    def told(self, event: RunEvent) -> tuple[Session, tuple[Piece, ...]]:
        """Return what is shown once a run has told of something, and what of it for good."""
        match event:
            case TextEvent(delta=delta):
                return self._said(delta)
            case ReasoningEvent(delta=delta):
                return replace(self, thoughts=self.thoughts + delta), ()
            case ToolCallEvent(call=call):
                flushed, pieces = self.flushed()
                return replace(flushed, calls=(*self.calls, call)), (*pieces, Called(call=call))
            case ToolResultEvent(call=call, result=result, elapsed_ms=elapsed_ms):
                return replace(self, calls=tuple(c for c in self.calls if c.id != call.id)), (Answered(call=call, result=result, elapsed_ms=elapsed_ms),)
            case UsageEvent(usage=usage):
                return replace(self, last=usage, asked=(*self.asked, usage)), ()
            case FinalEvent():
                return self._answered(event)
            case ErrorEvent(error=ContextLimitExceeded()):
                flushed, pieces = self.flushed()
                return flushed, (*pieces, Remark(text="The request was too long for the model."))
        return self, ()

    def ended(self, *, is_interrupted: bool, error: str | None, cost: float | None = None) -> tuple[Session, tuple[Piece, ...]]:
        """Return what is shown once a turn has ended, and why it did where it was not by itself."""
        flushed, pieces = self.flushed()
        usage = sum(self.asked, Usage())
        spent = (Spent(usage=usage, cost=cost),) if usage.total else ()
        why = (Remark(text=INTERRUPTED),) if is_interrupted else (Remark(text=error, is_error=True),) if error is not None else ()
        return replace(flushed, is_running=False, is_stopping=False, calls=(), question=None, paid=added(self.paid, cost)), (*pieces, *spent, *why)

    def flushed(self) -> tuple[Session, tuple[Piece, ...]]:
        """Return what is shown once all that was said is shown for good."""
        thoughts = (Thoughts(text=self.thoughts.strip()),) if self.thoughts.strip() else ()
        words = (Words(text=self.tail),) if self.tail.strip() else ()
        return replace(self, tail="", reading=Reading(), thoughts=""), (*thoughts, *words)

    def _said(self, delta: str) -> tuple[Session, tuple[Piece, ...]]:
        tail = self.tail + delta
        thoughts = (Thoughts(text=self.thoughts.strip()),) if self.thoughts.strip() else ()
        end, reading = read_on(tail, self.reading) if "\n" in delta or "\r" in delta else (0, self.reading)
        words = (Words(text=tail[:end]),) if end else ()
        return replace(self, tail=tail[end:], reading=reading, thoughts="", heard=True), (*thoughts, *words)

    def _answered(self, event: FinalEvent) -> tuple[Session, tuple[Piece, ...]]:
        """Show the rest of an answer; all of it, where a model gave it at once."""
        whole = self if self.heard or not event.text else replace(self, tail=event.text)
        flushed, pieces = whole.flushed()
        remark = (Remark(text=STOPS[event.stop], is_error=True),) if event.stop in STOPS else ()
        return replace(flushed, heard=False), (*pieces, *remark)

    # -- lines of the user's

    def waits(self, id: str, text: str) -> Session:
        """Return what is shown once a line waits."""
        return replace(self, waiting={**self.waiting, id: text})

    def taken(self, id: str) -> tuple[Session, tuple[Piece, ...]]:
        """Return what is shown once a run has taken up a line."""
        if id not in self.waiting:
            return self, ()
        left = {other: text for other, text in self.waiting.items() if other != id}
        flushed, pieces = self.flushed()
        return replace(flushed, waiting=left), (*pieces, Said(text=self.waiting[id]))
