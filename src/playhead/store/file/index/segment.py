"""One piece of a tape's index: where in a part of the file the entries of each name stand, sorted, in pages with checksums, and a sieve of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from zlib import crc32

from playhead import clock
from playhead.store.file.disk import Disk, write_whole
from playhead.store.file.record.snapshot import Snapshot

Pair = tuple[int, int]
"""The hash of a name, and the place of an entry that has it."""

PART = ".part"
"""How the name of an unfinished segment ends."""

_MAGIC = b"phindex2"
_HEADER = Struct("<8sQQQ16s")
_SUM = Struct("<I")
_PER_PAGE = 255
_PAGE = Struct(f"<{2 * _PER_PAGE}Q")
_PAGE_SIZE = 4096
_FIRST_PAGE = 64
_LOOKED_AT = 256
_HALF = 32
_LOW = (1 << _HALF) - 1


class SpoiltSegment(Exception):
    """A segment is not what was written, so it is of no use."""


def hashed(sort: str, name: str) -> int:
    """Return the hash under which entries of a name are kept; a sort of names ("key", "uid") has its own."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, person=sort.encode()).digest(), "little")


def fingerprint(file: Snapshot, stop: int) -> bytes:
    """Return what tells the part of a file before `stop` from that of any other file: a digest of its last bytes, which hold a uid."""
    return blake2b(file.read(max(0, stop - _LOOKED_AT), stop), digest_size=16).digest()


def falls_through(sieve: bytes, hash: int) -> bool:
    """Return whether a hash is surely none of those that left their bits in a sieve."""
    one, two, three = _bits(hash, len(sieve) << 3)
    return not (sieve[one >> 3] >> (one & 7) & sieve[two >> 3] >> (two & 7) & sieve[three >> 3] >> (three & 7) & 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """An index of the part of a tape's file from `start` to `stop`; the sieve behind its pages has a byte for each hash."""

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
            page, numbers = self._first_page(fd, wanted)
            found: list[int] = []
            while True:
                hashes = numbers[::2]
                place = bisect_left(hashes, wanted)
                while place < len(hashes) and hashes[place] == wanted:
                    found.append(numbers[2 * place + 1])
                    place += 1
                page += 1
                if place < len(hashes) or page == self.pages:
                    return found
                numbers = self._page(fd, page)
        finally:
            self.disk.close(fd)

    def pairs(self) -> Iterator[Pair]:
        """Yield all of it, sorted. Raises SpoiltSegment, OSError."""
        fd = self.disk.open_to_read(self.path)
        try:
            for page in range(self.pages):
                numbers = self._page(fd, page)
                yield from zip(numbers[::2], numbers[1::2], strict=True)
        finally:
            self.disk.close(fd)

    def sieve(self) -> bytes:
        """Return the sieve of the hashes. Raises SpoiltSegment, OSError."""
        size = max(1, self.count)
        fd = self.disk.open_to_read(self.path)
        try:
            raw = self.disk.read(fd, size + _SUM.size, _FIRST_PAGE + self.pages * _PAGE_SIZE)
        finally:
            self.disk.close(fd)
        sieve = raw[:size]
        if len(raw) < size + _SUM.size or _SUM.unpack_from(raw, size)[0] != crc32(sieve, self.seed ^ self.pages):
            raise SpoiltSegment(self.path)
        return sieve

    def _first_page(self, fd: int, wanted: int) -> tuple[int, tuple[int, ...]]:
        """Return a page before which that hash does not occur; hashes are spread evenly, so it is close to where it would be by its size."""
        page = wanted * self.pages >> 64
        numbers = self._page(fd, page)
        while page and numbers[0] >= wanted:
            page -= 1
            numbers = self._page(fd, page)
        return page, numbers

    def _page(self, fd: int, page: int) -> tuple[int, ...]:
        """Return the numbers of a page, hash and place in turns."""
        raw = self.disk.read(fd, _PAGE_SIZE, _FIRST_PAGE + page * _PAGE_SIZE)
        if len(raw) < _PAGE_SIZE or _SUM.unpack_from(raw, _PAGE.size)[0] != crc32(raw[: _PAGE.size], self.seed ^ page):
            raise SpoiltSegment(self.path)
        return _PAGE.unpack_from(raw)[: 2 * min(_PER_PAGE, self.count - page * _PER_PAGE)]


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
    seed, sieve = crc32(header), bytearray(max(1, count))
    part = f"{path}.{clock.new_uid()}{PART}"
    fd = disk.open_to_write(part)
    try:
        disk.cut(fd, 0)
        write_whole(disk, fd, header + _SUM.pack(seed) + bytes(_FIRST_PAGE - len(header) - _SUM.size), 0)
        page = 0
        for page, numbers in enumerate(_pages(pairs, sieve), 1):
            body = _PAGE.pack(*numbers, *(0,) * (2 * _PER_PAGE - len(numbers)))
            write_whole(disk, fd, body + _SUM.pack(crc32(body, seed ^ page - 1)) + bytes(_PAGE_SIZE - len(body) - _SUM.size), _FIRST_PAGE + (page - 1) * _PAGE_SIZE)
        write_whole(disk, fd, bytes(sieve) + _SUM.pack(crc32(sieve, seed ^ page)), _FIRST_PAGE + page * _PAGE_SIZE)
    finally:
        disk.close(fd)
    disk.rename(part, path)
    return Segment(disk=disk, path=path, start=start, stop=stop, count=count, seed=seed)


def _pages(pairs: Iterable[Pair], sieve: bytearray) -> Iterator[list[int]]:
    """Yield the numbers of each page, hash and place in turns; each hash leaves its bits in the sieve."""
    size = len(sieve) << 3
    numbers: list[int] = []
    for pair in pairs:
        for bit in _bits(pair[0], size):
            sieve[bit >> 3] |= 1 << (bit & 7)
        numbers += pair
        if len(numbers) == 2 * _PER_PAGE:
            yield numbers
            numbers = []
    if numbers:
        yield numbers


def _bits(hash: int, size: int) -> tuple[int, int, int]:
    """Return which bits of a sieve a hash leaves; three of eight for each hash let one in thirty of the others stick."""
    place, step = hash & _LOW, hash >> _HALF | 1
    return place % size, (place + step) % size, (place + 2 * step) % size
