"""Keeping what can be read of a damaged file: every good line stays, and a mark stands where one was lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from playhead import clock
from playhead.entry import codec
from playhead.entry.entry import EVENT, format_date
from playhead.errors import FileMissing, InvalidInput
from playhead.store.failures import typed
from playhead.store.file.disk import Disk
from playhead.store.file.findings import Findings
from playhead.store.file.lines import BadLine, Body, Line, dump, is_anchor, is_checked, load, marks
from playhead.store.file.names import SUFFIX
from playhead.store.file.older import read_older
from playhead.store.file.place import Health, Place
from playhead.store.file.redo import change, finish, write_draft
from playhead.store.file.snapshot import Snapshot
from playhead.store.file.tail import is_finished

LOST = "salvage.lost"
"""The name of the event that stands for an entry that was lost."""

_TIMEOUT = 30.0
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A part of a file that is no good line: where it begins, how many bytes it has, why, and which entries stood there.

    `ids` are the first and the last of them, None where nothing stands behind the part that would tell.
    """

    offset: int
    size: int
    why: str
    ids: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """What `salvage` did: how many entries were kept, what was lost, and where the damaged file is now, None where nothing was amiss."""

    path: Path
    kept: int
    lost: tuple[Loss, ...]
    original: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A good line and its place."""

    offset: int
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What the good lines of a file have in common, and where the last of them ends."""

    older: int
    generation: int
    stop: int


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
    place = Place(directory=str(file.parent), durability="disk", timeout=_TIMEOUT, disk=Disk(), findings=Findings(None), health=Health(), codec=None)
    stem = file.name.removesuffix(SUFFIX)
    try:
        place.make()
        with closing(place.lock(stem)) as lock, lock:
            if place.disk.exists(place.redo(stem)):
                finish(place, stem)
            return _salvaged(place, stem)
    except OSError as exc:
        raise typed(exc, path=str(file)) from exc


def _salvaged(place: Place, stem: str) -> SalvageReport:
    disk, path = place.disk, place.path(stem)
    fd = disk.open_to_read(path)
    try:
        file = Snapshot(disk=disk, fd=fd, path=path, size=disk.state_of(fd).st_size)
        frame = _frame_of(file)
        kept, lost = 0, []
        for found in _sifted(file, frame):
            if isinstance(found, Loss):
                lost.append(found)
            else:
                kept += found.line.id > 0
        if not lost:
            return SalvageReport(path=Path(path), kept=kept, lost=(), original=None)
        name = write_draft(place, stem, _mended(file, frame))
    finally:
        disk.close(fd)
    original = _set_aside(path)
    change(place, stem, [("replace", name, stem), ("forget", stem)])
    return SalvageReport(path=Path(path), kept=kept, lost=tuple(lost), original=original)


def _frame_of(file: Snapshot) -> _Frame:
    """Return what the lines of a file have in common; all of it is older where no line was written with a checksum."""
    whole = file.behind_last_newline()
    first = next((line for _, raw in file.forwards(0, whole) if (line := _good(raw)) is not None), None)
    loose, end = _loose(file, whole)
    first = first or loose
    if first is None:
        older = 0 if any(is_checked(raw) for _, raw in file.forwards(0, whole)) else file.size
        return _Frame(older=older, generation=0, stop=older)
    if loose is not None and is_finished(loose):
        return _Frame(older=first.older, generation=first.generation, stop=end)
    ends = (offset + len(raw) + 1 for offset, raw in file.backwards(whole) if (line := _good(raw)) is not None and is_finished(line))
    return _Frame(older=first.older, generation=first.generation, stop=next(ends, first.older))


def _loose(file: Snapshot, whole: int) -> tuple[Line | None, int]:
    """Return the last line and where it ends, where it lacks its newline or has another byte in place of that."""
    rest = file.read(whole, file.size)
    for end, raw in ((file.size, rest), (file.size - 1, rest[:-1])):
        line = _good(raw)
        if line is not None:
            return line, end
    return None, whole


def _sifted(file: Snapshot, frame: _Frame) -> Iterator[_Kept | Loss]:
    """Yield the good lines behind the older part whose ids rise, and what is lost between them and behind the last."""
    expected, bad, why = _last_older(file, frame) + 1, None, ""
    for offset, raw in _lines(file, frame):
        line, reason = _sound(raw, offset, frame, expected)
        if line is None:
            bad, why = (offset, reason) if bad is None else (bad, why)
            continue
        if bad is not None or line.id > expected:
            start = offset if bad is None else bad
            ids = (expected, line.id - 1) if line.id > expected else None
            yield Loss(offset=start, size=offset - start, why=why or "lines are missing", ids=ids)
        bad, why, expected = None, "", line.id + 1
        yield _Kept(offset=offset, line=line)
    start = frame.stop if bad is None else bad
    if start < file.size:
        yield Loss(offset=start, size=file.size - start, why=why or "no good line stands behind it")


def _sound(raw: bytes, offset: int, frame: _Frame, expected: int) -> tuple[Line | None, str]:
    """Return a line that can be kept, or why it cannot."""
    try:
        line = load(raw)
    except BadLine as exc:
        return None, str(exc)
    if (line.generation, line.older) != (frame.generation, frame.older):
        return None, "a line of another file stands there"
    if line.id < expected and (line.id or offset):
        return None, f"entry {line.id} stands behind entry {expected - 1}"
    return line, ""


def _mended(file: Snapshot, frame: _Frame) -> Iterator[bytes]:
    """Yield what the new file holds: the older part as it is, then every good line, then marks for those that were lost, each in its place."""
    for start in range(0, frame.older, _BLOCK):
        yield file.read(start, min(start + _BLOCK, frame.older))
    offset, anchor = frame.older, None
    for id, body, before in _bodies(file, frame):
        anchor = before if anchor is None and before is not None and before < frame.older else anchor
        line = dump(body, id=id, marks=marks(anchor=anchor, generation=frame.generation, older=frame.older))
        anchor = offset if is_anchor(body.kind) and id else anchor
        offset += len(line)
        yield line


def _bodies(file: Snapshot, frame: _Frame) -> Iterator[tuple[int, Body, int | None]]:
    """Yield the number of each line, what it says, and where it said that the anchor before it stands."""
    date = format_date(clock.now())
    for found in _sifted(file, frame):
        if isinstance(found, Loss):
            for id in range(found.ids[0], found.ids[1] + 1) if found.ids else ():
                yield id, _mark_of(found, date), None
        else:
            line = found.line
            date = line.date
            yield line.id, Body(kind=line.kind, payload=bytes(line.payload), meta=bytes(line.meta), date=date), line.anchor


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
