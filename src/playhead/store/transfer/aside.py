"""Directories beside an export in which it is made or unpacked: removed at the end, or by the next one where the process was killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp

from anyio import CancelScope, to_thread

from playhead.errors import StoreError, StoreUnavailable
from playhead.store.concurrency.lock import FileLock

_PREFIX, _LOCK = ".playhead-", "lock"


@asynccontextmanager
async def aside(parent: Path | None) -> AsyncIterator[Path]:
    """Give a directory that is removed at the end; what was left beside it by a process that was killed goes first. Raises StoreUnavailable."""
    above = Path(gettempdir()) if parent is None else parent
    try:
        made, lock = await to_thread.run_sync(_made, above)
    except OSError as exc:
        raise refused(above, exc) from exc
    try:
        yield made / "drafts"
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(_removed, made, lock)


def refused(path: Path, error: OSError) -> StoreUnavailable:
    """Return what is raised where the system refuses something."""
    return StoreUnavailable(f"Cannot write to or read '{path}': {error.strerror or error}; check the place, its rights and the free space, then try again: what is done stays done.", path=str(path))


def _made(above: Path) -> tuple[Path, FileLock]:
    for left in above.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError, StoreError), closing(FileLock(str(left), timeout=0)) as lock:
            if lock.attempt():
                rmtree(left.parent, ignore_errors=True)
    made = Path(mkdtemp(prefix=_PREFIX, dir=above))
    lock = FileLock(str(made / _LOCK), timeout=0)
    lock.attempt()
    (made / "drafts").mkdir()
    return made, lock


def _removed(made: Path, lock: FileLock) -> None:
    lock.close()
    rmtree(made, ignore_errors=True)
