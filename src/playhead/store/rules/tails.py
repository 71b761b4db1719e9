"""Where the tapes of a family end, as the one who changes it knows: what must be there, and what can be written to."""

from __future__ import annotations

from typing import Protocol, TypeVar

from playhead.errors import BranchClosed, BranchNotFound, Conflict
from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY, Head

LONG_AGO = -(1 << 62)
"""The newest date of a tape that has no entries of its own."""


class Tail(Protocol):
    """Where a tape ends."""

    @property
    def generation(self) -> int:
        """How often it was reset."""
        ...

    @property
    def seq(self) -> int:
        """Its last id, 0 where it shows nothing."""
        ...

    @property
    def closed(self) -> str | None:
        """What became of the branch that it is, None where that is open."""
        ...

    @property
    def main(self) -> str | None:
        """The tape that it is a sidecar of."""
        ...

    @property
    def head(self) -> Head:
        """Where it ends."""
        ...

    @property
    def as_mark(self) -> int:
        """The mark of a sidecar's entry that is written now, where this is its main tape."""
        ...


AnyTail = TypeVar("AnyTail", bound=Tail)


class Tails(Protocol[AnyTail]):
    """Where the tapes of a family end, and the making of new ones."""

    def tail(self, tape: str) -> AnyTail | None:
        """Return where a tape ends, None where it was never written."""
        ...

    def epoch(self, tape: str) -> int:
        """Return the epoch of the newest lease of a tape, 0 where it was never leased."""
        ...

    def begin(self, tape: str, *, generation: int = 0) -> AnyTail:
        """Make a tape that was never written, or a sidecar; the tape of its family is made, too."""
        ...

    def begin_again(self, tape: str, tail: AnyTail) -> AnyTail:
        """Begin the next generation of a tape; the entries of the old one are out of reach at once and removed when there is time."""
        ...


def main_of(tails: Tails[AnyTail], tape: str) -> AnyTail | None:
    """Return where a tape ends, or the one that it is a sidecar of; None where it was never written. Raises BranchNotFound."""
    kin = kin_of(tape)
    tail = tails.tail(kin.main)
    if tail is None and kin.branch is not None:
        raise BranchNotFound(kin.main)
    return tail


def writable(tails: Tails[AnyTail], tape: str) -> AnyTail | None:
    """Return where a tape ends, None where it was never written. Raises BranchNotFound, BranchClosed."""
    main = main_of(tails, tape)
    if main is not None and main.closed is not None:
        raise BranchClosed(kin_of(tape).main, main.closed)
    return tails.tail(tape)


def expect(expected: Head | None, tail: Tail | None) -> None:
    """Raise Conflict where a tape does not end at the head that was expected."""
    if expected is None:
        return
    found = EMPTY if tail is None else tail.head
    if expected != found:
        raise Conflict(expected=expected, found=found)
