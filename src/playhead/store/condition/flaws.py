"""What is amiss in a store, found by looking at all of it: reported, never mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["damage", "fault", "remnant"]

MOST = 500
"""How many flaws are named; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something in a store that is not as it should be: what, where, and how bad.

    `severity` is "damage" where something that was said is altered or gone, "fault" where an index or a record of the store says
    something else than the entries, "remnant" where something is left over that does no harm. `tape` and `id` name the entry, where
    it is one.
    """

    what: str
    where: str
    severity: Severity
    tape: str | None = None
    id: int | None = None

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What `verify` looked at, and what it found amiss: `flaws`, the first of them named, and how many `more` there are.

    `tapes` counts branches and sidecars too.
    """

    place: str
    tapes: int
    entries: int
    flaws: tuple[Flaw, ...] = ()
    more: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether all is as it was written; what is merely left over does not count."""
        return not self.more and all(flaw.severity == "remnant" for flaw in self.flaws)

    def __str__(self) -> str:
        seen = f"{self.place}: {self.tapes:,} tapes, {self.entries:,} entries"
        rest = [f"... and {self.more:,} more"] if self.more else []
        return "\n".join([f"{seen}, {'sound' if self.is_sound else 'not sound'}", *map(str, self.flaws), *rest])


class Flaws:
    """Collects what is amiss, each once, up to a number."""

    def __init__(self) -> None:
        self._found: dict[Flaw, None] = {}
        self.more = 0

    def add(self, what: str, *, where: str, severity: Severity, tape: str | None = None, id: int | None = None) -> None:
        """Take note of a flaw."""
        flaw = Flaw(what=what, where=where, severity=severity, tape=tape, id=id)
        if flaw in self._found:
            return
        if len(self._found) >= MOST:
            self.more += 1
        else:
            self._found[flaw] = None

    @property
    def has_any(self) -> bool:
        """Whether anything is amiss."""
        return bool(self._found)

    @property
    def has_damage(self) -> bool:
        """Whether something that was said is altered or gone."""
        return any(flaw.severity == "damage" for flaw in self._found)

    def take(self, others: Flaws) -> None:
        """Take note of all that another look found."""
        for flaw in others._found:
            self.add(flaw.what, where=flaw.where, severity=flaw.severity, tape=flaw.tape, id=flaw.id)
        self.more += others.more

    def entry(self, what: str, *, tape: str, id: int, severity: Severity = "damage") -> None:
        """Take note of a flaw of an entry."""
        self.add(what, where=f"tape '{tape}', entry {id}", severity=severity, tape=tape, id=id)

    def blobs(self, *, parts: Iterable[str], refs: Iterable[str], tape: str, id: int, has: Callable[[str], bool]) -> None:
        """Take note of the blobs of an entry that are not there: those that it is kept in, and those that it refers to, as it may do in vain."""
        for digest in parts:
            if not has(digest):
                self.entry(f"a part of it is kept as the blob {digest}, which is missing", tape=tape, id=id)
        for digest in refs:
            if not has(digest):
                self.entry(f"it refers to the blob {digest}, which is not kept", tape=tape, id=id, severity="remnant")

    def lost(self, what: str, *, tape: str, first: int, last: int) -> None:
        """Take note of entries that cannot be read."""
        where = f"entry {first}" if first == last else f"entries {first} to {last}"
        self.add(what, where=f"tape '{tape}', {where}", severity="damage", tape=tape, id=first)

    def tape(self, what: str, *, tape: str, severity: Severity = "fault") -> None:
        """Take note of a flaw of what is known of a tape."""
        self.add(what, where=f"tape '{tape}'", severity=severity, tape=tape)

    def report(self, place: str, *, tapes: int, entries: int) -> VerifyReport:
        """Return all of it."""
        return VerifyReport(place=place, tapes=tapes, entries=entries, flaws=tuple(self._found), more=self.more)
