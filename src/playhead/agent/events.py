"""What a run tells as it goes: words, calls, results, costs, errors, and the end of each answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from playhead.entry.frozen import thaw
from playhead.entry.message import ToolCall, ToolResult
from playhead.errors import PlayheadError
from playhead.model.protocol import StopReason, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEvent:
    """Some more words of the answer."""

    kind: ClassVar[str] = "text"
    delta: str

    @property
    def data(self) -> dict[str, Any]:
        """The words, as `{"delta": ...}`."""
        return {"delta": self.delta}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningEvent:
    """Some more words of what the model thinks."""

    kind: ClassVar[str] = "reasoning"
    delta: str

    @property
    def data(self) -> dict[str, Any]:
        """The words, as `{"delta": ...}`."""
        return {"delta": self.delta}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent:
    """The model asks for a tool; it is run next."""

    kind: ClassVar[str] = "tool_call"
    call: ToolCall

    @property
    def data(self) -> dict[str, Any]:
        """The call, as id, name and arguments."""
        return {"id": self.call.id, "name": self.call.name, "arguments": thaw(self.call.arguments)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """A tool has ended; its result stands on the tape. `value` is what it returned, None where it failed."""

    kind: ClassVar[str] = "tool_result"
    call: ToolCall
    result: ToolResult
    value: object = None
    elapsed_ms: int = 0

    @property
    def data(self) -> dict[str, Any]:
        """The result, as id, name, text, whether it is an error, and how long it took."""
        words = self.result.content if isinstance(self.result.content, str) else "\n".join(getattr(part, "text", "") for part in self.result.content)
        return {"id": self.call.id, "name": self.call.name, "result": words, "is_error": self.result.is_error, "elapsed_ms": self.elapsed_ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """What one call of the model cost."""

    kind: ClassVar[str] = "usage"
    usage: Usage

    @property
    def data(self) -> dict[str, Any]:
        """The tokens, as a tape records them."""
        return self.usage.facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent:
    """A step failed; what was known by then is on the tape. The run raises the error next, unless it tries again."""

    kind: ClassVar[str] = "error"
    error: Exception

    @property
    def data(self) -> dict[str, Any]:
        """The error, as kind, message and details."""
        if isinstance(self.error, PlayheadError):
            return {"kind": self.error.kind, "message": self.error.message, "details": dict(self.error.details)}
        return {"kind": "unknown", "message": str(self.error), "details": {"type": type(self.error).__name__}}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvent:
    """One answer of the model is complete; a turn with tools has several. `last` says that the turn ends with it.

    `stop` says why the model stopped: "length" is an answer that was cut off, "refusal" and "content_filter" are none.
    """

    kind: ClassVar[str] = "final"
    text: str
    ok: bool = True
    last: bool = True
    stop: StopReason = "end"

    @property
    def data(self) -> dict[str, Any]:
        """The words of the answer, whether it is one, and why the model stopped."""
        return {"text": self.text, "ok": self.ok, "last": self.last, "stop": self.stop}


RunEvent = TextEvent | ReasoningEvent | ToolCallEvent | ToolResultEvent | UsageEvent | ErrorEvent | FinalEvent
