"""Where a file store keeps what: tapes in the open, locks and other things of its own in a hidden directory."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import Any

from playhead.errors import StoreDamaged
from playhead.store.concordance.library import Library
from playhead.store.concurrency.lock import FileLock
from playhead.store.condition.health import Health
from playhead.store.file.archive import ArchivedDisk
from playhead.store.file.disk import make_directories
from playhead.store.file.family.shelf import Shelf
from playhead.store.file.findings import Findings
from playhead.store.file.members import HIDDEN, family_directory
from playhead.store.file.names import SUFFIX, may_be_plain, stem_of
from playhead.store.file.record.codec import LineCodec
from playhead.store.parting import INLINE
from playhead.store.rows.connection import Durability, SearchBy

INDEX, WORDS = ".index", ".words"
"""How the directories of a file's index and of its terms are named, behind its stem."""

REDO = ".redo"
"""How the redo file of a family is named, behind the stem of its root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A directory of tapes, how safe an acknowledged append must be, how many seconds to wait for others, who hears of what was amiss, how entries are encoded, and how they are searched.

    `shelf` has what branches show of short files, `library` what was read of the volumes of terms; `inline_limit` is how many bytes of JSON
    a payload may have that is kept in one piece.
    """

    directory: str
    durability: Durability
    timeout: float
    disk: ArchivedDisk
    findings: Findings
    health: Health
    codec: LineCodec | None
    read_only: bool = False
    inline_limit: int | None = INLINE
    search: SearchBy = "index"
    library: Library = field(default_factory=Library, compare=False, repr=False)
    shelf: Shelf[Any] = field(default_factory=Shelf, compare=False, repr=False)

    @property
    def hidden(self) -> str:
        """The directory of locks, drafts, redo files and indexes."""
        return f"{self.directory}/{HIDDEN}"

    @property
    def keeps_words(self) -> bool:
        """Whether the terms of entries are kept for searches: never of entries that a codec may have enciphered."""
        return self.search == "index" and self.codec is None

    @property
    def flushes(self) -> bool:
        """Whether an acknowledged append survives the loss of power."""
        return self.durability == "disk"

    def check_there(self) -> None:
        """Raise FileNotFoundError where a directory that is only read is not there; one that is written to is made when it is needed."""
        if self.read_only and not self.disk.exists(self.directory):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.directory)

    def make(self) -> None:
        """Make the directories that are missing."""
        make_directories(self.disk, self.hidden, flushed=self.flushes)

    def make_family(self, stem: str) -> None:
        """Make the directories of the branches and sidecars of a tape, where they are missing."""
        for directory in (self.family(stem), f"{self.hidden}/{family_directory(stem)}"):
            make_directories(self.disk, directory, flushed=False)

    def clear_family(self, stem: str) -> None:
        """Remove the directories of the branches and sidecars of a tape, and of their indexes, where nothing is in them; runs under the lock of the family."""
        for directory in (self.family(stem), f"{self.hidden}/{family_directory(stem)}"):
            for name in self.disk.names(directory):
                if name.endswith((INDEX, WORDS)):
                    self.disk.remove_directory(f"{directory}/{name}")
            self.disk.remove_directory(directory)
        for directory in (self.index(stem), self.words(stem)):
            self.disk.remove_directory(directory)

    def stem(self, tape: str) -> str:
        """Return the stem of a tape's file: the one we give, or the tape's very name where another program gave it that."""
        stem = stem_of(tape)
        if stem == tape or not may_be_plain(tape) or self.disk.exists(self.path(stem)):
            return stem
        is_there = self.disk.exists(self.path(tape)) and f"{tape}{SUFFIX}" in self.disk.names(self.directory)
        return tape if is_there else stem

    def path(self, stem: str) -> str:
        """Return where a tape's file is."""
        return f"{self.directory}/{stem}{SUFFIX}"

    def below(self, path: str) -> str:
        """Return where a file is that is named from the store's directory on."""
        return f"{self.directory}/{path}"

    def family(self, stem: str) -> str:
        """Return the directory of the branches and sidecars of a tape."""
        return f"{self.directory}/{family_directory(stem)}"

    def redo(self, stem: str) -> str:
        """Return where the redo file of a change that was begun is."""
        return f"{self.hidden}/{stem}{REDO}"

    def index(self, stem: str) -> str:
        """Return the directory of a tape's index."""
        return f"{self.hidden}/{stem.removeprefix(f'{HIDDEN}/')}{INDEX}"

    def words(self, stem: str) -> str:
        """Return the directory of the volumes of a tape's terms."""
        return f"{self.hidden}/{stem.removeprefix(f'{HIDDEN}/')}{WORDS}"

    def ledger(self, stem: str, name: str) -> str:
        """Return where something that is known of a family beside its entries is kept."""
        return f"{self.hidden}/{stem}.{name}"

    def lock(self, stem: str, *, patience: float | None = None) -> FileLock:
        """Return the lock of a tape's family: all who write to it, or finish what others began, hold it."""
        return FileLock(f"{self.hidden}/{stem}.lock", timeout=self.timeout if patience is None else min(patience, self.timeout))


def damaged(path: str, offset: int, why: str) -> StoreDamaged:
    """Return the error of a file whose content is not what was written."""
    return StoreDamaged(
        f"The file '{path}' is damaged at byte {offset:,} ({why}); nothing was changed; restore a backup, or keep what can be read with playhead.salvage({path!r}).",
        path=path,
        offset=offset,
    )
