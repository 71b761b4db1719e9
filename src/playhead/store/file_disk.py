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

    def size(self, fd: int) -> int:
        """Return how many bytes a file has."""
        return os.fstat(fd).st_size

    def identity(self, path: str) -> tuple[int, int] | None:
        """Return what tells the file of that name from every other one that exists, None where there is none."""
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def identity_of(self, fd: int) -> tuple[int, int]:
        """Return what tells an open file from every other one that exists."""
        found = os.fstat(fd)
        return found.st_dev, found.st_ino

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

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

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

    def make_directory(self, path: str) -> None:
        """Make a directory; one that is there is fine."""
        with suppress(FileExistsError):
            os.mkdir(path)


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
    while disk.identity(path) is None:
        missing.append(path)
        path = str(Path(path).parent)
    for made in reversed(missing):
        disk.make_directory(made)
        if flushed:
            disk.flush_directory(str(Path(made).parent))
