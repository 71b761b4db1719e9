"""The sweep: finding the blobs that nothing names any more, and removing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path

from anyio import to_thread

from playhead.errors import FileMissing, InvalidInput
from playhead.store.archiving.age import ago
from playhead.store.blobs import Blob, BlobCollector, BlobStore, hex_of, names_in

GRACE = timedelta(days=1)
"""How long a blob is left alone after it was put or named, where nothing else is asked for."""

_BATCH = 100
_BLOCK = 1 << 20
_OVERLAP = 128
"""Longer than a digest, so that one which lies across two blocks is found in the second."""

SweepListener = Callable[[int, int], object]
"""Hears how much of a store was looked through, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobReport:
    """What a look at a store's blobs found: how many there are, and those that are `unused`, which `gc_blobs` removed.

    Of the others some are `recent`, put or named within the grace, and the rest `named` by something that is kept.
    """

    blobs: int
    recent: int
    named: int
    unused: tuple[Blob, ...]

    @property
    def size(self) -> int:
        """How many bytes the unused ones have."""
        return sum(blob.size for blob in self.unused)

    def __str__(self) -> str:
        return f"{self.blobs:,} blobs: {self.recent:,} recent, {self.named:,} named, {len(self.unused):,} unused ({self.size:,} bytes)"


async def unused_blobs(store: BlobStore, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | PathLike[str]] = (), progress: SweepListener | None = None) -> BlobReport:
    """Return which blobs `gc_blobs` would remove now; nothing is changed."""
    _, report = await _looked(_collector(store), grace=grace, keep=keep, archives=archives, progress=progress)
    return report


async def gc_blobs(store: BlobStore, *, grace: timedelta = GRACE, keep: Iterable[str] = (), archives: Iterable[str | PathLike[str]] = (), progress: SweepListener | None = None) -> BlobReport:
    """Remove the blobs that nothing names and that were neither put nor named within the grace; return what was found.

    Named is what stands in an entry of any tape, branch, sidecar or generation that can still be read, in `keep`, or in a file of
    `archives` (files, or directories with all below). The grace has to be longer than the longest time between a `put_blob` and the
    append that refers to it. Others may use the store meanwhile; broken off, what was not removed is found by the next call.
    Raises InvalidInput where the store cannot collect blobs, StoreDamaged where nobody knows what a part of it names, FileMissing.
    """
    collector = _collector(store)
    since, report = await _looked(collector, grace=grace, keep=keep, archives=archives, progress=progress)
    gone: set[str] = set()
    for first in range(0, len(report.unused), _BATCH):
        gone |= set(await collector.drop_blobs([blob.digest for blob in report.unused[first : first + _BATCH]], idle_since=since))
    removed = tuple(blob for blob in report.unused if blob.digest in gone)
    return BlobReport(blobs=report.blobs, recent=report.recent + len(report.unused) - len(removed), named=report.named, unused=removed)


async def _looked(collector: BlobCollector, *, grace: timedelta, keep: Iterable[str], archives: Iterable[str | PathLike[str]], progress: SweepListener | None) -> tuple[datetime, BlobReport]:
    """Return since when blobs have to be idle to be removed, and what there is."""
    since = ago(grace, what="The grace of blobs")
    kept = {digest for digest in keep if hex_of(digest)}
    kept |= await to_thread.run_sync(_named_in, [Path(path) for path in archives])
    total = len(await collector.blobs())
    idle = {blob.digest: blob for blob in await collector.idle_blobs(since=since)}
    unused = {digest: blob for digest, blob in idle.items() if digest not in kept}
    async with aclosing(collector.named_blobs()) as parts:
        async for part in parts:
            for digest in part.digests:
                unused.pop(digest, None)
            if progress is not None:
                progress(part.done, part.total)
            if not unused:
                break
    return since, BlobReport(blobs=total, recent=max(0, total - len(idle)), named=len(idle) - len(unused), unused=tuple(unused.values()))


def _collector(store: object) -> BlobCollector:
    if isinstance(store, BlobCollector):
        return store
    what = "keeps blobs and cannot tell which of them are in use; give it the methods of BlobCollector" if isinstance(store, BlobStore) else "keeps no blobs, so there are none to collect"
    raise InvalidInput(f"The store {type(store).__name__} {what}.")


def _named_in(paths: Iterable[Path]) -> set[str]:
    """Return the digests that stand in files. Raises FileMissing."""
    named: set[str] = set()
    try:
        for file in _files(paths):
            named |= _digests(file)
    except OSError as exc:
        raise FileMissing(str(exc.filename), exc.strerror or str(exc)) from exc
    return named


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (below for below in sorted(path.rglob("*")) if below.is_file())
        else:
            yield path


def _digests(file: Path) -> set[str]:
    named: set[str] = set()
    before = b""
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            named |= names_in(before + block)
            before = block[-_OVERLAP:]
    return named
