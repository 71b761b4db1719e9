"""From a model's call to the answer it reads: hooks, arguments, approval, the run itself, and what is kept of the result."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from playhead import clock
from playhead.agent.answers import failure, result_of
from playhead.agent.decisions import Deny, Replace, ToolOutcome
from playhead.agent.hooks import Hooks
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool, ToolContext
from playhead.entry.message import ToolCall, ToolResult
from playhead.entry.payload import is_content_result
from playhead.errors import InvalidInput, PlayheadError, ToolFailed

_log = logging.getLogger("playhead")

Approve = Callable[[ToolCall, ToolContext], Awaitable[bool | str]]
"""Whoever approves calls: True lets one run, False or a text denies it, with that reason."""

Shrink = Callable[[ToolResult, ToolContext], Awaitable[ToolResult]]
"""Makes a result that is too large for the model smaller, keeping all of it elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a call: the result that the model and the tape see, what the tool returned, and why it failed where it did."""

    call: ToolCall
    result: ToolResult
    value: object = None
    elapsed_ms: int = 0
    error: PlayheadError | None = None


async def answered(
    call: ToolCall,
    *,
    toolbox: Toolbox,
    context: ToolContext,
    hooks: Hooks,
    problem: str | None = None,
    approve: Approve | None = None,
    shrink: Shrink | None = None,
) -> Answer:
    """Carry out a model's call and return the answer; every failure is one too, as a result that is marked as an error.

    `problem` says why the arguments cannot be read. Raises nothing but cancellation.
    """
    began = clock.now()
    context = replace(context, call_id=call.id, name=_name(call, toolbox))
    value, error = None, None
    try:
        value = await _value(call, problem, toolbox=toolbox, context=context, hooks=hooks, approve=approve)
        result = result_of(value, call=call)
    except PlayheadError as exc:
        value, error, result = None, exc, failure(exc, call=call)
    elapsed_ms = round((clock.now() - began).total_seconds() * 1000)
    outcome = ToolOutcome(call=call, result=result, value=value, error=error, elapsed_ms=elapsed_ms)
    await hooks.after_tool_call(outcome, context)
    try:
        result = result if outcome.result is result else _as_left(outcome)
        result = result if shrink is None else await _shrunk(result, context, shrink)
    except ToolFailed as exc:
        return Answer(call=call, result=failure(exc, call=call), elapsed_ms=elapsed_ms, error=exc)
    return Answer(call=call, result=result, value=outcome.value, elapsed_ms=elapsed_ms, error=error if result.is_error else None)


def _name(call: ToolCall, toolbox: Toolbox) -> str:
    return next((tool.name for tool in toolbox.values() if call.name in (tool.model_name, tool.name)), call.name)


async def _value(call: ToolCall, problem: str | None, *, toolbox: Toolbox, context: ToolContext, hooks: Hooks, approve: Approve | None) -> object:
    if problem is not None:
        raise InvalidInput(problem, tool=call.name)
    decision = await hooks.before_tool_call(call, context)
    if isinstance(decision, Replace):
        return decision.result
    if isinstance(decision, Deny):
        raise _denied(context.name, decision.message)
    tool = toolbox.find(call.name)
    call = replace(call, arguments=decision.arguments)
    values = tool.checked(call.arguments)
    await _approved(tool, call, context, approve)
    return await tool.carry_out(values, context=context)


async def _approved(tool: Tool, call: ToolCall, context: ToolContext, approve: Approve | None) -> None:
    """Raise ToolFailed unless the call may run."""
    try:
        needed = tool.needs_approval(call, context) if callable(tool.needs_approval) else tool.needs_approval
        if not (await needed if inspect.isawaitable(needed) else needed):
            return
        allowed = False if approve is None else await approve(call, context)
    except Exception as exc:
        _log.exception("Whether the tool %s may run could not be decided, so it does not.", tool.name)
        raise _denied(tool.name, f"whether it may run could not be decided ({exc!r})") from exc
    if allowed is True:
        return
    raise _denied(tool.name, allowed if isinstance(allowed, str) and allowed else "it needs an approval, which it did not get")


def _denied(tool: str, reason: str) -> ToolFailed:
    return ToolFailed(f"Tool '{tool}' was denied: {reason}", tool=tool, denied=True)


def _as_left(outcome: ToolOutcome) -> ToolResult:
    """Return the result that a hook assigned, proved to be one that a model reads and a tape keeps."""
    if is_content_result(outcome.value):
        return replace(result_of(outcome.value, call=outcome.call), is_error=outcome.result.is_error)
    return result_of(outcome.result, call=outcome.call)


async def _shrunk(result: ToolResult, context: ToolContext, shrink: Shrink) -> ToolResult:
    try:
        return await shrink(result, context)
    except Exception as exc:
        _log.exception("The result of the tool %s could not be made to fit.", context.name)
        raise ToolFailed(f"Tool '{context.name}' ran, but its result could not be made to fit.", tool=context.name, error=repr(exc)) from exc
