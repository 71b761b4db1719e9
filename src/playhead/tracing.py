"""Spans: what is being done, from when to when, told to whoever traces it; where nobody does, a span costs a look at one tuple."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, Protocol

Operation = Literal["agent", "step", "chat", "tool", "compile", "fold"]
"""What is done: a run of an agent, a step of it, a call of a model, a call of a tool, the compile of a prompt, one summary or merge."""

_log = logging.getLogger("playhead")


class Span(Protocol):
    """Something that is being done."""

    def add(self, **facts: Any) -> None:
        """Say more of it."""
        ...


class Tracer(Protocol):
    """Whoever traces. What it raises is logged, and never reaches the work that it traces."""

    def span(self, operation: Operation, facts: dict[str, Any]) -> AbstractContextManager[Span]:
        """Return the block in which something is done; it is left with the error that the work raises, where it raises one."""
        ...


_tracers: tuple[Tracer, ...] = ()
_lock = threading.Lock()


def trace(tracer: Tracer) -> None:
    """Tell a tracer of everything that is done in this process from now on; telling it twice changes nothing."""
    global _tracers  # noqa: PLW0603 - one process has one list of those who trace it
    with _lock:
        _tracers = _tracers if tracer in _tracers else (*_tracers, tracer)


def untrace(tracer: Tracer) -> None:
    """Tell a tracer no more; one that was never told is fine."""
    global _tracers  # noqa: PLW0603 - as in `trace`
    with _lock:
        _tracers = tuple(one for one in _tracers if one is not tracer)


def span(operation: Operation, **facts: Any) -> Scope | Unseen:
    """Return the block to do something in; facts are values of the library, from which each tracer takes what it tells."""
    return Scope(_tracers, operation, facts) if _tracers else UNSEEN


class Unseen:
    """A block that nobody traces."""

    def __enter__(self) -> Unseen:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def add(self, **facts: Any) -> None:
        """Say more of it, to nobody."""


UNSEEN = Unseen()


class Scope:
    """A block that is traced; a tracer that fails is left out of the rest of it."""

    __slots__ = ("_facts", "_operation", "_spans", "_tracers")

    def __init__(self, tracers: tuple[Tracer, ...], operation: Operation, facts: dict[str, Any]) -> None:
        self._tracers = tracers
        self._operation = operation
        self._facts = facts
        self._spans: list[tuple[AbstractContextManager[Span], Span]] = []

    def __enter__(self) -> Scope:
        for tracer in self._tracers:
            try:
                block = tracer.span(self._operation, dict(self._facts))
                self._spans.append((block, block.__enter__()))
            except Exception:  # noqa: BLE001 - a tracer may raise anything
                _log.exception("A tracer failed when '%s' began, and is not told of it.", self._operation)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for block, _ in reversed(self._spans):
            try:
                block.__exit__(kind, error, trace)
            except Exception as exc:  # noqa: BLE001 - a tracer may raise anything
                if exc is not error:
                    _log.exception("A tracer failed when '%s' ended.", self._operation)

    def add(self, **facts: Any) -> None:
        """Say more of it."""
        for _, one in self._spans:
            try:
                one.add(**facts)
            except Exception:  # noqa: BLE001 - a tracer may raise anything
                _log.exception("A tracer failed while '%s' was going on.", self._operation)
