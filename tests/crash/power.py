"""A disk that remembers what was flushed, so that a loss of power can be played at any moment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from playhead.store.file.disk import Disk

SECTOR = 512


@dataclass
class Content:
    """A file's bytes: those that are safe, and what was done to them since."""

    safe: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def flush(self) -> None:
        self.safe = applied(self.safe, self.since)
        self.since.clear()


def applied(content: bytes, changes: list[tuple[int, bytes | None]]) -> bytes:
    """Return bytes after writes at an offset, and cuts (None) at one."""
    found = bytearray(content)
    for offset, written in changes:
        if written is None:
            del found[offset:]
        else:
            found.extend(bytes(max(0, offset - len(found))))
            found[offset : offset + len(written)] = written
    return bytes(found)


class PowerDisk(Disk):
    """Does everything, and writes down what a loss of power might undo."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self._numbers: dict[str, int] = {}
        self._fds: dict[int, int] = {}
        self._count = 0

    def note(self, *event: object) -> None:
        """Write down something of the test's own."""
        self.events.append(event)

    def open_to_write(self, path: str) -> int:
        if path not in self._numbers:
            self._count += 1
            self._numbers[path] = self._count
            self.note("name", path, self._count)
        fd = super().open_to_write(path)
        self._fds[fd] = self._numbers[path]
        return fd

    def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
        self.note("change", self._fds[fd], offset, bytes(content))
        return super().write(fd, content, offset)

    def cut(self, fd: int, size: int) -> None:
        self.note("change", self._fds[fd], size, None)
        super().cut(fd, size)

    def flush(self, fd: int) -> None:
        self.note("flush", self._fds[fd])

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        number = self._numbers[target] = self._numbers.pop(source)
        self.note("name", target, number)
        self.note("name", source, None)

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        self._numbers[target] = self._numbers[source]
        self.note("name", target, self._numbers[source])

    def remove(self, path: str) -> None:
        super().remove(path)
        self._numbers.pop(path, None)
        self.note("name", path, None)

    def flush_directory(self, path: str) -> None:
        self.note("flush directory", path)


class Aftermath:
    """What a loss of power right behind an event may leave: all that was flushed, and as much of the rest as chance says."""

    def __init__(self, events: list[tuple[object, ...]]) -> None:
        self._contents: dict[int, Content] = {}
        self._names: dict[str, int] = {}
        self._renamings: dict[str, list[tuple[str, int | None]]] = {}
        for event in events:
            match event:
                case "name", str(path), number:
                    self._renamings.setdefault(os.path.dirname(path), []).append((path, number))  # type: ignore[arg-type]
                case "change", int(number), int(offset), written:
                    self._contents.setdefault(number, Content()).since.append((offset, written))  # type: ignore[arg-type]
                case "flush", int(number):
                    self._contents.setdefault(number, Content()).flush()
                case "flush directory", str(path):
                    self._rename(self._renamings.pop(path, []))

    def write(self, source: Path, target: Path, *, kept: str, chance: Random) -> None:
        """Make the files as they may be: of what was not flushed "nothing", "all", "some" (a first part), or "holes" is kept."""
        for directory, renamings in self._renamings.items():
            del directory
            self._rename(renamings[: _share(len(renamings), kept, chance)])
        for path, number in self._names.items():
            place = target / Path(path).relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_left(self._contents.get(number, Content()), kept, chance))

    def _rename(self, renamings: list[tuple[str, int | None]]) -> None:
        for path, number in renamings:
            if number is None:
                self._names.pop(path, None)
            else:
                self._names[path] = number


def _share(count: int, kept: str, chance: Random) -> int:
    return {"nothing": 0, "all": count}.get(kept, chance.randint(0, count))


def _left(content: Content, kept: str, chance: Random) -> bytes:
    if kept != "holes":
        changes = content.since[: _share(len(content.since), kept, chance)]
        found = applied(content.safe, changes)
        cut_short = kept == "some" and len(found) > len(content.safe)
        return found[: chance.randint(len(content.safe), len(found))] if cut_short else found
    found = bytearray(applied(content.safe, content.since))
    for start in range(len(content.safe) // SECTOR * SECTOR, len(found), SECTOR):
        if chance.random() < 0.4:
            stop = min(start + SECTOR, len(found))
            found[start:stop] = (content.safe[start:stop] + bytes(SECTOR))[: stop - start]
    return bytes(found)
