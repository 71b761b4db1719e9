"""New files that appear whole or not at all, and never in the place of something else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from playhead import clock

_SIDE_FILES = ("", "-wal", "-shm", "-journal")


def draft_of(target: Path) -> Path:
    """Return a name beside the target under which it can be made."""
    return target.with_name(f".{target.name[:100]}.{clock.new_uid()}.part")


def take_name(draft: Path, target: Path) -> None:
    """Flush a finished draft and give it its name. Raises FileExistsError where that is taken, OSError."""
    _flush(draft, os.O_RDWR)
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(target) from None
        os.replace(draft, target)
    flush_directory(target.parent)


def flush_directory(directory: Path) -> None:
    """Return when the names in a directory survive the loss of power."""
    if os.name != "nt":
        _flush(directory, os.O_RDONLY)


def discard_database(draft: Path) -> None:
    """Remove what is left of the draft of a database."""
    for end in _SIDE_FILES:
        with suppress(OSError):
            draft.with_name(draft.name + end).unlink(missing_ok=True)


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
