"""Directories beside an export in which it is made or unpacked: removed at the end; what is left of one is gone on with, or removed, by the next export."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp

from anyio import CancelScope, to_thread

from playhead.errors import StoreError, StoreUnavailable
from playhead.store.concurrency.lock import FileLock

_PREFIX, _LOCK, _DRAFTS, _TARGET = ".playhead-", "lock", "drafts", "target"


@asynccontextmanager
async def aside(parent: Path | None) -> AsyncIterator[Path]:
    """Give a directory that is removed at the end; what was left beside it by a process that was killed goes first. Raises StoreUnavailable."""
    above = Path(gettempdir()) if parent is None else parent
    made, lock = await _begun(above, None)
    try:
        yield made / _DRAFTS
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(_removed, made, lock)


@asynccontextmanager
async def beside(target: Path) -> AsyncIterator[Path]:
    """Give the directory in which a file is made, removed once that is there: the one that was begun for the same file, however that ended, or a new one.

    What is left of other files goes first. Raises StoreUnavailable.
    """
    made, lock = await _begun(target.parent, target.name)
    try:
        yield made / _DRAFTS
    except BaseException:
        lock.close()
        raise
    with CancelScope(shield=True):
        await to_thread.run_sync(_removed, made, lock)


def refused(path: Path, error: OSError) -> StoreUnavailable:
    """Return what is raised where the system refuses something."""
    return StoreUnavailable(f"Cannot write to or read '{path}': {error.strerror or error}; check the place, its rights and the free space, then try again: what is done stays done.", path=str(path))


async def _begun(above: Path, target: str | None) -> tuple[Path, FileLock]:
    try:
        return await to_thread.run_sync(_made, above, target)
    except OSError as exc:
        raise refused(above, exc) from exc


def _made(above: Path, target: str | None) -> tuple[Path, FileLock]:
    for left in above.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError, StoreError), closing(FileLock(str(left), timeout=0)) as lock:
            if lock.attempt() and _target(left.parent) != (target or ""):
                rmtree(left.parent, ignore_errors=True)
    return _left(above, target) or _new(above, target)


def _left(above: Path, target: str | None) -> tuple[Path, FileLock] | None:
    """Return what was begun for a file and left, None where nothing was, or somebody is at it."""
    for left in above.glob(f"{_PREFIX}*/{_LOCK}") if target else ():
        lock = FileLock(str(left), timeout=0)
        with suppress(OSError, StoreError):
            if lock.attempt() and _target(left.parent) == target and (left.parent / _DRAFTS).is_dir():
                return left.parent, lock
        lock.close()
    return None


def _new(above: Path, target: str | None) -> tuple[Path, FileLock]:
    made = Path(mkdtemp(prefix=_PREFIX, dir=above))
    lock = FileLock(str(made / _LOCK), timeout=0)
    lock.attempt()
    if target is not None:
        (made / _TARGET).write_text(target, encoding="utf-8", errors="surrogateescape")
    (made / _DRAFTS).mkdir()
    return made, lock


def _target(made: Path) -> str:
    """Return the name of the file that a directory is for, "" where it is for none."""
    try:
        return (made / _TARGET).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _removed(made: Path, lock: FileLock) -> None:
    lock.close()
    rmtree(made, ignore_errors=True)
