"""Errors of tools, plug-ins and runs."""

from __future__ import annotations

from playhead.errors.tree import Kinded
from playhead.errors.value import InvalidInput


class BadPlugin(InvalidInput, TypeError):
    """A plug-in cannot be loaded, has no hook method, or one that asks for or returns what it may not; mend `plugin`."""

    def __init__(self, message: str, *, plugin: str) -> None:
        self.plugin = plugin
        super().__init__(message, plugin=plugin)


class InvalidTool(InvalidInput, TypeError):
    """A function cannot be made a tool, or two tools have one name; the message says what to change, `tool` which it is."""

    def __init__(self, tool: str, why: str) -> None:
        self.tool = tool
        super().__init__(f"'{tool}' cannot be a tool: {why}.", tool=tool)


class ToolFailed(Kinded):
    """A tool raised, took too long, or was denied; `tool` says which. The model is told of it and goes on."""

    KIND = "tool"

    def __init__(self, message: str, *, tool: str, **details: object) -> None:
        self.tool = tool
        super().__init__(message, tool=tool, **details)


class StepLimitReached(Kinded, RuntimeError):
    """A run took `steps` steps, as many as it may; raise max_steps, or run again to go on from where it stands."""

    KIND = "step_limit"

    def __init__(self, steps: int) -> None:
        self.steps = steps
        super().__init__(f"max_steps_reached={steps}", steps=steps)
