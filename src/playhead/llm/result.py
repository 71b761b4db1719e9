"""What a call with tools came to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from playhead.agent.calling import Answer
from playhead.entry import codec
from playhead.entry.message import ToolCall
from playhead.errors import LLMError
from playhead.llm.failures import told
from playhead.llm.turn import Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAutoResult:
    """What a call with tools came to: words, the results of the tools it asked for, or those with the error of the first that failed.

    `tool_calls` are in chat form, `tool_results` what each tool returned, or of one that failed its error as a dict.
    """

    kind: Literal["text", "tools", "error"]
    text: str | None = None
    tool_calls: list[dict[str, Any]]
    tool_results: list[Any]
    error: LLMError | None = None


def result_of(settled: Settled) -> ToolAutoResult:
    """Return what a call came to."""
    reply = settled.reply
    if not reply.calls:
        return ToolAutoResult(kind="text", text=reply.text, tool_calls=[], tool_results=[])
    failed = next((answer.error for answer in settled.answers if answer.error is not None), None)
    return ToolAutoResult(
        kind="tools" if failed is None else "error",
        text=reply.text or None,
        tool_calls=chat_calls(reply.calls),
        tool_results=[_value(answer) for answer in settled.answers],
        error=None if failed is None else told(failed),
    )


def chat_calls(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Return calls in chat form, as `{"id", "type", "function": {"name", "arguments"}}`."""
    return [{"id": call.id, "type": "function", "function": {"name": call.name, "arguments": codec.encode(call.arguments).decode()}} for call in calls]


def _value(answer: Answer) -> Any:
    return answer.value if answer.error is None else told(answer.error).as_dict()
