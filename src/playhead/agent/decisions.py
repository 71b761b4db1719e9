"""What hooks are told, and what they decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from playhead.entry.message import Message, ToolCall, ToolResult, tool_result_message
from playhead.errors import PlayheadError
from playhead.tape.tape import Tape

Admission = Literal["process", "drop", "queue", "steer"]
"""What becomes of a message that comes in: a run of its own now, nothing, a run once the running one ends, or a word to the running one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run as hooks see it: the tape it writes to (its branch), who answers, what was asked, and the caller's state, never copied.

    `step` is 0 before the first step. `prompt` may hold media that the tape does not keep. `context_limit` is the model's, where it is known.
    """

    run_id: str
    tape: Tape
    model: str
    prompt: Message | None
    state: dict[str, Any]
    step: int = 0
    context_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Proceed:
    """Run the tool with these arguments."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replace:
    """Answer for the tool, which does not run: with text, parts or any JSON value, as a tool of yours would return it."""

    result: object


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the call; the model is told why."""

    message: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run with this text as the model's answer, without a call."""

    text: str


class ToolOutcome:
    """What a tool call came to, shared by all `after_tool_call` hooks; assigning `result` changes what the model and the tape see.

    A ToolResult is taken as it is, under the call's id; of any other value the answer is made, an error staying one. `value` is
    what the tool returned, or what was assigned; `error` is why it failed.
    """

    __slots__ = ("_result", "call", "elapsed_ms", "error", "value")

    def __init__(self, *, call: ToolCall, result: ToolResult, value: object = None, error: PlayheadError | None = None, elapsed_ms: int = 0) -> None:
        self.call = call
        self._result = result
        self.value = value
        self.error = error
        self.elapsed_ms = elapsed_ms

    def __repr__(self) -> str:
        return f"ToolOutcome(call={self.call!r}, result={self._result!r})"

    @property
    def result(self) -> ToolResult:
        """What the model and the tape see of it."""
        return self._result

    @result.setter
    def result(self, answer: object) -> None:
        before = self._result
        if isinstance(answer, ToolResult):
            self._result, self.value = replace(answer, call_id=before.call_id), answer.content
        else:
            message = tool_result_message(before.call_id, answer, is_error=before.is_error, name=before.name)
            self._result, self.value = message.results[0], answer
