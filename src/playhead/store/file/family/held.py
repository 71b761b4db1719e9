"""A tape's file held open by the writer, and what is known of its end."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

from playhead.entry.entry import TapeEntry
from playhead.store.family import Kin
from playhead.store.file.disk import is_same_file, write_whole
from playhead.store.file.family.elders import Elders
from playhead.store.file.family.family import Family, headless
from playhead.store.file.findings import Finding
from playhead.store.file.index.key_book import KeyBook
from playhead.store.file.members import branch_stem, is_member, member_stem
from playhead.store.file.names import is_cut
from playhead.store.file.place import damaged
from playhead.store.file.record.draft import Draft
from playhead.store.file.record.header import Header
from playhead.store.file.record.lines import begins_like_a_line
from playhead.store.file.record.recording import Recording
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.stretch import header_of
from playhead.store.file.record.tail import Tail, read_tail

_MOST_MENDS = 4
_LOOKED_AT = 64


class HeldTape:
    """Appends to one file and mends its end where a crash left it torn, all under the guard of its family.

    What is remembered of the file is compared with it each time. `header` is the first line of the file, or what that will say.
    Raises OSError as the system does.
    """

    def __init__(self, family: Family, kin: Kin) -> None:
        self.place = family.place
        self.kin = kin
        self.stem = member_stem(family.stem, kin)
        self.path = self.place.path(self.stem)
        self.header = Header(kin=kin, date="")
        self._family = family
        self._fd = -1
        self._opened: os.stat_result | None = None
        self._is_named = False
        self._tail: Tail | None = None
        self._keys = KeyBook(self.place, self.stem)
        self._elders: Elders | None = None

    def look(self) -> Tail:
        """Return where the tape ends, after mending its file where that is torn.

        Raises StoreDamaged where it is not as it was written, BranchNotFound, BranchClosed.
        """
        state = self.place.disk.state(self.path)
        if state is None or not is_same_file(state, self._opened):
            self.let_go()
            if state is None:
                return self._begun(Tail())
            self._open()
        if self._tail is not None and state.st_size < self._tail.size:
            self._check_not_emptied(state)
            self._forget_keys()
        if self._tail is None or self._tail.size != state.st_size:
            self._tail = None
            self._tail = self._begun(self._mended())
        return self._tail

    @property
    def needs_header(self) -> bool:
        """Whether the first line of the file has to be a header."""
        return is_cut(self.stem) or self.header.origin is not None

    def standing(self, key: str) -> TapeEntry | None:
        """Return the entry that has an idempotency key, of those that the tape showed at the last look."""
        found = None if self._keys.is_new(key, end=(self._tail or Tail()).end) else self._keys.standing(self.recording(), key)
        if found is not None or not self.header.shared:
            return found
        if self._elders is None:
            self._elders = Elders(self._family, self.header)
        return self._elders.standing(key)

    def recording(self) -> Recording:
        """Return the entries that stood in the file at the last look."""
        tail = self._tail or Tail()
        return Recording(Snapshot(disk=self.place.disk, fd=self._fd, path=self.path, size=tail.size), tail, place=self.place, shared=self.header.shared)

    def append(self, draft: Draft) -> None:
        """Write the lines of a draft behind the last one, as safely as the place asks for.

        Where this fails the file is as it was, or the store's health is in doubt.
        """
        lines, tail = draft.lines()
        content = b"".join(lines)
        end = tail.end - len(content)
        if self._fd < 0:
            self._open()
        self._tail = None
        if self.place.flushes and not self._is_named and is_member(self.stem):
            self._flush_branch()
        try:
            write_whole(self.place.disk, self._fd, content, end)
        except OSError:
            self._undo(end)
            raise
        if self.place.flushes:
            self._flush(content, end)
        self._tail = tail
        self._keys.grown(draft.places(lines), start=end, stop=tail.end)

    def settle(self) -> None:
        """Flush what a change by way of a redo file rests on: what stands in the file, and what makes this a branch."""
        if self._fd < 0 or (self.place.flushes and (self._is_named or self.kin.branch is None)):
            return
        try:
            self.place.disk.flush(self._fd)
        except OSError as exc:
            self.place.health.doubt = f"What stands in '{self.path}' may not have reached the disk ({exc})"
            raise
        if is_member(self.stem):
            self._flush_branch()

    def let_go(self) -> None:
        """Close the file and forget what is known of it."""
        if self._fd >= 0:
            self.place.disk.close(self._fd)
        self._fd, self._opened, self._is_named, self._tail = -1, None, False, None
        self._forget_keys()

    def close(self) -> None:
        """Close the file."""
        self.let_go()

    def _check_not_emptied(self, state: os.stat_result) -> None:
        """Raise StoreDamaged where nothing is left of the file; a shorter one may be an older copy that was put in its place."""
        if not state.st_size:
            raise damaged(self.path, 0, "it was emptied while it was open, so its entries are gone")

    def _forget_keys(self) -> None:
        self._keys, self._elders = KeyBook(self.place, self.stem), None

    def _begun(self, tail: Tail) -> Tail:
        """Return where the tape ends, given the end of its file: one that is not begun shows what it goes on from."""
        self.header = self._first_line(tail)
        return tail if tail.begun else tail._replace(id=self.header.shared, generation=self.header.generation)

    def _first_line(self, tail: Tail) -> Header:
        if self.kin.is_root:
            return Header(kin=self.kin, date="", generation=tail.generation)
        if self.kin.branch is not None and (self.kin.sidecar is None and not tail.begun):
            raise self._family.absence(self.kin)
        found = header_of(Snapshot(disk=self.place.disk, fd=self._fd, path=self.path, size=tail.end)) if tail.begun else None
        if found is None and self.kin.branch is not None and self.kin.sidecar is None:
            raise headless(self.path)
        if found is not None:
            return replace(found, kin=self.kin)
        return replace(Header(kin=self.kin, date=""), generation=tail.generation) if tail.begun else self._family.beginning(self.kin)

    def _open(self) -> None:
        if is_member(self.stem):
            self.place.make_family(self._family.stem)
            with self._family.roster.changing([os.path.basename(self.path)]):
                self._fd = self.place.disk.open_to_write(self.path)
        else:
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

    def _flush_branch(self) -> None:
        """Flush what makes this a branch, or the branch that this is a sidecar of, before anything is written that rests on it."""
        disk = self.place.disk
        main = self.path if self.kin.sidecar is None else self.place.path(branch_stem(self._family.stem, str(self.kin.branch)))
        try:
            if self.kin.branch is not None:
                fd = disk.open_to_write(main)
                try:
                    disk.flush(fd)
                finally:
                    disk.close(fd)
            disk.flush_directory(self.place.directory)
        except OSError as exc:
            self.place.health.doubt = f"The branch that '{main}' holds may not have reached the disk ({exc})"
            raise

    def _flush(self, content: bytes, end: int) -> None:
        """Flush what was written and, the first time, the file's name: who made the file may have died before that was safe.

        After a failure the system takes what it could not write for written; it is written again, so that the next flush that
        succeeds, whoever asks for it, tells the truth.
        """
        try:
            self.place.disk.flush(self._fd)
            if not self._is_named:
                self.place.disk.flush_directory(os.path.dirname(self.path))
                self._is_named = True
        except OSError as exc:
            self.place.health.doubt = f"An append to '{self.path}' may not have reached the disk ({exc})"
            with suppress(OSError):
                write_whole(self.place.disk, self._fd, content, end)
            raise
