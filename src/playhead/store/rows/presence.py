"""Whether the files that are open still stand under their names."""

from __future__ import annotations

import os
import time

from playhead.errors import StoreUnavailable

_SETTLED = 50_000_000
_SECOND = 1_000_000_000


class OpenFile:
    """Remembers which file stands at a path, to tell when it was removed or replaced.

    Who has a file open goes on with it, even where it has no name any more: what is written there is lost when it is closed.
    """

    def __init__(self, file: str, *, store: str) -> None:
        self._file = file
        self._store = store
        self._seen: tuple[int, int] | None = None

    def note(self) -> None:
        """Remember the file that stands there now, unless one was noted before."""
        if self._seen is None:
            self._seen = self._found()

    def check(self) -> None:
        """Raise StoreUnavailable where the file that was noted is gone or another one."""
        if self._seen is None or (found := self._found()) == self._seen:
            return
        raise StoreUnavailable(
            f"'{self._file}' was {'replaced' if found else 'removed'} while the store '{self._store}' was open; nothing more is written. "
            f"Put it back, or close the store and open it again to go on with what is there.",
            path=self._store,
            file=self._file,
        )

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._file)
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Presence:
    """The files that one connection has open: the database, the same for all connections of a store, and the log beside it.

    Where nothing was made, renamed or removed in their folder since they were last there, they still are.
    """

    def __init__(self, path: str, *, database: OpenFile) -> None:
        real = os.path.realpath(path)
        log = OpenFile(f"{real}-wal", store=path)
        self._folder = os.path.dirname(real)
        self._calm: tuple[int, int, int] | None = None
        self._files = (database, log)
        for file in self._files:
            file.note()

    def check(self) -> None:
        """Raise StoreUnavailable where a file is gone or another one."""
        try:
            found = os.stat(self._folder)
            folder = found.st_dev, found.st_ino, found.st_mtime_ns
        except OSError:
            folder = None
        if folder is not None and folder == self._calm:
            return
        for file in self._files:
            file.check()
        self._calm = folder if folder is not None and _settled(folder[-1]) else None


def _settled(changed: int) -> bool:
    """Return whether a later change would show another time: it is a few ticks of the system's clock ago, on a file system that counts parts of seconds."""
    return changed % _SECOND != 0 and time.time_ns() - changed > _SETTLED
