"""A file as it is when it is opened, read as lines from either end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playhead.store.file.archive import CHUNK
from playhead.store.file.disk import Disk
from playhead.store.file.place import damaged

_FIRST, _LARGEST = 1 << 14, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The first `size` bytes of an open file. Others may append behind them, and rename another file over this one.

    Of a short file that is read from several sides `content` has all of it.
    """

    disk: Disk
    fd: int
    path: str
    size: int
    content: bytes | None = None

    @classmethod
    def short(cls, disk: Disk, fd: int, path: str) -> Snapshot:
        """Return an open file as it is now, read at once where it is short."""
        size = disk.state_of(fd).st_size
        content = disk.read(fd, size, 0) if size <= _FIRST else None
        return cls(disk=disk, fd=fd, path=path, size=size, content=content if content is not None and len(content) == size else None)

    @property
    def archived(self) -> int:
        """How many bytes at the front are archived, in chunks; what is behind a chunk, or before it, is read without it."""
        return self.disk.archived(self.fd)

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes of a part of the file. Raises StoreDamaged where the file has become shorter."""
        block = self.disk.read(self.fd, stop - start, start) if self.content is None else self.content[start:stop]
        if len(block) == stop - start:
            return block
        parts = [block]
        while block and (start := start + len(block)) < stop:
            block = self.disk.read(self.fd, stop - start, start)
            parts.append(block)
        if start < stop:
            raise damaged(self.path, start, "the file has become shorter")
        return b"".join(parts)

    def forwards(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a part of the file, each with its place and without its newline; what no newline ends is left out."""
        held: list[bytes] = []
        offset, step, archived = start, _FIRST, self.archived
        while start < stop:
            edge = min((start // CHUNK + 1) * CHUNK, archived) if start < archived else stop
            block = self.read(start, min(start + step, edge, stop))
            start, step = start + len(block), min(step * 2, _LARGEST)
            first, *others = block.split(b"\n")
            held.append(first)
            if not others:
                continue
            others.insert(0, b"".join(held))
            held = [others.pop()]
            for line in others:
                yield offset, line
                offset += len(line) + 1

    def backwards(self, stop: int, *, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the lines between `start`, where one begins, and `stop`, which stands behind a newline or at 0, the last one first."""
        archived = self.archived
        if start < archived < stop:
            yield from self._backwards(stop, archived)
            stop = archived
        if start < stop:
            yield from self._backwards(stop, start)

    def _backwards(self, stop: int, front: int) -> Iterator[tuple[int, bytes]]:
        held: list[bytes] = []
        position, step, archived = stop - 1, _FIRST, self.archived
        while position >= front:
            edge = max(position - 1, 0) // CHUNK * CHUNK if position <= archived else front
            start = max(front, position - step, edge)
            block = self.read(start, position)
            first, *others = block.split(b"\n")
            if others:
                offset = position - len(others[-1])
                held.append(others.pop())
                yield offset, b"".join(reversed(held))
                for line in reversed(others):
                    offset -= len(line) + 1
                    yield offset, line
                held = []
            held.append(first)
            if start == front:
                yield front, b"".join(reversed(held))
                return
            position, step = start, min(step * 2, _LARGEST)

    def line(self, offset: int, stop: int) -> bytes:
        """Return the line that begins at an offset. Raises StoreDamaged where none ends before `stop`."""
        for _, line in self.forwards(offset, stop):
            return line
        raise damaged(self.path, offset, "no line begins there")

    def behind_last_newline(self) -> int:
        """Return where an unfinished line begins, the end of the file where there is none."""
        position, step, archived = self.size, 1, self.archived
        while position > archived:
            start = max(archived, position - step)
            found = self.read(start, position).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            position, step = start, min(max(step * 2, _FIRST), _LARGEST)
        return archived
