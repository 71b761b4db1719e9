"""Tools: functions that a model may call, with the context they are called in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, overload

from playhead.agent.running import run_function
from playhead.agent.schema import Signature, signature_of
from playhead.entry.message import ToolCall
from playhead.errors import InvalidInput, InvalidTool
from playhead.model.protocol import ToolSpec
from playhead.tape.tape import Tape

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool is called in: the tape of the run, the run's own state, and which call it is.

    `state` is the very dict that was given to `run(state=...)`, so what a tool puts there is seen by all that come after it in the run.
    """

    tape: Tape
    state: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    call_id: str = ""
    name: str = ""


NeedsApproval = bool | Callable[[ToolCall, ToolContext], bool | Awaitable[bool]]
"""Whether a call is first put before whoever approves: always, never, or as a function of the call says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call; made by `tool`. Calling it calls the function.

    `name` may hold dots; a model sees `model_name`. `timeout` is in seconds, None for none.
    """

    name: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    timeout: float | None = None
    needs_approval: NeedsApproval = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise InvalidTool(str(self.name), "its name is not one that providers take: up to 64 letters, digits, `_`, `-` and dots, first a letter; pass name=")
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidTool(self.name, f"its timeout is a number of seconds above 0, not {self.timeout!r}; leave it out for none")

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function itself."""
        return self.function(*given, **named)

    @property
    def model_name(self) -> str:
        """The name a model calls it by: dots are underscores."""
        return self.name.replace(".", "_")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        return self.signature.schema

    @property
    def needs_context(self) -> bool:
        """Whether it only runs with a context."""
        return self.signature.needs_context

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return ToolSpec(name=self.model_name, description=self.description, parameters=self.parameters)

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the function is called with. Raises InvalidInput that says what is wrong with which argument."""
        values, wrong = self.signature.read(arguments)
        if wrong:
            raise InvalidInput(f"Tool '{self.name}' argument validation failed.", **wrong)
        return values

    async def run(self, arguments: Mapping[str, Any], *, context: ToolContext | None = None) -> Any:
        """Call the function with a model's arguments and return what it returns.

        Raises InvalidInput for bad arguments and where the context it needs is missing, ToolFailed where it raises or takes longer
        than its timeout; errors of playhead that it raises pass as they are.
        """
        return await self.carry_out(self.checked(arguments), context=context)

    async def carry_out(self, values: Mapping[str, Any], *, context: ToolContext | None = None) -> Any:
        """Call the function with values that `checked` returned; otherwise as `run`."""
        if context is None and self.needs_context:
            raise InvalidInput(f"Tool '{self.name}' requires context but none was provided.")
        beside = {self.signature.context: context} if self.signature.context and context is not None else {}
        return await run_function(partial(self.function, **values, **beside), tool=self.name, timeout=self.timeout)


@overload
def tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    context: bool = False,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
) -> Tool: ...


@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    context: bool = False,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    context: bool = False,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function, as a decorator with or without arguments: its signature is the schema, its docstring the description.

    A parameter annotated ToolContext gets the context; `context=True` says that there is one, by that annotation or by the name
    `context`. A function that is not async runs in a thread. Raises InvalidTool, a TypeError, where a model could not call it.
    """
    if function is None:
        return partial(tool, name=name, description=description, context=context, timeout=timeout, needs_approval=needs_approval)
    called = name or _name_of(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidTool(called, "it yields; return the whole answer")
    signature = signature_of(function, tool=called, context_type=ToolContext, wants_context=context)
    return Tool(
        name=called,
        description=signature.description if description is None else inspect.cleandoc(description),
        function=function,
        signature=signature,
        timeout=timeout,
        needs_approval=needs_approval,
    )


def _name_of(function: Any) -> str:
    named = function.func if isinstance(function, partial) else function
    return getattr(named, "__name__", None) or type(named).__name__
