"""A tape's file held open by the writer, and what is known of its end."""

from __future__ import annotations

import os
from contextlib import suppress
from types import TracebackType

from playhead.errors import StoreUnavailable
from playhead.store.file.disk import is_same_file, write_whole
from playhead.store.file.finder import KeyBook
from playhead.store.file.findings import Finding
from playhead.store.file.lines import begins_like_a_line
from playhead.store.file.place import Place, damaged
from playhead.store.file.recording import Recording
from playhead.store.file.redo import finish
from playhead.store.file.snapshot import Snapshot
from playhead.store.file.tail import Tail, read_tail

_MOST_MENDS = 4
_LOOKED_AT = 64


class HeldTape:
    """Appends to one file, mends its end where a crash left it torn, and finishes what others began, all inside `with held:`.

    That excludes all other writers. What is remembered of the file is compared with it each time. Raises OSError as the system does.
    """

    def __init__(self, place: Place, tape: str) -> None:
        place.make()
        self.place = place
        self.tape = tape
        self.stem = place.stem(tape)
        self.path = place.path(self.stem)
        self._lock = place.lock(self.stem)
        self._redo = place.redo(self.stem)
        self._fd = -1
        self._opened: os.stat_result | None = None
        self._is_named = False
        self._tail: Tail | None = None
        self.keys = KeyBook(place, self.stem)

    def __enter__(self) -> HeldTape:
        self._take_lock()
        try:
            if self.place.disk.exists(self._redo):
                finish(self.place, self.stem)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.__exit__(kind, error, trace)

    def look(self) -> Tail:
        """Return where the file ends, after mending it where it is torn. Raises StoreDamaged where it is not as it was written."""
        state = self.place.disk.state(self.path)
        if state is None or not is_same_file(state, self._opened):
            self.let_go()
            if state is None:
                return Tail()
            self._open()
        if self._tail is not None and state.st_size < self._tail.size:
            self.keys = KeyBook(self.place, self.stem)
        if self._tail is None or self._tail.size != state.st_size:
            self._tail = None
            self._tail = self._mended()
        return self._tail

    def recording(self) -> Recording:
        """Return the entries that stood in the file at the last look."""
        tail = self._tail or Tail()
        return Recording(Snapshot(disk=self.place.disk, fd=self._fd, path=self.path, size=tail.size), tail, codec=self.place.codec)

    def append(self, content: bytes, tail: Tail) -> None:
        """Write lines behind the last one, as safely as the place asks for; `tail` is where the file ends then.

        Where this fails the file is as it was, or the store's health is in doubt.
        """
        end = tail.end - len(content)
        if self._fd < 0:
            self._open()
        self._tail = None
        try:
            write_whole(self.place.disk, self._fd, content, end)
        except OSError:
            self._undo(end)
            raise
        if self.place.flushes:
            self._flush(content, end)
        self._tail = tail

    def let_go(self) -> None:
        """Close the file and forget what is known of it."""
        if self._fd >= 0:
            self.place.disk.close(self._fd)
        self._fd, self._opened, self._is_named, self._tail = -1, None, False, None
        self.keys = KeyBook(self.place, self.stem)

    def close(self) -> None:
        """Close the file and the lock."""
        self.let_go()
        self._lock.close()

    def _take_lock(self) -> None:
        """Take the lock; where the directory was removed meanwhile, in a new one."""
        try:
            self._lock.__enter__()
        except StoreUnavailable as exc:
            if not isinstance(exc.__cause__, FileNotFoundError):
                raise
            self.place.make()
            self._lock.__enter__()

    def _open(self) -> None:
        self._fd = self.place.disk.open_to_write(self.path)
        self._opened = self.place.disk.state_of(self._fd)
        self._tail = None

    def _mended(self) -> Tail:
        """Return where the file ends once what was never acknowledged is cut off and what lacks only its newline has it."""
        disk, tail = self.place.disk, None
        for _ in range(_MOST_MENDS):
            file = Snapshot(disk=disk, fd=self._fd, path=self.path, size=disk.state_of(self._fd).st_size)
            tail = read_tail(file)
            for finding in tail.part.findings if tail.part else ():
                self.place.findings.report(finding)
            if tail.newline is None and tail.end == tail.size:
                return tail
            mended = self._mend(file, tail)
            if self.place.flushes:
                disk.flush(self._fd)
            self.place.findings.report(mended)
        raise damaged(self.path, tail.end if tail else 0, "its end is torn and cannot be mended")

    def _mend(self, file: Snapshot, tail: Tail) -> Finding:
        """Add the newline that a whole line lacks, or cut off what is unfinished, and say so."""
        if tail.newline is not None:
            write_whole(self.place.disk, self._fd, b"\n", tail.newline)
            return Finding(path=self.path, what="a whole line lacked its newline, which was added", offset=tail.newline, size=0)
        if not begins_like_a_line(file.read(tail.end, min(tail.end + _LOOKED_AT, tail.size))):
            raise damaged(self.path, tail.end, "what stands behind the last line is no unfinished line")
        self.place.disk.cut(self._fd, tail.end)
        return Finding(path=self.path, what="an unfinished append, never acknowledged, was cut off", offset=tail.end, size=tail.size - tail.end)

    def _undo(self, end: int) -> None:
        """Cut off what was written in part, so that the file is as it was."""
        try:
            self.place.disk.cut(self._fd, end)
            if self.place.flushes:
                self.place.disk.flush(self._fd)
        except OSError as exc:
            self.place.health.doubt = f"A failed append to '{self.path}' could not be undone ({exc})"

    def _flush(self, content: bytes, end: int) -> None:
        """Flush what was written and, the first time, the file's name: who made the file may have died before that was safe.

        After a failure the system takes what it could not write for written; it is written again, so that the next flush that
        succeeds, whoever asks for it, tells the truth.
        """
        try:
            self.place.disk.flush(self._fd)
            if not self._is_named:
                self.place.disk.flush_directory(self.place.directory)
                self._is_named = True
        except OSError as exc:
            self.place.health.doubt = f"An append to '{self.path}' may not have reached the disk ({exc})"
            with suppress(OSError):
                write_whole(self.place.disk, self._fd, content, end)
            raise
