"""What entries say, compressed in segments: several entries together, as they have much in common."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

from playhead.errors import StoreDamaged

Said = tuple[bytes, bytes]
"""What an entry says: its meta and its payload, as JSON."""

MOST = 256
"""How many entries a segment holds at most."""

MOST_BYTES = 1 << 18
"""How many bytes the entries of a segment take at most before they are compressed; one that takes more has a segment of its own."""

_LEVEL = 9
_COUNT = struct.Struct("<I")


def packed(entries: Sequence[Said]) -> bytes:
    """Return entries as a segment: how many, the lengths of all, then all metas, then all payloads."""
    lengths = [length for meta, body in entries for length in (len(meta), len(body))]
    head = _COUNT.pack(len(entries)) + struct.pack(f"<{len(lengths)}I", *lengths)
    return zlib.compress(b"".join((head, *(meta for meta, _ in entries), *(body for _, body in entries))), _LEVEL)


def unpacked(data: bytes, *, what: str) -> list[Said]:
    """Return the entries of a segment. Raises StoreDamaged, which names the segment, where it is none."""
    try:
        raw = zlib.decompress(data)
        (count,) = _COUNT.unpack_from(raw)
        lengths = struct.unpack_from(f"<{2 * count}I", raw, _COUNT.size)
    except (zlib.error, struct.error) as exc:
        raise damaged(what, str(exc)) from exc
    place = _COUNT.size * (1 + 2 * count)
    if place + sum(lengths) != len(raw):
        raise damaged(what, "its lengths do not fit")
    parts = []
    for length in (*lengths[::2], *lengths[1::2]):
        parts.append(raw[place : place + length])
        place += length
    return list(zip(parts[:count], parts[count:], strict=True))


def fitting(sizes: Iterable[int]) -> int:
    """Return how many of the first entries, given their sizes, go into one segment: one at least."""
    count = total = 0
    for size in sizes:
        if not fits(size, count=count, total=total):
            break
        count, total = count + 1, total + size
    return count


def fits(size: int, *, count: int, total: int) -> bool:
    """Return whether one more entry goes into a segment that has so many already, of so many bytes."""
    return not count or (count < MOST and total + size <= MOST_BYTES)


def damaged(what: str, why: str) -> StoreDamaged:
    """Return the error of a segment that is not as it was written."""
    return StoreDamaged(f"{what} is not as it was written ({why}); restore a backup, or keep what can be read with playhead.salvage(), of a PostgreSQL store with playhead.export_store().")
