"""What was lost when a damaged store was salvaged, and what stands in its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOST = "salvage.lost"
"""The name of the event that stands for an entry that was lost."""

ALTERED, PART_LOST = "it was not as it was written", "a part of it that is kept as a blob is missing or not as it was written"
"""Why an entry that was found was lost all the same."""

MISSING = "it was missing"
"""Why an entry was lost where others stand behind its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A part of a store that is no good entry: why, which entries stood there, and where it is.

    `ids` are the first and the last of them, None where nothing stands behind the part that would tell. `offset` and `size` are in
    bytes of a tape's file; None in a database.
    """

    why: str
    ids: tuple[int, int] | None = None
    tape: str | None = None
    offset: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """What `salvage` did: how many entries were kept, and what was lost.

    `path` is where the good store, or file, is now, `original` where the damaged one is; None where nothing was amiss. For a
    directory of tapes `files` are the reports of the files in it that were damaged.
    """

    path: Path
    kept: int
    lost: tuple[Loss, ...]
    original: Path | None
    files: tuple[SalvageReport, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing was amiss, and so nothing was done."""
        return self.original is None and not self.files
