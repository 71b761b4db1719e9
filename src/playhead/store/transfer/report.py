"""What a transfer did, and how far one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from playhead.store.condition.loss import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReport:
    """What an export, an import or a copy did: the tapes that were moved or gone on with, those that stood there already, entry for entry.

    `entries` and `blobs` count what was moved, with all branches and sidecars; `missing` are the digests that entries refer to and
    that are not kept where they come from. `lost` is what an export could not read of a damaged store.
    """

    tapes: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    entries: int = 0
    blobs: int = 0
    missing: tuple[str, ...] = ()
    lost: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferProgress:
    """How far a transfer is: what it does ("checking", then "writing", which proves what was written, too) with which tape, the how manieth of how many, and how many of its entries are done."""

    stage: str
    tape: str
    number: int
    tapes: int
    done: int
    total: int


TransferListener = Callable[[TransferProgress], None]


@dataclass(slots=True)
class Tally:
    """Counts what a transfer does, and tells who wants to know."""

    told: TransferListener | None = None
    moved: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    entries: int = 0
    blobs: int = 0
    missing: set[str] = field(default_factory=set)
    lost: list[Loss] = field(default_factory=list)
    _stage: str = ""
    _tape: str = ""
    _number: int = 0
    _tapes: int = 0
    _done: int = 0
    _total: int = 0

    def begin(self, stage: str, tape: str, *, number: int, tapes: int, total: int) -> None:
        """Begin something with a tape."""
        self._stage, self._tape, self._number, self._tapes, self._done, self._total = stage, tape, number, tapes, 0, total
        self.add(0)

    def add(self, count: int) -> None:
        """Count entries that are done."""
        self._done += count
        if self.told is not None:
            done = min(self._done, self._total)
            self.told(TransferProgress(stage=self._stage, tape=self._tape, number=self._number, tapes=self._tapes, done=done, total=self._total))

    def report(self) -> TransferReport:
        """Return what was done."""
        return TransferReport(tapes=tuple(self.moved), known=tuple(self.known), entries=self.entries, blobs=self.blobs, missing=tuple(sorted(self.missing)), lost=tuple(self.lost))
