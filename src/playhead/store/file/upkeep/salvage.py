"""Keeping what can be read of a damaged file: every good line stays, and a mark stands where one was lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from playhead import clock
from playhead.entry import codec
from playhead.entry.entry import EVENT, format_date
from playhead.errors import FileMissing, InvalidInput
from playhead.store.change import OPEN
from playhead.store.condition.failures import typed
from playhead.store.condition.health import Health
from playhead.store.condition.loss import LOST, Loss, SalvageReport
from playhead.store.file.archive import ArchivedDisk
from playhead.store.file.disk import Disk
from playhead.store.file.family.archiving import mend_front
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.redo import change, discard_drafts, write_draft
from playhead.store.file.findings import Findings
from playhead.store.file.members import FAMILY, HIDDEN, generation_kept, is_member, member_in
from playhead.store.file.names import SUFFIX
from playhead.store.file.place import Place
from playhead.store.file.record.header import dump_end
from playhead.store.file.record.lines import BadLine, Body, Line, dump, is_anchor, is_checked, load, marks, moved_in
from playhead.store.file.record.older import read_older
from playhead.store.file.record.snapshot import Snapshot
from playhead.store.file.record.tail import is_end, is_finished
from playhead.store.file.upkeep.beginning import Beginning, beginning_of
from playhead.store.file.upkeep.parts import Parts
from playhead.store.protocol import EMPTY, Head

_TIMEOUT = 30.0
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A good line and its place."""

    offset: int
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What the good lines of a file have in common, where the last of them ends, and what comes before its entries.

    `least` is the id up to which branches show the file, `outcome` how its branch ended, None where the file is no closed branch's.
    """

    older: int
    generation: int
    stop: int
    beginning: Beginning = field(default_factory=Beginning)
    least: int = 0
    outcome: str | None = None


def salvage(path: str | os.PathLike[str]) -> SalvageReport:
    """Read a tape's file from end to end and, where it is damaged, put one in its place that holds every good line.

    A lost entry whose number is known is replaced by an event called `salvage.lost`, which views leave out, so all others keep
    their ids. The damaged file stays beside the new one, named `...jsonl.damaged`. Nobody writes meanwhile. Blocks.
    Raises FileMissing, InvalidInput where the path is that of no tape, StoreBusy, StoreUnavailable.
    """
    file = Path(path).absolute()
    if file.suffix != SUFFIX:
        raise InvalidInput(f"A tape's file ends in {SUFFIX}, unlike '{file}'.")
    if not file.exists():
        raise FileMissing(str(file))
    directory, root, stem = _placed(file)
    place = place_to_salvage(str(directory))
    try:
        with closing(Guard(place, root)) as guard, guard:
            return salvage_file(place, root, stem)
    except OSError as exc:
        raise typed(exc, path=str(file)) from exc


def place_to_salvage(directory: str) -> Place:
    """Return a directory of tapes as it is salvaged: with all that is written flushed."""
    return Place(directory=directory, durability="disk", timeout=_TIMEOUT, disk=ArchivedDisk(Disk(), directory, lenient=True), findings=Findings(None), health=Health(), codec=None)


def salvage_file(place: Place, root: str, stem: str, *, tape: str | None = None, least: Head = EMPTY) -> SalvageReport:
    """Salvage one file of a family, which the stem of its tape names; runs under the guard of that family.

    `tape` is the name of the tape that the file is of; `least` where others say that the file ended at least.
    """
    disk, path = place.disk, place.path(stem)
    mend_front(place, root, stem)
    fd = disk.open_to_read(path)
    try:
        file = Snapshot(disk=disk, fd=fd, path=path, size=disk.state_of(fd).st_size)
        frame = _frame_of(file, place, root, stem, least=least)
        kept, lost, parts = 0, [], Parts(place)
        for found in _sifted(file, frame, parts):
            if isinstance(found, Loss):
                lost.append(replace(found, tape=tape))
            else:
                kept += found.line.id > 0
        if not lost:
            return SalvageReport(path=Path(path), kept=kept, lost=(), original=None)
        discard_drafts(place, root)
        name = write_draft(place, root, _mended(file, frame, parts))
    finally:
        disk.close(fd)
    original = _set_aside(path)
    change(place, root, [("replace", name, stem), ("forget", stem)])
    return SalvageReport(path=Path(path), kept=kept, lost=tuple(lost), original=original)


def _placed(file: Path) -> tuple[Path, str, str]:
    """Return the directory of a store in which a file is, the stem of its family and its own."""
    above, name = file.parent, file.name.removesuffix(SUFFIX)
    if not above.name.endswith(FAMILY):
        return above, name, name
    is_hidden = above.parent.name == HIDDEN
    directory = above.parent.parent if is_hidden else above.parent
    return directory, above.name.removesuffix(FAMILY), f"{f'{HIDDEN}/' if is_hidden else ''}{above.name}/{name}"


def _frame_of(file: Snapshot, place: Place, root: str, stem: str, *, least: Head) -> _Frame:
    """Return what the lines of a file have in common; all of it is older where no line was written with a checksum."""
    whole = file.behind_last_newline()
    first = next((line for _, raw in file.forwards(0, whole) if (line := _good(raw)) is not None), None)
    loose, end = _loose(file, whole)
    first = first or loose
    is_ours = is_member(stem) or any(is_checked(raw) for _, raw in file.forwards(0, whole)) or (least > EMPTY and not read_older(file, whole).ids)
    if first is None and not is_ours:
        return _Frame(older=file.size, generation=0, stop=file.size, least=least.id if not least.generation else 0)
    name = f"{stem.rpartition('/')[2]}{SUFFIX}"
    member, kept = (member_in(name), generation_kept(name)) if is_member(stem) else (None, None)
    older, generation = (0, kept[1] if kept else least.generation) if first is None else (first.older, first.generation)
    needed = least.id if least.generation == generation else 0
    outcome = member.state if member is not None and member.sidecar is None and member.state != OPEN else None
    beginning = beginning_of(file, place, root, stem, generation=generation, older=older)
    if first is None:
        return _Frame(older=0, generation=generation, stop=0, beginning=beginning, least=needed, outcome=outcome)
    if loose is None or not is_finished(loose):
        ends = (offset + len(raw) + 1 for offset, raw in file.backwards(whole) if (line := _good(raw)) is not None and is_finished(line))
        end = next(ends, older)
    return _Frame(older=older, generation=generation, stop=end, beginning=beginning, least=needed, outcome=outcome)


def _loose(file: Snapshot, whole: int) -> tuple[Line | None, int]:
    """Return the last line and where it ends, where it lacks its newline or has another byte in place of that."""
    rest = file.read(whole, file.size)
    for end, raw in ((file.size, rest), (file.size - 1, rest[:-1])):
        line = _good(raw)
        if line is not None:
            return line, end
    return None, whole


def _sifted(file: Snapshot, frame: _Frame, parts: Parts) -> Iterator[_Kept | Loss]:
    """Yield the good lines behind the older part whose ids rise, and what is lost between them and behind the last."""
    expected, bad, why = (_last_older(file, frame) or frame.beginning.shared) + 1, None, ""
    has_ended = False
    if frame.beginning.header is not None and not _begins_badly(file):
        yield Loss(offset=0, size=0, why="the first line, which says where it goes on from, is missing")
    for offset, raw in _lines(file, frame):
        line, reason = _sound(raw, offset, frame, expected)
        if line is None:
            bad, why = (offset, reason) if bad is None else (bad, why)
            continue
        if bad is not None or line.id > expected:
            start = offset if bad is None else bad
            ids = (expected, line.id - 1) if line.id > expected else None
            yield Loss(offset=start, size=offset - start, why=why or "lines are missing", ids=ids)
        bad, why, expected = None, "", line.id + 1 if line.id else expected
        has_ended |= is_end(line, offset)
        if why := parts.why_lost(line) or "":
            yield Loss(offset=offset, size=len(raw) + 1, why=why, ids=(line.id, line.id))
            why = ""
            continue
        yield _Kept(offset=offset, line=line)
    start = frame.stop if bad is None else bad
    needed = (expected, frame.least) if frame.least >= expected else None
    if start < file.size or needed or (frame.outcome is not None and not has_ended):
        yield Loss(offset=start, size=file.size - start, why=why or "no good line stands behind it", ids=needed)


def _begins_badly(file: Snapshot) -> bool:
    """Return whether there is a first line that is lost, which shows by itself."""
    return next((_good(raw) is None for _, raw in file.forwards(0, file.size)), True)


def _sound(raw: bytes, offset: int, frame: _Frame, expected: int) -> tuple[Line | None, str]:
    """Return a line that can be kept, or why it cannot."""
    try:
        line = load(raw)
    except BadLine as exc:
        return None, str(exc)
    if (line.generation, line.older) != (frame.generation, frame.older):
        return None, "a line of another file stands there"
    if line.id < expected and line.id:
        return None, f"entry {line.id} stands behind entry {expected - 1}"
    if is_end(line, offset) and frame.outcome is None:
        return None, "a line that is no entry stands there"
    return line, ""


def _mended(file: Snapshot, frame: _Frame, parts: Parts) -> Iterator[bytes]:
    """Yield what the new file holds: the older part as it is, then every good line, then marks for those that were lost, each in its place."""
    for start in range(0, frame.older, _BLOCK):
        yield file.read(start, min(start + _BLOCK, frame.older))
    offset, anchor = frame.older, None
    if frame.beginning.header is not None:
        yield (first := frame.beginning.header.dump())
        offset += len(first)
    for id, body, before in _bodies(file, frame, parts):
        anchor = before if anchor is None and before is not None and before < frame.older else anchor
        shared = frame.beginning.shared if not id else 0
        line = dump(body, id=id, marks=marks(anchor=anchor if id else None, generation=frame.generation, older=frame.older, shared=shared, mark=body.mark))
        anchor = offset if is_anchor(body.kind) and id else anchor
        offset += len(line)
        yield line
    if frame.outcome is not None:
        yield dump_end(state=frame.outcome, generation=frame.generation, date=format_date(clock.now()))


def _bodies(file: Snapshot, frame: _Frame, parts: Parts) -> Iterator[tuple[int, Body, int | None]]:
    """Yield the number of each line, what it says, and where it said that the anchor before it stands; the end of a branch is left out."""
    date, mark = format_date(clock.now()), None
    for found in _sifted(file, frame, parts):
        if isinstance(found, Loss):
            for id in range(found.ids[0], found.ids[1] + 1) if found.ids else ():
                yield id, _mark_of(found, date)._replace(mark=mark), None
        elif not is_end(found.line, found.offset):
            line = found.line
            date, mark = line.date, line.mark if line.id else mark
            yield line.id, Body(kind=line.kind, payload=bytes(line.payload), meta=bytes(line.meta), date=date, mark=line.mark, moved=moved_in(line)), line.anchor


def _mark_of(loss: Loss, date: str) -> Body:
    said = {"name": LOST, "data": {"offset": loss.offset, "bytes": loss.size, "why": loss.why}}
    return Body(kind=EVENT, payload=codec.encode(said), meta=codec.encode({"uid": clock.new_uid(), "context": False}), date=date)


def _lines(file: Snapshot, frame: _Frame) -> Iterator[tuple[int, bytes]]:
    """Yield the lines behind the older part, the last one also without its newline."""
    end = frame.older
    for offset, raw in file.forwards(frame.older, frame.stop):
        yield offset, raw
        end = offset + len(raw) + 1
    if end < frame.stop:
        yield end, file.read(end, frame.stop)


def _last_older(file: Snapshot, frame: _Frame) -> int:
    return read_older(replace(file, size=frame.older), frame.older).last if frame.older else 0


def _good(raw: bytes) -> Line | None:
    try:
        return load(raw)
    except BadLine:
        return None


def _set_aside(path: str) -> Path:
    """Give a file a second name, the first that is free, under which it stays."""
    number = 1
    while True:
        aside = f"{path}.damaged" if number == 1 else f"{path}.damaged-{number}"
        try:
            os.link(path, aside)
        except FileExistsError:
            number += 1
        except OSError:
            shutil.copy2(path, aside)
            return Path(aside)
        else:
            return Path(aside)
