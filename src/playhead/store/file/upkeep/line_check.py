"""Proving one file of a file store: every line against its checksum, and what lines say of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from playhead.entry import codec
from playhead.errors import StoreDamaged
from playhead.store.condition.flaws import Flaws, Severity
from playhead.store.file.record.header import Header, header_in
from playhead.store.file.record.lines import BadLine, Line, begins_like_a_line, is_anchor, load
from playhead.store.file.record.older import read_older
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import Tail, is_end, read_tail
from playhead.store.protocol import EMPTY, Head

_LOOKED_AT = 64


@dataclass(slots=True, kw_only=True)
class FileFacts:
    """What a file was found to hold: its header, its generation, the ids it goes from and to, how its branch ended, and the highest mark."""

    header: Header | None = None
    generation: int = 0
    shared: int = 0
    last: int = 0
    entries: int = 0
    outcome: str | None = None
    mark: Head = EMPTY
    is_damaged: bool = False
    tail: Tail = field(default_factory=Tail)

    @property
    def head(self) -> Head:
        """Where it ends."""
        return Head(self.generation, self.last)


class _Frame(NamedTuple):
    """What all lines of a file have in common, as far as they are good."""

    generation: int
    older: int


class LineCheck:
    """Proves the lines of one file; `tape` is whose it is, `is_marked` says whether that is a sidecar, `check_blobs` looks after the blobs of an entry."""

    def __init__(self, file: Snapshot, *, tape: str, is_marked: bool, flaws: Flaws, check_blobs: Callable[[Line], None]) -> None:
        self.facts = FileFacts()
        self._file = file
        self._tape = tape
        self._is_marked = is_marked
        self._flaws = flaws
        self._check_blobs = check_blobs
        self._batch: tuple[int, int] | None = None
        self._anchor: int | None = None
        self._is_anchor_known = True
        self._expected: int | None = None

    def run(self) -> FileFacts:
        """Look at all of it and return what it holds."""
        try:
            tail: Tail | None = read_tail(self._file)
        except StoreDamaged:  # the lines show where
            tail = None
        facts = self.facts
        frame = _Frame(0, 0) if self._file.size == 0 else self._frame(tail)
        facts.generation = frame.generation
        self._check_older(frame)
        stop = self._file.size if tail is None else tail.end
        try:
            for offset, raw in self._file.forwards(frame.older, stop):
                self._check(offset, raw, frame)
            self._close_batch(stop)
        except StoreDamaged as damage:  # an archived part of it, without which nobody knows where the next line begins
            self.facts.is_damaged = True
            self._flaws.add(damage.message, where=self._file.path, severity="damage", tape=self._tape)
        if tail is None:
            facts.is_damaged = True
        else:
            facts.tail = tail
            self._check_end(tail)
        return facts

    def _frame(self, tail: Tail | None) -> _Frame:
        """Return what the tail says, else the first good line; a file in which nothing is good has no lines of ours."""
        if tail is not None and (tail.begun or tail.older):
            return _Frame(tail.generation, tail.older)
        first = next((line for _, raw in self._file.forwards(0, self._file.size) if (line := _good(raw)) is not None), None)
        return _Frame(0, 0) if first is None else _Frame(first.generation, first.older)

    def _check_older(self, frame: _Frame) -> None:
        """Note what is passed over in the part that another program wrote."""
        if not frame.older:
            return
        try:
            part = read_older(Snapshot(disk=self._file.disk, fd=self._file.fd, path=self._file.path, size=frame.older), frame.older)
        except StoreDamaged as damage:
            self._note(damage.message, 0, "damage")
            return
        for finding in part.findings:
            self._flaws.add(finding.what, where=f"{finding.path}, line {finding.line}" if finding.line else finding.path, severity="remnant", tape=self._tape)
        self.facts.entries += len(part.ids)
        self.facts.last = part.last
        self._expected = part.last + 1
        self._anchor = part.offsets[part.anchors[-1]] if part.anchors else None

    def _check(self, offset: int, raw: bytes, frame: _Frame) -> None:
        try:
            line = load(raw)
        except BadLine as exc:
            return self._damage(offset, str(exc))
        if (line.generation, line.older) != frame:
            return self._damage(offset, "a line of another file stands there")
        if not line.id:
            return self._check_header(offset, line)
        if self._expected is None:
            self._expected = 1
        if line.id < self._expected:
            return self._damage(offset, f"entry {line.id} stands behind entry {self._expected - 1}")
        if line.id > self._expected:
            self._flaws.lost("missing, though others stand behind", tape=self._tape, first=self._expected, last=line.id - 1)
            self.facts.is_damaged = True
        self._check_batch(offset, line)
        self._check_anchor(offset, line)
        self._check_mark(line)
        self._check_blobs(line)
        self._expected = line.id + 1
        self.facts.last = line.id
        self.facts.entries += 1
        return None

    def _check_header(self, offset: int, line: Line) -> None:
        """Prove a line that is no entry: the first one, or that of a branch's end."""
        if is_end(line, offset):
            self.facts.outcome = _outcome(line)
            if self.facts.outcome is None:
                self._note("a line that is no entry does not say how the branch ended", offset)
            return
        header = self.facts.header = header_in(line)
        if header is None:
            self._note("the first line cannot be read as a header", offset, "damage")
            return
        if header.shared != line.shared:
            self._note(f"the first line says that {header.shared} entries are shown before its own, its mark says {line.shared}", offset)
        self.facts.shared = self.facts.last = header.shared
        self._expected = header.shared + 1

    def _check_batch(self, offset: int, line: Line) -> None:
        place, length = line.batch or (1, 1)
        before = (0, length) if self._batch is None else self._batch
        if (place, length) != (before[0] + 1, before[1]):
            self._note("lines of a batch are missing before it", offset, "damage")
        self._batch = (place, length) if place < length else None

    def _close_batch(self, stop: int) -> None:
        if self._batch is not None:
            self._note("lines of a batch are missing", stop, "damage")

    def _check_anchor(self, offset: int, line: Line) -> None:
        if self._is_anchor_known and line.anchor != self._anchor:
            self._note(f"entry {line.id} says that the newest anchor before it stands at byte {line.anchor}, but it stands at {self._anchor}", offset)
        self._anchor = offset if is_anchor(line.kind) else line.anchor
        self._is_anchor_known = True

    def _check_mark(self, line: Line) -> None:
        if not self._is_marked:
            if line.mark is not None:
                self._flaws.entry(f"it has the mark {line.mark}, which only entries of sidecars have", tape=self._tape, id=line.id, severity="fault")
            return
        mark = EMPTY if line.mark is None else Head(*line.mark)
        if mark < self.facts.mark:
            self._flaws.entry("its mark lies before that of the entry in front of it", tape=self._tape, id=line.id, severity="fault")
        self.facts.mark = max(mark, self.facts.mark)

    def _check_end(self, tail: Tail) -> None:
        """Note what stands behind the last line that counts; the next who writes mends it, or refuses to."""
        behind = self._file.size - tail.end
        if not behind:
            return
        if tail.newline is not None:
            self._note("a whole line lacks its newline, which the next who writes adds", tail.end, "remnant")
            self.facts.entries += tail.part is None
            self.facts.last += tail.part is None
        elif ends := [found for found in self._behind(tail) if is_end(found[1], found[0])]:
            self._check_header(*ends[-1])
        elif begins_like_a_line(self._file.read(tail.end, min(tail.end + _LOOKED_AT, self._file.size))):
            self._note(f"an unfinished append of {behind:,} bytes, never acknowledged, which the next who writes cuts off", tail.end, "remnant")
        else:
            self._note("what stands behind the last line is no unfinished line", tail.end, "damage")

    def _behind(self, tail: Tail) -> Iterator[tuple[int, Line]]:
        for offset, raw in self._file.forwards(tail.end, self._file.size):
            if (line := _good(raw)) is not None:
                yield offset, line

    def _damage(self, offset: int, why: str) -> None:
        self._is_anchor_known = False
        self._batch = None
        self._note(why, offset, "damage")

    def _note(self, what: str, offset: int, severity: Severity = "fault") -> None:
        if severity == "damage":
            self.facts.is_damaged = True
        self._flaws.add(what, where=f"{self._file.path}, byte {offset:,}", severity=severity, tape=self._tape)


def _outcome(line: Line) -> str | None:
    try:
        state = codec.decode(bytes(line.payload))["state"]
    except (ValueError, KeyError, TypeError):
        return None
    return state if isinstance(state, str) else None


def _good(raw: bytes) -> Line | None:
    try:
        return load(raw)
    except BadLine:
        return None
