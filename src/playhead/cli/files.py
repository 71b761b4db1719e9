"""Files a command writes: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from playhead.errors import StoreUnavailable


@contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """Give a file to write that takes its name only when it is whole; what stood there stays until then.

    What is no file (a pipe, a device) is written as it is.
    """
    named = Path(path)
    is_file = named.is_file() or not named.exists()
    target = Path(os.path.realpath(named)) if is_file else named
    draft = target.with_name(f".{uuid4().hex}.part") if is_file else target
    try:
        with draft.open("xb" if is_file else "wb") as file:
            yield file
            if is_file:
                file.flush()
                os.fsync(file.fileno())
        if is_file:
            _take_name(draft, target)
    except OSError as exc:
        raise StoreUnavailable(f"Cannot write '{path}': {exc.strerror or exc}; check the directory, its rights and the free space.") from exc
    finally:
        if is_file:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _take_name(draft: Path, target: Path) -> None:
    if target.exists():
        draft.chmod(target.stat().st_mode & 0o7777)
    draft.replace(target)
