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
_IN_FOLDER = re.compile(rf"(?:\./)*(?P<top>(?:[^/]+/)??)(?P<ours>{FILE}|{TAPES}/[^/]+\.jsonl|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}})")
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh", b"(\xb5/\xfd")
ZIPPED = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.zst")
"""How the names of tars end that are compressed."""


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
    """Write the files of a tar of an export to a directory; one that was made by hand may have them all in one folder.

    Raises UnreadableFile where it is none, is compressed, or holds anything else; OSError.
    """
    top: str | None = None
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for member in tar:
                if member.isdir():
                    continue
                found = _IN_FOLDER.fullmatch(member.name)
                top = found["top"] if found is not None and top is None else top
                content = tar.extractfile(member) if member.isfile() and found is not None and found["top"] == top else None
                if content is None or found is None:
                    raise UnreadableFile(name, f"it holds {member.name!r}, which is no part of an export")
                path = directory / found["ours"]
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    copyfileobj(content, file, _BLOCK)
    except tarfile.TarError as exc:
        source.seek(0)
        if source.read(6).startswith(_COMPRESSED):
            raise UnreadableFile(name, "it is compressed; unpack it first (with gunzip, unxz or bunzip2), then take in the .tar") from exc
        raise UnreadableFile(name, f"it is no tar of an export, or is cut off ({exc})") from exc
