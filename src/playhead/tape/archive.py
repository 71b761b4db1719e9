"""Archives: all entries of a tape in one file that appears whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from io import BufferedWriter
from pathlib import Path

import anyio.to_thread

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import dump_line
from playhead.errors import StoreUnavailable
from playhead.store.drafts import flush_directory

_UNSAFE = re.compile(r"[^\w.-]|^\.", re.ASCII)
LONGEST_NAME = 120
BATCH = 1000


def file_name(tape: str, *, at: datetime, copy: int = 1) -> str:
    """Return an archive's file name: tape, time in UTC, and a number where that name was taken.

    Characters that are unsafe in file names are written as their code; a long name is cut.
    """
    safe = _UNSAFE.sub(lambda m: f"%{ord(m[0]):02X}", tape)[:LONGEST_NAME]
    return f"{safe}.jsonl.{at:%Y%m%dT%H%M%SZ}{'' if copy == 1 else f'-{copy}'}.bak"


async def write_archive(entries: AsyncIterator[TapeEntry], *, tape: str, directory: Path, at: datetime | None = None) -> Path:
    """Write entries to a new file of the directory, flush it to disk, then give it its name, with the time `at` (now). Raises StoreUnavailable."""
    at = clock.now() if at is None else at
    draft = directory / f".{clock.new_uid()}.part"
    try:
        await anyio.to_thread.run_sync(lambda: directory.mkdir(parents=True, exist_ok=True))
        file = await anyio.to_thread.run_sync(lambda: draft.open("xb"))
        try:
            lines: list[bytes] = []
            async for entry in entries:
                lines.append(dump_line(entry))
                if len(lines) >= BATCH:
                    await anyio.to_thread.run_sync(file.write, b"".join(lines))
                    lines.clear()
            await anyio.to_thread.run_sync(file.write, b"".join(lines))
            await anyio.to_thread.run_sync(_flush, file)
        finally:
            file.close()
        return await anyio.to_thread.run_sync(lambda: _name(draft, directory, tape, at))
    except OSError as exc:
        raise StoreUnavailable(f"Cannot write an archive of tape '{tape}' to {directory}: {exc.strerror or exc}; the tape was not reset.") from exc
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _name(draft: Path, directory: Path, tape: str, at: datetime) -> Path:
    """Give a finished draft the first name that is free; a link never replaces a file that stands."""
    copy = 1
    while True:
        final = directory / file_name(tape, at=at, copy=copy)
        try:
            os.link(draft, final)
        except FileExistsError:
            copy += 1
            continue
        flush_directory(directory)
        return final


def _flush(file: BufferedWriter) -> None:
    file.flush()
    os.fsync(file.fileno())
