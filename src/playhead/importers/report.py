"""What an import did, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["reading", "comparing", "writing"]

LISTED = 10_000
"""How many unreadable lines a report lists; a warning says how many more there were."""

WARNED = 100
"""How many warnings a report holds; the last one says how many more there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: entries added, entries that stood already, and what of the file could not be read.

    `unreadable` holds the number of each such line and why; the line is on the tape all the same, raw, in an event.
    `added` and `known` count the entries made from the file, not the tape's own `session/start`. `conversations` is
    how many the file holds. `warnings` say in words what a reader of the tape should know.
    """

    format: str
    added: int
    known: int
    unreadable: tuple[tuple[int, str], ...] = ()
    conversations: int = 1
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an import is: the stage, and bytes of the file done in it of `total`.

    Comparing happens only where the tape has entries already.
    """

    stage: Stage
    done: int
    total: int
    added: int = 0
    known: int = 0


@dataclass(slots=True, kw_only=True)
class Notes:
    """Collects what a report tells, each thing bounded."""

    unreadable: list[tuple[int, str]] = field(default_factory=list)
    more_unreadable: int = 0
    warnings: list[str] = field(default_factory=list)
    more_warnings: int = 0
    repeated: int = 0
    rewritten: int = 0

    def refuse(self, line: int, why: str) -> None:
        """Note a line that cannot be read."""
        if len(self.unreadable) < LISTED:
            self.unreadable.append((line, why))
        else:
            self.more_unreadable += 1

    def warn(self, text: str) -> None:
        """Note a warning."""
        if len(self.warnings) < WARNED:
            self.warnings.append(text)
        else:
            self.more_warnings += 1

    def told(self) -> tuple[str, ...]:
        """Return the warnings, and those that sum up what was left out or repeated."""
        summed = [
            (self.repeated, "{} lines repeat an earlier line word for word and were read once"),
            (self.rewritten, "{} lines were written again further on, with all they say, and were read there"),
            (self.more_unreadable, "{} more lines could not be read"),
            (self.more_warnings, "{} more warnings were left out"),
        ]
        return (*self.warnings, *(text.format(count) for count, text in summed if count))
