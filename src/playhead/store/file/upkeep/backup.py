"""Copying a file store while it is in use: each family as it is at one moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from playhead.errors import FileMissing, NameTaken, StoreUnavailable
from playhead.store.condition.failures import typed
from playhead.store.drafts import draft_of, flush_directory
from playhead.store.file.blobs import files as blob_files
from playhead.store.file.disk import Disk
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.ledger import CURSORS, LEASES
from playhead.store.file.place import Place
from playhead.store.file.upkeep.verify import MOST_OPEN, family_stems, has_writers, root_stems

_BLOCK = 1 << 20


def backup(place: Place, target: Path) -> Path:
    """Copy a store to a new directory, which appears whole or not at all, and return it; others may write meanwhile. Blocks.

    Raises NameTaken where something has that name, FileMissing, StoreBusy, StoreUnavailable.
    """
    if not os.path.isdir(place.directory):
        raise FileMissing(place.directory, "no such directory")
    if target.exists():
        raise NameTaken(str(target))
    draft = draft_of(target)
    try:
        draft.mkdir(parents=True)
        for stem in root_stems(place):
            _copy_family(place, stem, draft)
        _copy_blobs(place, draft)
        _flush_directories(draft)
        if target.exists():
            raise NameTaken(str(target))
        os.rename(draft, target)
        flush_directory(target.parent)
    except OSError as exc:
        raise typed(exc, path=str(target)) from exc
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _copy_family(place: Place, stem: str, draft: Path) -> None:
    """Open all files of a family while nobody writes, then copy what stood in them: what is appended later stands behind that."""
    with ExitStack() as files:
        with _guarded(place, stem):
            paths = [place.path(member) for member in family_stems(place, stem)]
            paths += [path for name in (LEASES, CURSORS) if place.disk.exists(path := place.ledger(stem, name))]
            opened = [(path, *_opened(place.disk, path, files)) for path in paths[:MOST_OPEN]]
            for path in paths[MOST_OPEN:]:
                with ExitStack() as own:
                    _copy(place, path, *_opened(place.disk, path, own), draft)
        for path, fd, size in opened:
            _copy(place, path, fd, size, draft)


def _copy_blobs(place: Place, draft: Path) -> None:
    """Copy what the entries refer to, after them: what is put later nobody refers to."""
    for path in blob_files(place):
        with ExitStack() as own:
            _copy(place, path, *_opened(place.disk, path, own), draft)


@contextmanager
def _guarded(place: Place, stem: str) -> Iterator[None]:
    """Keep all others from writing to a family inside the block, after what somebody began is finished.

    Raises StoreUnavailable where that is to be finished and cannot be.
    """
    if not has_writers(place):
        if place.disk.exists(place.redo(stem)):
            raise StoreUnavailable(f"A change to '{place.path(stem)}' was begun and can only be finished where the store can be written; open it there first.", path=place.redo(stem))
        yield
        return
    with closing(Guard(place, stem)) as guard, guard:
        yield


def _opened(disk: Disk, path: str, files: ExitStack) -> tuple[int, int]:
    """Return a file that is open, and how long it is now."""
    fd = disk.open_to_read(path)
    files.callback(disk.close, fd)
    return fd, disk.state_of(fd).st_size


def _copy(place: Place, path: str, fd: int, size: int, draft: Path) -> None:
    copy = draft / os.path.relpath(path, place.directory)
    copy.parent.mkdir(parents=True, exist_ok=True)
    with copy.open("xb") as file:
        start = 0
        while start < size and (block := place.disk.read(fd, min(_BLOCK, size - start), start)):
            file.write(block)
            start += len(block)
        file.flush()
        os.fsync(file.fileno())


def _flush_directories(draft: Path) -> None:
    for directory, _, _ in os.walk(draft, topdown=False):
        flush_directory(Path(directory))
