"""What a file store found amiss in a file and dealt with: reported, never passed over in silence."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

REMEMBERED = 100
"""How many findings a store remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something amiss in a tape's file, and what was done about it.

    `what` says both in words; `offset` is where it begins in the file and `size` how long it is, in bytes;
    `line` is the number of the line where lines were counted.
    """

    path: str
    what: str
    offset: int
    size: int
    line: int | None = None

    def __str__(self) -> str:
        place = f"byte {self.offset:,}" if self.line is None else f"line {self.line:,}"
        return f"{self.path}, {place}: {self.what} ({self.size:,} bytes)"


class Findings:
    """Passes findings on, each once, and remembers the newest; without a receiver they are logged as warnings."""

    def __init__(self, receiver: Callable[[Finding], None] | None) -> None:
        self._receiver = receiver or log
        self._lock = Lock()
        self._newest: deque[Finding] = deque(maxlen=REMEMBERED)

    @property
    def newest(self) -> tuple[Finding, ...]:
        """The newest findings, the oldest of them first."""
        with self._lock:
            return tuple(self._newest)

    def report(self, finding: Finding) -> None:
        """Pass a finding on unless it is known already."""
        with self._lock:
            if finding in self._newest:
                return
            self._newest.append(finding)
        self._receiver(finding)


def log(finding: Finding) -> None:
    """Log a finding as a warning of the logger `playhead.store`."""
    logging.getLogger("playhead.store").warning("%s", finding)
