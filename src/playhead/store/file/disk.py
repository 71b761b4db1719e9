"""The calls to the system that a file store makes, one method each, so that a test can let any of them fail."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

_BINARY = getattr(os, "O_BINARY", 0)

if sys.platform == "darwin":
    import fcntl

    def _flush(fd: int) -> None:
        """Flush to the medium; fsync alone leaves it in the drive's own memory there."""
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
else:
    _flush = getattr(os, "fdatasync", os.fsync)


class Disk:
    """Opens, reads, writes, flushes and names files; raises OSError as the system does."""

    def open_to_read(self, path: str) -> int:
        """Return the descriptor of a file that is there."""
        return os.open(path, os.O_RDONLY | _BINARY)

    def open_to_write(self, path: str) -> int:
        """Return the descriptor of a file, made where it is missing."""
        return os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)

    def close(self, fd: int) -> None:
        """Let go of a file."""
        os.close(fd)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory of that name is there."""
        return os.access(path, os.F_OK)

    def state(self, path: str) -> os.stat_result | None:
        """Return which file has that name and how long it is, None where none has."""
        try:
            return os.stat(path)
        except FileNotFoundError:
            return None

    def state_of(self, fd: int) -> os.stat_result:
        """Return which file is open and how long it is."""
        return os.fstat(fd)

    def archived(self, fd: int) -> int:
        """Return how many bytes at the front of an open file are kept elsewhere; a line begins behind them."""
        del fd
        return 0

    if hasattr(os, "pread"):

        def read(self, fd: int, length: int, offset: int) -> bytes:
            """Return up to `length` bytes from an offset, fewer near the end of the file."""
            return os.pread(fd, length, offset)

        def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
            """Write bytes at an offset and return how many of them were taken."""
            return os.pwrite(fd, content, offset)
    else:

        def read(self, fd: int, length: int, offset: int) -> bytes:
            """Return up to `length` bytes from an offset, fewer near the end of the file."""
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, length)

        def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
            """Write bytes at an offset and return how many of them were taken."""
            os.lseek(fd, offset, os.SEEK_SET)
            return os.write(fd, content)

    def flush(self, fd: int) -> None:
        """Return when what was written to a file survives the loss of power."""
        _flush(fd)

    def cut(self, fd: int, size: int) -> None:
        """Remove what stands behind the first `size` bytes."""
        os.ftruncate(fd, size)

    def rename(self, source: str, target: str) -> None:
        """Give a file another name; what had that name before is gone."""
        os.replace(source, target)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, under which it stays when another file takes the first."""
        os.link(source, target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Remove a directory that is empty; one that is not stays."""
        with suppress(OSError):
            os.rmdir(path)

    def flush_directory(self, path: str) -> None:
        """Return when the names in a directory survive the loss of power; a system that cannot say takes care by itself."""
        if os.name == "nt":
            return
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, none where there is no directory."""
        try:
            return os.listdir(path)
        except FileNotFoundError:
            return []

    def date(self, path: str, nanoseconds: int) -> None:
        """Say when a directory or file was changed last, in nanoseconds since 1970."""
        os.utime(path, ns=(nanoseconds, nanoseconds))

    def make_directory(self, path: str) -> None:
        """Make a directory; one that is there is fine."""
        with suppress(FileExistsError):
            os.mkdir(path)


def is_same_file(one: os.stat_result, other: os.stat_result | None) -> bool:
    """Return whether both are states of one file."""
    return other is not None and one.st_ino == other.st_ino and one.st_dev == other.st_dev


def write_whole(disk: Disk, fd: int, content: bytes, offset: int) -> None:
    """Write all bytes at an offset, however few the system takes at a time. Raises OSError where it takes no more."""
    taken = disk.write(fd, content, offset)
    if taken == len(content):
        return
    rest = memoryview(content)
    while taken < len(content):
        count = disk.write(fd, rest[taken:], offset + taken)
        if count <= 0:
            raise OSError(errno.EIO, "the file takes no more bytes")
        taken += count


def make_directories(disk: Disk, path: str, *, flushed: bool) -> None:
    """Make a directory and those above it that are missing; `flushed` says whether their names must survive the loss of power."""
    missing = []
    while not disk.exists(path):
        missing.append(path)
        path = str(Path(path).parent)
    for made in reversed(missing):
        disk.make_directory(made)
        if flushed:
            disk.flush_directory(str(Path(made).parent))
