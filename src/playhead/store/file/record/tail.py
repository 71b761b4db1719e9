"""Where a tape's file ends: the last line that counts, and what stands behind it that does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from playhead.store.file.place import damaged
from playhead.store.file.record.lines import CHECKED_BY, BadLine, Line, is_anchor, is_checked, load
from playhead.store.file.record.older import OlderPart, read_older
from playhead.store.file.record.sectors import SECTOR
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.protocol import Head

_NULS = re.compile(rb"\0+")
_LOOKED_THROUGH = 1 << 20


class Tail(NamedTuple):
    """Where the next line goes (`end`), what the last one says, and how long the file is.

    `anchor` is the place of the newest anchor; `older` how many bytes at the front another program wrote, `part` those lines
    where nothing else is in the file; `newline` where a newline is all that a whole line lacks. What else stands behind `end`
    was never acknowledged.
    """

    end: int = 0
    id: int = 0
    generation: int = 0
    anchor: int | None = None
    older: int = 0
    part: OlderPart | None = None
    newline: int | None = None
    size: int = 0

    @property
    def head(self) -> Head:
        """Where the tape ends."""
        return Head(self.generation, self.id)

    @property
    def begun(self) -> bool:
        """Whether anything was ever written that counts."""
        return self.end > 0


def read_tail(file: Snapshot) -> Tail:
    """Find where a file ends, from its end backwards. Raises StoreDamaged where its last line is damaged.

    Not counted: a line without an end, a batch of which a line is missing, and holes, which a loss of power leaves where a file
    was made longer before its content was there.
    """
    whole = file.behind_last_newline()
    end, batch = whole, None
    for offset, raw in file.backwards(whole):
        if is_hole(raw, offset):
            end = offset
            continue
        if not is_checked(raw):
            break
        line = loaded(file, offset, raw)
        if is_end(line, offset):
            end = offset
            continue
        if batch is None or line.reach < batch.first:
            if batch is not None and line.reach != batch.first - 1:
                raise damaged(file.path, offset, f"entry {batch.first - 1} should stand there, not {line.reach}")
            if not _lacks_lines(file, line, offset):
                return tail_behind(line, offset, end=end)._replace(newline=_newline(file, whole), size=file.size)
            batch = _Batch.of(line)
        elif _Batch.of(line) != batch:
            raise damaged(file.path, offset, "a line that is not of its batch stands there")
        end = offset
    return _tail_without_lines(file, whole, batch, end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """The ids of a batch, and how many bytes at the front of its file another program wrote."""

    first: int
    length: int
    older: int

    @classmethod
    def of(cls, line: Line) -> _Batch:
        place, length = line.batch or (1, 1)
        return cls(first=line.id - place + 1, length=length, older=line.older)


def loaded(file: Snapshot, offset: int, raw: bytes) -> Line:
    """Return the line that bytes of a file are. Raises StoreDamaged, with the place, where they are none."""
    try:
        return load(raw)
    except BadLine as exc:
        raise damaged(file.path, offset, str(exc)) from exc


def is_hole(raw: bytes, offset: int) -> bool:
    """Return whether sectors of a line never reached the disk: its NUL bytes, which no line has, fill them up to their edges or its own."""
    runs = list(_NULS.finditer(raw)) if b"\0" in raw else []
    return bool(runs) and all(_is_edge(run.start(), raw, offset) and _is_edge(run.end(), raw, offset) for run in runs)


def _is_edge(place: int, raw: bytes, offset: int) -> bool:
    return place in (0, len(raw)) or (offset + place) % SECTOR == 0


def is_finished(line: Line) -> bool:
    """Return whether nothing of the line's batch is missing behind it."""
    return line.batch is None or line.batch[0] == line.batch[1]


def is_end(line: Line, offset: int) -> bool:
    """Return whether a line says that a branch ended there."""
    return not line.id and offset > 0


def tail_behind(line: Line, offset: int, *, end: int) -> Tail:
    """Return the tail of a file that ends with a line."""
    anchor = offset if is_anchor(line.kind) else line.anchor
    return Tail(end=end, id=line.reach, generation=line.generation, anchor=anchor, older=line.older)


def _lacks_lines(file: Snapshot, line: Line, offset: int) -> bool:
    """Return whether a line's batch goes on behind it, or has a hole before it; of a very long batch only the end is looked through.

    What is archived of it was whole then, so the chunks need not be read, and appends go on where one of them is damaged.
    """
    if not is_finished(line):
        return True
    left, archived = (line.batch or (1, 1))[0] - 1, file.archived
    for place, raw in file.backwards(offset, start=archived) if left and offset > archived else ():
        if is_hole(raw, place):
            return True
        left -= 1
        if not left or offset - place > _LOOKED_THROUGH:
            return False
    return False


def _tail_without_lines(file: Snapshot, whole: int, batch: _Batch | None, *, end: int) -> Tail:
    """Return the tail of a file in which no line with a checksum counts."""
    newline = _newline(file, whole)
    if batch is not None and (end != batch.older or batch.first > 1 and not end):
        raise damaged(file.path, end, f"entry {batch.first - 1} is missing before it")
    if batch is None and newline is None:
        return _older_tail(file, whole)
    front = _older_tail(replace(file, size=end), end) if batch is not None and end else Tail()
    return front._replace(newline=newline, size=file.size)


def _newline(file: Snapshot, whole: int) -> int | None:
    """Return where a newline is all that the last line lacks, None where more is missing. Raises StoreDamaged where that was no line of ours."""
    if whole == file.size:
        return None
    last = file.read(max(whole, file.size - CHECKED_BY - 1), file.size)
    for end, seen in ((file.size, last), (file.size - 1, last[:-1])):
        if is_checked(seen):
            loaded(file, whole, file.read(whole, end))
            return end
    return None


def _older_tail(file: Snapshot, whole: int) -> Tail:
    """Return the tail of a file in which no line has a checksum."""
    part = read_older(file, whole)
    return tail_of_older(part)._replace(newline=file.size if part.stop > whole else None, size=file.size)


def tail_of_older(part: OlderPart) -> Tail:
    """Return the tail of a file that ends with lines of another program."""
    anchor = part.offsets[part.anchors[-1]] if part.anchors else None
    return Tail(end=part.stop, id=part.last, anchor=anchor, older=part.stop, part=part, size=part.stop)
