"""Files whose front is archived: compressed in chunks, and read, by all who open the file, as if it stood there still.

The first line of such a file says in which directory the chunks are and up to which byte, and the second says it again, should the
first be damaged; the bytes behind that follow. Every place in the file stays what it was, so anchors, fork points and indexes go on to
be true.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

from playhead.entry import codec
from playhead.errors import StoreDamaged
from playhead.store.file.disk import Disk
from playhead.store.file.members import HIDDEN
from playhead.store.file.names import SUFFIX
from playhead.store.file.record.lines import BadLine, Body, dump, load
from playhead.store.file.record.sectors import SECTOR

CHUNK = 1 << 18
"""How many bytes of a file are compressed together; the last chunk may have fewer."""

SEGMENTS = "segments"
"""The directory, in the hidden one, with a directory of chunks for each file that is archived."""

KIND = "archived"
_MARK = b'{"id":0,"kind":"archived",'
_LONGEST = 1 << 10
_ROOM = 100
"""A number with as many digits as the length of these lines has."""

_KEPT = 32
_GZIP = 31
_LEVEL = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What the first lines of an archived file say: its chunks' directory, where they end, and how long these lines are."""

    segments: str
    stop: int
    front: int = 0

    @property
    def shift(self) -> int:
        """How much further on a byte behind the archive stands in what is read than in the file."""
        return self.stop - self.front

    def dump(self) -> bytes:
        """Return the lines; filled up, so that the sectors of what follows begin where they would in the whole file: a torn end is told by them."""
        least = len(self._line(0, front=_ROOM)) + len(self._line(0, front=_ROOM))
        front = least + (self.stop - least) % SECTOR
        return self._line(0, front=front) + self._line(front - least, front=front)

    def _line(self, fill: int, *, front: int) -> bytes:
        said = codec.encode({"segments": self.segments, "stop": self.stop, "front": front})
        meta = codec.encode({"fill": " " * fill})
        return dump(Body(kind=KIND, payload=said, meta=meta, date="1970-01-01T00:00:00.000000+00:00"), id=0, marks=b"")


def chunk_name(number: int) -> str:
    """Return the name of a chunk; a gzip file, so that zcat prints it."""
    return f"{number:08d}.gz"


def compressed(content: bytes) -> bytes:
    """Return a chunk as it is kept."""
    making = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return making.compress(content) + making.flush()


def decompressed(raw: bytes) -> bytes:
    """Return what a chunk holds. Raises zlib.error where it is none, or not as it was written."""
    reading = zlib.decompressobj(_GZIP)
    content = reading.decompress(raw, CHUNK + 1)
    if not reading.eof or reading.unused_data:
        raise zlib.error("it is cut off, or goes on behind its end")
    return content


def cut_in(front: bytes) -> Cut | None:
    """Return what the first lines of a file say, as the first or else the second of them has it; None where neither does."""
    for line in front.split(b"\n")[:2]:
        try:
            found = load(line)
            said = codec.decode(bytes(found.payload))
            if found.kind == KIND and not found.id:
                return Cut(segments=str(said["segments"]), stop=int(said["stop"]), front=int(said["front"]))
        except (BadLine, ValueError, KeyError, TypeError):
            continue
    return None


class ArchivedDisk(Disk):
    """Makes the calls of another disk, and shows the files of tapes that are archived as if they were whole.

    Raises StoreDamaged where what is archived is not as it was written; with `lenient` it is shown as NUL bytes, of which no line consists.
    """

    def __init__(self, disk: Disk, directory: str, *, lenient: bool = False) -> None:
        self.disk = disk
        self._place = f"{directory}/{HIDDEN}/{SEGMENTS}"
        self._lenient = lenient
        self._cuts: dict[int, Cut] = {}
        self._files: dict[tuple[int, int], tuple[Cut, int]] = {}
        self._chunks: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = Lock()

    def cut_of(self, fd: int) -> Cut | None:
        """Return how an open file is archived, None where it is not."""
        return self._cuts.get(fd)

    def segments_at(self, path: str) -> str | None:
        """Return the directory of a file's chunks, None where it is not archived, or not there."""
        try:
            fd = self.open_to_read(path)
        except FileNotFoundError:
            return None
        try:
            cut = self.cut_of(fd)
        finally:
            self.close(fd)
        return None if cut is None else cut.segments

    def named_in(self, path: str) -> str | None:
        """Return the directory of chunks that a file names, whatever it is called; None where it names none, or is not there."""
        try:
            fd = self.disk.open_to_read(path)
        except OSError:
            return None
        try:
            cut = cut_in(self.disk.read(fd, _LONGEST, 0))
        finally:
            self.disk.close(fd)
        return None if cut is None else cut.segments

    def is_spoilt(self, path: str) -> bool:
        """Return whether only one of the two lines that say how a file is archived still does."""
        fd = self.disk.open_to_read(path)
        try:
            front = self.disk.read(fd, _LONGEST, 0)
        finally:
            self.disk.close(fd)
        cut = cut_in(front)
        return cut is not None and front[: cut.front] != replace(cut, front=0).dump()

    def directory(self, segments: str) -> str:
        """Return where the chunks of a file are."""
        return f"{self._place}/{segments}"

    def open_to_read(self, path: str) -> int:
        """Return the descriptor of a file that is there."""
        return self._known(self.disk.open_to_read(path), path)

    def open_to_write(self, path: str) -> int:
        """Return the descriptor of a file, made where it is missing."""
        return self._known(self.disk.open_to_write(path), path)

    def close(self, fd: int) -> None:
        """Let go of a file."""
        if fd in self._cuts:
            with self._lock:
                self._forget(fd)
        self.disk.close(fd)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory of that name is there."""
        return self.disk.exists(path)

    def state(self, path: str) -> os.stat_result | None:
        """Return which file has that name and how long it is, None where none has; how long it is read as, where it is open."""
        state = self.disk.state(path)
        known = None if state is None or not self._files else self._files.get((state.st_dev, state.st_ino))
        return state if state is None or known is None else _longer(state, known[0].shift)

    def state_of(self, fd: int) -> os.stat_result:
        """Return which file is open and how long it is."""
        state, cut = self.disk.state_of(fd), self._cuts.get(fd)
        return state if cut is None else _longer(state, cut.shift)

    def archived(self, fd: int) -> int:
        """Return how many bytes at the front of an open file are kept in chunks."""
        cut = self._cuts.get(fd)
        return 0 if cut is None else cut.stop

    def read(self, fd: int, length: int, offset: int) -> bytes:
        """Return up to `length` bytes from an offset, fewer near the end of the file."""
        cut = self._cuts.get(fd)
        if cut is None:
            return self.disk.read(fd, length, offset)
        parts: list[bytes] = []
        while length > 0 and offset < cut.stop:
            part = self._archived(cut, offset, length)
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        if length > 0:
            parts.append(self.disk.read(fd, length, offset - cut.shift))
        return b"".join(parts)

    def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
        """Write bytes at an offset and return how many of them were taken."""
        return self.disk.write(fd, content, self._behind(fd, offset))

    def flush(self, fd: int) -> None:
        """Return when what was written to a file survives the loss of power."""
        self.disk.flush(fd)

    def cut(self, fd: int, size: int) -> None:
        """Remove what stands behind the first `size` bytes."""
        self.disk.cut(fd, self._behind(fd, size))

    def rename(self, source: str, target: str) -> None:
        """Give a file another name; what had that name before is gone."""
        self.disk.rename(source, target)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, under which it stays when another file takes the first."""
        self.disk.link(source, target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self.disk.remove(path)

    def remove_directory(self, path: str) -> None:
        """Remove a directory that is empty."""
        self.disk.remove_directory(path)

    def flush_directory(self, path: str) -> None:
        """Return when the names in a directory survive the loss of power."""
        self.disk.flush_directory(path)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, none where there is no directory."""
        return self.disk.names(path)

    def date(self, path: str, nanoseconds: int) -> None:
        """Say when a directory was changed last, in nanoseconds since 1970."""
        self.disk.date(path, nanoseconds)

    def make_directory(self, path: str) -> None:
        """Make a directory; one that is there is fine."""
        self.disk.make_directory(path)

    def _known(self, fd: int, path: str) -> int:
        """Note how a file is archived that was opened."""
        if not path.endswith(SUFFIX):
            return fd
        try:
            cut = self._cut(fd, path)
            if cut is not None:
                state = self.disk.state_of(fd)
                with self._lock:
                    self._cuts[fd] = cut
                    self._files[state.st_dev, state.st_ino] = cut, self._files.get((state.st_dev, state.st_ino), (cut, 0))[1] + 1
        except BaseException:
            self.disk.close(fd)
            raise
        return fd

    def _forget(self, fd: int) -> None:
        del self._cuts[fd]
        state = self.disk.state_of(fd)
        key = state.st_dev, state.st_ino
        cut, count = self._files[key]
        if count > 1:
            self._files[key] = cut, count - 1
        else:
            del self._files[key]

    def _cut(self, fd: int, path: str) -> Cut | None:
        """Return how a file is archived, None where it is not, and where that cannot be read by one who is lenient."""
        if not self._lenient and self.disk.read(fd, len(_MARK), 0) != _MARK:
            return None
        cut = cut_in(self.disk.read(fd, _LONGEST, 0))
        if cut is None and not self._lenient:
            raise StoreDamaged(f"The first two lines of '{path}' do not say where its archived entries are; restore a backup, or keep what can be read with playhead.salvage().", path=path, offset=0)
        return cut

    def _behind(self, fd: int, offset: int) -> int:
        """Return where a byte stands in the file itself."""
        cut = self._cuts.get(fd)
        if cut is None:
            return offset
        if offset < cut.stop:
            raise OSError(f"what stands at byte {offset:,} is archived and cannot be written")
        return offset - cut.shift

    def _archived(self, cut: Cut, offset: int, length: int) -> bytes:
        number, start = divmod(offset, CHUNK)
        held = min(CHUNK, cut.stop - number * CHUNK)
        content = self._chunk(cut.segments, number, held)
        return content[start : min(start + length, held)]

    def _chunk(self, segments: str, number: int, held: int) -> bytes:
        """Return a chunk that has at least so many bytes; those read last are kept."""
        key = segments, number
        with self._lock:
            content = self._chunks.get(key)
            if content is not None and len(content) >= held:
                self._chunks.move_to_end(key)
                return content
        path = f"{self.directory(segments)}/{chunk_name(number)}"
        content = self._read_chunk(path, held)
        with self._lock:
            self._chunks[key] = content
            self._chunks.move_to_end(key)
            while len(self._chunks) > _KEPT:
                self._chunks.popitem(last=False)
        return content

    def _read_chunk(self, path: str, held: int) -> bytes:
        try:
            content = decompressed(self.whole(path))
            if len(content) >= held:
                return content
            why = f"it holds {len(content):,} bytes, not {held:,}"
        except (OSError, zlib.error) as exc:
            why = str(exc)
        if self._lenient:
            return bytes(held)
        raise StoreDamaged(f"The archived entries in '{path}' are not as they were written ({why}); restore a backup, or keep what can be read with playhead.salvage().", path=path, offset=0)

    def whole(self, path: str) -> bytes:
        """Return all bytes of a file that is no tape's."""
        fd = self.disk.open_to_read(path)
        try:
            size, parts, start = self.disk.state_of(fd).st_size, [], 0
            while start < size and (block := self.disk.read(fd, size - start, start)):
                parts.append(block)
                start += len(block)
        finally:
            self.disk.close(fd)
        return b"".join(parts)


def _longer(state: os.stat_result, shift: int) -> os.stat_result:
    """Return the state of a file that is so many bytes longer."""
    times = {f"st_{name}time_ns": getattr(state, f"st_{name}time_ns") for name in "amc"}
    return os.stat_result((*state[:6], state.st_size + shift, *state[7:10]), times)
