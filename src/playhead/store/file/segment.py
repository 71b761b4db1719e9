"""One piece of a tape's index: where in a part of the file the entries of each name stand, sorted, in pages with checksums."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from zlib import crc32

from playhead import clock
from playhead.store.file.disk import Disk, write_whole
from playhead.store.file.snapshot import Snapshot

Pair = tuple[int, int]
"""The hash of a name, and the place of an entry that has it."""

PART = ".part"
"""How the name of an unfinished segment ends."""

_MAGIC = b"phindex1"
_HEADER = Struct("<8sQQQ16s")
_SUM = Struct("<I")
_PER_PAGE = 255
_PAGE = Struct(f"<{2 * _PER_PAGE}Q")
_PAGE_SIZE = 4096
_FIRST_PAGE = 64
_LOOKED_AT = 256


class SpoiltSegment(Exception):
    """A segment is not what was written, so it is of no use."""


def hashed(sort: str, name: str) -> int:
    """Return the hash under which entries of a name are kept; a sort of names ("key", "uid") has its own."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, person=sort.encode()).digest(), "little")


def fingerprint(file: Snapshot, stop: int) -> bytes:
    """Return what tells the part of a file before `stop` from that of any other file: a digest of its last bytes, which hold a uid."""
    return blake2b(file.read(max(0, stop - _LOOKED_AT), stop), digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """An index of the part of a tape's file from `start` to `stop`."""

    disk: Disk
    path: str
    start: int
    stop: int
    count: int
    seed: int

    @property
    def pages(self) -> int:
        """How many pages it has."""
        return -(-self.count // _PER_PAGE)

    def places(self, wanted: int) -> list[int]:
        """Return where entries with that hash stand, in order. Raises SpoiltSegment, OSError."""
        if not self.count:
            return []
        fd = self.disk.open_to_read(self.path)
        try:
            page = self._first_page(fd, wanted)
            found: list[int] = []
            while True:
                pairs = self._page(fd, page)
                found += [place for hash, place in pairs[bisect_left(pairs, (wanted, 0)) :] if hash == wanted]
                page += 1
                if pairs[-1][0] > wanted or page == self.pages:
                    return found
        finally:
            self.disk.close(fd)

    def pairs(self) -> Iterator[Pair]:
        """Yield all of it, sorted. Raises SpoiltSegment, OSError."""
        fd = self.disk.open_to_read(self.path)
        try:
            for page in range(self.pages):
                yield from self._page(fd, page)
        finally:
            self.disk.close(fd)

    def _first_page(self, fd: int, wanted: int) -> int:
        """Return a page before which that hash does not occur; hashes are spread evenly, so it is close to where it would be by its size."""
        page = wanted * self.pages >> 64
        while page and self._page(fd, page)[0][0] >= wanted:
            page -= 1
        return page

    def _page(self, fd: int, page: int) -> list[Pair]:
        raw = self.disk.read(fd, _PAGE_SIZE, _FIRST_PAGE + page * _PAGE_SIZE)
        if len(raw) < _PAGE_SIZE or _SUM.unpack_from(raw, _PAGE.size)[0] != crc32(raw[: _PAGE.size], self.seed ^ page):
            raise SpoiltSegment(self.path)
        numbers = _PAGE.unpack_from(raw)
        held = min(_PER_PAGE, self.count - page * _PER_PAGE)
        return list(zip(numbers[: 2 * held : 2], numbers[1 : 2 * held : 2], strict=True))


def opened(disk: Disk, path: str, file: Snapshot) -> Segment | None:
    """Return the segment at a path, None where it is spoilt or not of this file."""
    try:
        fd = disk.open_to_read(path)
    except OSError:
        return None
    try:
        raw = disk.read(fd, _FIRST_PAGE, 0)
    finally:
        disk.close(fd)
    if len(raw) < _FIRST_PAGE or _SUM.unpack_from(raw, _HEADER.size)[0] != crc32(raw[: _HEADER.size]):
        return None
    magic, start, stop, count, mark = _HEADER.unpack_from(raw)
    if magic != _MAGIC or not start < stop <= file.size or mark != fingerprint(file, stop):
        return None
    return Segment(disk=disk, path=path, start=start, stop=stop, count=count, seed=crc32(raw[: _HEADER.size]))


def write(disk: Disk, path: str, file: Snapshot, pairs: Iterable[Pair], *, start: int, stop: int, count: int) -> Segment:
    """Write a segment under a name of its own, then give it the one it is looked for by. Raises OSError."""
    header = _HEADER.pack(_MAGIC, start, stop, count, fingerprint(file, stop))
    seed = crc32(header)
    part = f"{path}.{clock.new_uid()}{PART}"
    fd = disk.open_to_write(part)
    try:
        disk.cut(fd, 0)
        write_whole(disk, fd, header + _SUM.pack(seed) + bytes(_FIRST_PAGE - len(header) - _SUM.size), 0)
        for page, numbers in enumerate(_pages(pairs)):
            body = _PAGE.pack(*numbers, *(0,) * (2 * _PER_PAGE - len(numbers)))
            write_whole(disk, fd, body + _SUM.pack(crc32(body, seed ^ page)) + bytes(_PAGE_SIZE - len(body) - _SUM.size), _FIRST_PAGE + page * _PAGE_SIZE)
    finally:
        disk.close(fd)
    disk.rename(part, path)
    return Segment(disk=disk, path=path, start=start, stop=stop, count=count, seed=seed)


def _pages(pairs: Iterable[Pair]) -> Iterator[list[int]]:
    """Yield the numbers of each page, hash and place in turns."""
    numbers: list[int] = []
    for pair in pairs:
        numbers += pair
        if len(numbers) == 2 * _PER_PAGE:
            yield numbers
            numbers = []
    if numbers:
        yield numbers
