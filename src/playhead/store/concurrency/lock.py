"""A lock that processes share: one file beside the store, locked for the length of a block."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from types import TracebackType
from weakref import WeakSet

from playhead import clock
from playhead.store.condition.failures import busy, typed

_NAME_LENGTH = 36

if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int) -> None:
        os.lseek(fd, _NAME_LENGTH, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _unlock(fd: int) -> None:
        os.lseek(fd, _NAME_LENGTH, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def _read(fd: int) -> bytes:
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, _NAME_LENGTH)

    def _write(fd: int, name: bytes) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, name)
else:
    import fcntl

    def _try_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _read(fd: int) -> bytes:
        return os.pread(fd, _NAME_LENGTH, 0)

    def _write(fd: int, name: bytes) -> None:
        os.pwrite(fd, name, 0)


_FIRST_PAUSE, _LONGEST_PAUSE = 0.000_2, 0.005


class FileLock:
    """Excludes every other `FileLock` on the same path, in this process and in others, inside a `with` block.

    The file is opened at the first use and stays open. Where its holder, or somebody else, removes it, the next holder notices and
    locks the new one.
    Raises StoreBusy after `timeout` seconds, StoreUnavailable where the file cannot be opened.
    """

    def __init__(self, path: str, *, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self._fd = -1
        self._name = b""
        _locks.add(self)

    def __enter__(self) -> FileLock:
        if not self.attempt():
            self._wait()
        return self

    def attempt(self) -> bool:
        """Take the lock where it is free, without a wait, and return whether it was; `release` lets go of it."""
        while True:
            if self._fd < 0:
                self._fd = self._opened()
            try:
                _try_lock(self._fd)
            except OSError:
                return False
            if os.fstat(self._fd).st_nlink:
                return True
            self.close()

    def release(self) -> None:
        """Let go of the lock; the file stays open for the next time."""
        if self._fd >= 0:
            _unlock(self._fd)

    def remove(self) -> None:
        """Let go of the lock and take its file away, only while it is held: who waits at it notices."""
        with suppress(OSError):
            os.unlink(self.path)
        self.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def changed_hands(self) -> bool:
        """Return whether another holder has called this since we did; only while the lock is held."""
        if _read(self._fd) == self._name:
            return False
        _write(self._fd, self._name)
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _opened(self) -> int:
        self._name = clock.new_uid().encode()
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as exc:
            raise typed(exc, path=self.path) from exc

    def _wait(self) -> None:
        deadline, pause = time.monotonic() + self.timeout, _FIRST_PAUSE
        while time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            if self.attempt():
                return
        raise busy(self.path)


_locks: WeakSet[FileLock] = WeakSet()


def _let_go_in_child() -> None:
    """Close the child's copy of each open lock file, or it would hold the lock for as long as the parent does."""
    for lock in _locks:
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
