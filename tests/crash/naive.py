"""Stores that make the mistakes this one must not make: the tests that catch it must catch them, or they catch nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path


class NaiveFile:
    """Appends a line as most programs do: no checksum, no look at the end of the file, no lock, no flush; ids from its own memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = max((id for id, _ in self.read()), default=0)

    def append(self, text: str) -> int:
        self._last += 1
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"id": self._last, "text": text}, ensure_ascii=False) + "\n")
        return self._last

    def read(self) -> list[tuple[int, str]]:
        """Return ids and texts; lines that cannot be read are passed over."""
        if not self._path.exists():
            return []
        return list(_readable(self._path.read_bytes().split(b"\n")))


def _readable(lines: Iterable[bytes]) -> Iterable[tuple[int, str]]:
    for line in lines:
        try:
            found = json.loads(line)
            yield found["id"], found["text"]
        except (ValueError, KeyError, TypeError):
            continue


def cut(path: Path, size: int) -> None:
    """Leave only the first bytes of a file."""
    os.truncate(path, size)
