"""Disks that fail: at the k-th call, or by a loss of power that keeps only what was flushed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from playhead.store.file.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens at some calls: they raise an error, before or after they were carried out; the first, if it writes, may take some bytes instead."""

    code: int = errno.EIO
    calls: int = 1
    carried_out: bool = False
    takes: int | None = None

    def __str__(self) -> str:
        how = "after" if self.carried_out else "before" if self.takes is None else f"after {self.takes} bytes"
        return f"{errno.errorcode[self.code]} {how} {self.calls} calls"


Result = TypeVar("Result")


class FaultyDisk(Disk):
    """Fails at the k-th call that changes something, counted from 1; flushes nothing, as nothing here outlives the process."""

    def __init__(self, fault: Fault | None = None, *, at: int = 0) -> None:
        self._fault = fault
        self._at = at
        self.calls: list[str] = []

    def open_to_write(self, path: str) -> int:
        return self._changed("open", lambda: Disk.open_to_write(self, path))

    def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
        fault = self._due("write")
        if fault is None:
            return super().write(fd, content, offset)
        if fault.takes is not None and len(self.calls) == self._at:
            return super().write(fd, content[: fault.takes], offset)
        if fault.carried_out:
            super().write(fd, content, offset)
        raise OSError(fault.code, os.strerror(fault.code))

    def flush(self, fd: int) -> None:
        self._changed("flush", lambda: None)

    def cut(self, fd: int, size: int) -> None:
        self._changed("cut", lambda: Disk.cut(self, fd, size))

    def rename(self, source: str, target: str) -> None:
        self._changed("rename", lambda: Disk.rename(self, source, target))

    def link(self, source: str, target: str) -> None:
        self._changed("link", lambda: Disk.link(self, source, target))

    def remove(self, path: str) -> None:
        self._changed("remove", lambda: Disk.remove(self, path))

    def flush_directory(self, path: str) -> None:
        self._changed("flush directory", lambda: None)

    def date(self, path: str, nanoseconds: int) -> None:
        self._changed("date", lambda: Disk.date(self, path, nanoseconds))

    def make_directory(self, path: str) -> None:
        self._changed("make directory", lambda: Disk.make_directory(self, path))

    def _due(self, call: str) -> Fault | None:
        self.calls.append(call)
        fault = self._fault
        if fault is None:
            return None
        count = len(self.calls)
        return fault if self._at <= count < self._at + fault.calls else None

    def _changed(self, call: str, carry_out: Callable[[], Result]) -> Result:
        fault = self._due(call)
        if fault is None:
            return carry_out()
        if fault.carried_out:
            carry_out()
        raise OSError(fault.code, os.strerror(fault.code))
