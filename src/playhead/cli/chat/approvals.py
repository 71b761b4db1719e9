"""Approvals: calls that need one are put before the user, one at a time; what is said is the decision."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from playhead.agent.tools import ToolContext
from playhead.entry.message import ToolCall

NOBODY = "nobody is at a terminal to approve it; with --yes every call is approved"
YES, NO, ALWAYS = ("y", "yes"), ("n", "no"), ("a", "always")


class Approvals:
    """Decides about calls: all are approved, or the user is asked through `ask`, which shows a call, and None once it is decided."""

    def __init__(self, *, approves_all: bool) -> None:
        self.ask: Callable[[ToolCall | None], None] | None = None
        self._approves_all = approves_all
        self._always: set[str] = set()
        self._one_at_a_time = anyio.Lock()
        self._decided: anyio.Event | None = None
        self._decision: bool | str = False
        self._tool = ""

    async def __call__(self, call: ToolCall, context: ToolContext) -> bool | str:
        """Return whether a call may run, or why it may not."""
        if self._approves_all:
            return True
        if self.ask is None:
            return NOBODY
        async with self._one_at_a_time:
            if context.name in self._always:
                return True
            self._tool, self._decided = context.name, anyio.Event()
            self.ask(call)
            try:
                await self._decided.wait()
            finally:
                self._decided = None
                self.ask(None)
            return self._decision

    def decide(self, said: str) -> str | None:
        """Take what the user said as the decision, and return it in words; None where it says nothing, or nothing is asked."""
        word = said.strip().lower()
        if self._decided is None or not word:
            return None
        if word in YES or word in ALWAYS:
            self._decision = True
            self._always |= {self._tool} if word in ALWAYS else set()
        else:
            self._decision = "the user said no" if word in NO else f"the user said: {said.strip()}"
        self._decided.set()
        return "not approved" if self._decision is not True else "approved" if word in YES else f"approved, and {self._tool} always from now on"
