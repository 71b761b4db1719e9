"""The files of an export: each appears whole or not at all, and is safe on the disk before the manifest names it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from io import BufferedWriter
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from playhead.errors import BlobNotFound, InvalidInput, NameTaken, UnreadableFile
from playhead.store.blobs import PREFIX, digest_of
from playhead.store.drafts import flush_directory
from playhead.store.transfer.aside import aside, beside, refused
from playhead.store.transfer.lines import Written, outline_at
from playhead.store.transfer.manifest import BLOBS, FILE, TAPES, Exported, Manifest, blob_file, check_regular, manifest_at
from playhead.store.transfer.tarred import SUFFIX as TAR
from playhead.store.transfer.tarred import ZIPPED, pack, unpack

PART = ".part"
_BLOCK = 1 << 20


class Directory:
    """A directory that an export is written to, or read from; its calls to the system are made in threads.

    Raises StoreUnavailable where the system refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    async def prepare(self) -> None:
        """Make the directory; one that an export was begun in is gone on with. Raises NameTaken where it holds a finished one, or something else."""
        await to_thread.run_sync(self._prepare)

    async def manifest(self) -> Manifest:
        """Return what the export holds. Raises FileMissing, UnreadableFile."""
        return await to_thread.run_sync(manifest_at, self.path)

    async def finish(self, manifest: Manifest) -> None:
        """Write the manifest, with which the export is there, and remove what an earlier try left that it does not name."""
        await to_thread.run_sync(self._finish, manifest)

    async def standing(self, file: str, *, outline: list[bytes]) -> tuple[str, int] | None:
        """Return the digest, in hex, and the size of the file of a family, None unless it begins with the outline."""
        return await to_thread.run_sync(_standing, self.path / file, outline)

    async def write(self, file: str, content: AsyncIterator[bytes]) -> None:
        """Write a file."""
        path, part = self.path / file, self.path / f"{file}{PART}"
        try:
            out = await to_thread.run_sync(_opened, part)
            try:
                async for block in content:
                    await to_thread.run_sync(out.write, block)
                await to_thread.run_sync(_flush, out)
            finally:
                out.close()
            await to_thread.run_sync(_take_name, part, path)
        except OSError as exc:
            raise refused(path, exc) from exc

    async def put_blob(self, digest: str, data: bytes) -> None:
        """Write a blob."""
        await self.write(blob_file(digest), _once(data))

    async def has_blob(self, digest: str) -> int | None:
        """Return how many bytes a blob has that is written already, None where it is not, or not as it should be."""
        return await to_thread.run_sync(_kept_blob, self.path / blob_file(digest), digest)

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a blob. Raises BlobNotFound, UnreadableFile where they are not those of the digest."""
        return await to_thread.run_sync(self._get_blob, digest)

    async def proved(self, tape: Exported) -> Written:
        """Return the family of a tape's file, after comparing that with its digest. Raises UnreadableFile."""
        return await to_thread.run_sync(self._proved, tape)

    def _prepare(self) -> None:
        try:
            if (self.path / FILE).exists() or (self.path.exists() and not {entry.name for entry in os.scandir(self.path)} <= {TAPES, BLOBS, f"{FILE}{PART}"}):
                raise NameTaken(str(self.path))
            for name in (TAPES, BLOBS):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise refused(self.path, exc) from exc

    def _finish(self, manifest: Manifest) -> None:
        named = {tape.file for tape in manifest.tapes.values()} | {blob_file(digest) for digest in manifest.blobs}
        part = self.path / f"{FILE}{PART}"
        try:
            for folder in (TAPES, BLOBS):
                for found in (self.path / folder).rglob("*"):
                    if found.is_file() and found.relative_to(self.path).as_posix() not in named:
                        found.unlink()
            with part.open("wb") as out:
                out.write(manifest.dump())
                _flush(out)
            _take_name(part, self.path / FILE)
            flush_directory(self.path.parent)
        except OSError as exc:
            raise refused(self.path, exc) from exc

    def _get_blob(self, digest: str) -> bytes:
        path = self.path / blob_file(digest)
        check_regular(path)
        try:
            data = path.read_bytes()
        except FileNotFoundError as exc:
            raise BlobNotFound(digest) from exc
        except OSError as exc:
            raise refused(path, exc) from exc
        if digest_of(data) != digest:
            raise UnreadableFile(str(path), f"its bytes are not those of its name ({PREFIX}...); export again")
        return data

    def _proved(self, tape: Exported) -> Written:
        path = self.path / tape.file
        check_regular(path)
        try:
            with path.open("rb") as file:
                if _hashed(file)[0] != tape.sha256:
                    raise UnreadableFile(str(path), "it is not as it was exported: its digest is not the one in the manifest; export again")
                file.seek(0)
                return Written.read(str(path), file)
        except OSError as exc:
            raise UnreadableFile(str(path), f"the manifest names it, and it cannot be read ({exc.strerror or exc})") from exc


@asynccontextmanager
async def leaving_to(place: str | os.PathLike[str]) -> AsyncIterator[Directory]:
    """Give the directory to write an export to. For a path that ends in .tar it is one beside it that is packed into that file at the end.

    Raises NameTaken where the file is there, or the directory holds something else.
    """
    path = _absolute(place)
    if path.name.endswith(ZIPPED):
        raise InvalidInput(f"An export is a directory, or a file that ends in {TAR}, not compressed; write it to '{path.name.partition(TAR)[0]}{TAR}', then compress that.")
    if path.suffix != TAR:
        directory = Directory(path)
        await directory.prepare()
        yield directory
        return
    if await to_thread.run_sync(path.exists):
        raise NameTaken(str(path))
    async with beside(path) as drafts:
        directory = Directory(drafts / "export")
        await to_thread.run_sync(_unfinished, directory.path)
        await directory.prepare()
        yield directory
        await to_thread.run_sync(_packed, directory.path, drafts / path.name, path)


@asynccontextmanager
async def coming_from(place: str | os.PathLike[str]) -> AsyncIterator[Directory]:
    """Give the directory of an export; one that is a file is unpacked first. Raises FileMissing, UnreadableFile, StoreUnavailable."""
    path = _absolute(place)
    if not await to_thread.run_sync(path.is_file):
        yield Directory(path)
        return
    async with aside(None) as drafts:
        await to_thread.run_sync(_unpacked, path, drafts)
        yield Directory(drafts)


def _standing(path: Path, outline: list[bytes]) -> tuple[str, int] | None:
    try:
        if not path.is_file() or outline_at(str(path)) != outline:
            return None
        with path.open("rb") as file:
            return _hashed(file)
    except OSError:
        return None


def _kept_blob(path: Path, digest: str) -> int | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            found, size = _hashed(file)
    except OSError:
        return None
    return size if f"{PREFIX}{found}" == digest else None


def _hashed(file: BinaryIO) -> tuple[str, int]:
    """Return the SHA-256 of what an open file holds, in hex, and how many bytes that are."""
    digest, size = sha256(), 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _absolute(place: str | os.PathLike[str]) -> Path:
    text = os.fspath(place)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"An export is a directory, or a file that ends in {TAR}, not {place!r}.")
    return Path(text).absolute()


def _unfinished(directory: Path) -> None:
    """Take away the manifest of an export that was finished but for its tar: what it names is looked at again."""
    try:
        (directory / FILE).unlink(missing_ok=True)
    except OSError as exc:
        raise refused(directory, exc) from exc


def _packed(directory: Path, part: Path, path: Path) -> None:
    try:
        with part.open("wb") as out:
            pack(directory, out)
            _flush(out)
        _take_name(part, path)
    except OSError as exc:
        raise refused(path, exc) from exc


def _unpacked(path: Path, directory: Path) -> None:
    try:
        with path.open("rb") as file:
            unpack(file, directory, name=str(path))
    except OSError as exc:
        raise refused(path, exc) from exc


def _opened(path: Path) -> BufferedWriter:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


def _flush(file: BufferedWriter) -> None:
    file.flush()
    os.fsync(file.fileno())


def _take_name(part: Path, path: Path) -> None:
    part.replace(path)
    flush_directory(path.parent)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
