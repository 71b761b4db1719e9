"""Postings: in which entries a term stands, how often, and how long these are; in blocks, of which a search reads those it needs."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from playhead.store.ranked.protocol import Run

BLOCK = 256
"""How many postings a block has; the last one of a term may have fewer."""

PER_POSTING = 4
"""How many bytes a posting takes: two of the id, one of the times, one of the length."""

SUM = 4
"""How many bytes a checksum takes."""

_RAW_BLOCK = BLOCK * PER_POSTING + SUM


class SpoiltVolume(Exception):
    """A volume is not what was written, so it is of no use."""


class VolumeGone(SpoiltVolume):
    """A volume was removed while it was read, as one of several that became one."""


def packed(run: Run, *, first: int) -> bytes:
    """Return postings as they are written, in a volume that begins with an id: the last ids of the blocks in front, where there are several."""
    count = len(run.ids)
    blocks = [_block(run, start, first) for start in range(0, count, BLOCK)]
    if len(blocks) == 1:
        return blocks[0]
    lasts = raw_of("H", [run.ids[min(start + BLOCK, count) - 1] - first for start in range(0, count, BLOCK)])
    return b"".join((summed(lasts), *blocks))


def inlined(run: Run, *, first: int) -> bytes:
    """Return a few postings as they are written where something else has a checksum over them."""
    return raw_of("H", [id - first for id in run.ids]) + bytes(run.counts) + bytes(run.lengths)


def size_of(count: int) -> int:
    """Return how many bytes postings take as they are written."""
    return count * PER_POSTING + blocks_of(count) * SUM + directory_of(count)


def blocks_of(count: int) -> int:
    """Return in how many blocks postings are written."""
    return -(-count // BLOCK)


def directory_of(count: int) -> int:
    """Return how many bytes stand in front of the blocks."""
    return 2 * blocks_of(count) + SUM if count > BLOCK else 0


def place_of(block: int, count: int) -> int:
    """Return where a block begins, from the front of what is written."""
    return directory_of(count) + block * _RAW_BLOCK


def lasts_in(raw: bytes) -> array[int]:
    """Return the last ids of the blocks, counted from the first id of the volume. Raises SpoiltVolume."""
    return numbers("H", checked(raw))


def unpacked(raw: bytes, count: int, *, first: int) -> Run:
    """Return the postings of blocks that stand one behind the other. Raises SpoiltVolume."""
    if len(raw) != count * PER_POSTING + blocks_of(count) * SUM:
        raise SpoiltVolume
    runs = [read_inline(checked(raw[start : start + _RAW_BLOCK]), first=first) for start in range(0, len(raw), _RAW_BLOCK)]
    return runs[0] if len(runs) == 1 else joined(runs)


def read_inline(raw: bytes, *, first: int) -> Run:
    """Return the postings that bytes are."""
    count = len(raw) // PER_POSTING
    return Run([first + offset for offset in numbers("H", raw[: 2 * count])], raw[2 * count : 3 * count], raw[3 * count :])


def joined(runs: Sequence[Run]) -> Run:
    """Return runs that follow each other as one."""
    return Run([id for run in runs for id in run.ids], b"".join(bytes(run.counts) for run in runs), b"".join(bytes(run.lengths) for run in runs))


def cut(run: Run, first: int, last: int) -> Run:
    """Return the part of a run whose ids lie in a range."""
    if not run.ids or (first <= run.ids[0] and run.ids[-1] <= last):
        return run
    low, high = bisect_left(run.ids, first), bisect_left(run.ids, last + 1)
    return Run(run.ids[low:high], run.counts[low:high], run.lengths[low:high])


def summed(raw: bytes) -> bytes:
    """Return bytes with their checksum behind them."""
    return raw + crc32(raw).to_bytes(SUM, "little")


def checked(raw: bytes) -> bytes:
    """Return the bytes in front of a checksum. Raises SpoiltVolume where it is not theirs."""
    said = raw[:-SUM]
    if len(raw) < SUM or crc32(said) != int.from_bytes(raw[-SUM:], "little"):
        raise SpoiltVolume
    return said


def numbers(code: str, raw: bytes) -> array[int]:
    """Return the numbers that bytes are, the lowest byte of each in front."""
    found = array(code)
    found.frombytes(raw)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def raw_of(code: str, values: Iterable[int]) -> bytes:
    """Return numbers as bytes, the lowest byte of each in front."""
    found = array(code, values)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def touched(lasts: Sequence[int], near: Sequence[int], *, first: int) -> Iterator[int]:
    """Yield the numbers of those blocks that may hold one of some ids, both ascending; the last ids count from `first`."""
    block, place = 0, 0
    while place < len(near) and (block := bisect_left(lasts, near[place] - first, lo=block)) < len(lasts):
        yield block
        place = bisect_left(near, first + lasts[block] + 1, lo=place)
        block += 1


def _block(run: Run, start: int, first: int) -> bytes:
    stop = start + BLOCK
    return summed(inlined(Run(run.ids[start:stop], run.counts[start:stop], run.lengths[start:stop]), first=first))
