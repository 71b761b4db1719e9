"""An export as one file: a tar of its directory, the manifest first; the same content gives the same bytes."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

from playhead.errors import UnreadableFile
from playhead.store.transfer.manifest import BLOBS, FILE, TAPES

SUFFIX = ".tar"
_BLOCK = 1 << 20
_OURS = re.compile(rf"{FILE}|{TAPES}/[^/]+\.jsonl|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


def pack(directory: Path, out: BinaryIO) -> None:
    """Write the files of a directory to a stream, which need not be one that can be sought in. Raises OSError."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files, key=lambda path: (path.name != FILE, path.relative_to(directory).as_posix())):
            member = tarfile.TarInfo(path.relative_to(directory).as_posix())
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)


def unpack(source: BinaryIO, directory: Path, *, name: str) -> None:
    """Write the files of a tar that `pack` wrote to a directory. Raises UnreadableFile where it is none, or holds anything else; OSError."""
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() and _OURS.fullmatch(member.name) else None
                if content is None:
                    raise UnreadableFile(name, f"it holds {member.name!r}, which is no part of an export")
                path = directory / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    copyfileobj(content, file, _BLOCK)
    except tarfile.TarError as exc:
        raise UnreadableFile(name, f"it is no tar of an export, or is cut off ({exc})") from exc
