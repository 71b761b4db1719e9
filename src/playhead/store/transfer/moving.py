"""Whole stores on the move: `export_store` to a directory, `import_store` from one, `copy_store` from store to store."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from os import PathLike

from playhead.errors import BlobNotFound, InvalidInput, TapeNotFound
from playhead.store.adapt import adapt
from playhead.store.blobs import Blob, blobs_of
from playhead.store.census import families_of
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.transfer.arriving import arrive, cursors, settle_cursors, stands
from playhead.store.transfer.carrying import FromDirectory, FromStore
from playhead.store.transfer.directory import Directory, coming_from, leaving_to
from playhead.store.transfer.draft import without_drafts
from playhead.store.transfer.heard import Heard, named, referred
from playhead.store.transfer.lines import digest_of, lines_of
from playhead.store.transfer.manifest import Exported, Manifest
from playhead.store.transfer.original import Original, Page
from playhead.store.transfer.report import Tally, TransferListener, TransferReport
from playhead.store.urls import open_store

Stored = str | PathLike[str] | TapeStore | AsyncTapeStore | WholeStore
"""A store, or its URL."""


async def export_store(store: Stored, directory: str | PathLike[str], *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Write tapes with all that belongs to them to a new directory, or to a new file that ends in .tar, and return what was written.

    The same content gives the same bytes, whichever store it comes from.

    `tapes` are names or patterns such as `support/*`; all where none is given. A tape's branches, sidecars and their marks go with
    it, and so do the blobs its entries name and how far consumers have read; leases do not. Where that is broken off, the same
    call goes on with what is in the directory. Memory stays bounded. A tape is taken as it stands when its turn comes.

    Raises NameTaken where the directory holds a finished export or other files, TapeNotFound where nothing has such a name, Conflict
    where a tape was reset meanwhile, InvalidInput where its ids have gaps, StoreUnavailable.
    """
    tally = Tally(progress)
    async with _opened(store) as source:
        names, exported = _chosen(await _finished(source), tapes), {}
        async with leaving_to(directory) as target:
            leaving = _Leaving(source, target, tally)
            for number, name in enumerate(names, 1):
                tape = await leaving.tape(name, number=number, tapes=len(names))
                if tape is not None:
                    exported[name] = tape
            await target.finish(Manifest(tapes=exported, blobs=leaving.blobs))
    return tally.report()


async def import_store(directory: str | PathLike[str], store: Stored, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring the tapes of an export into a store, and return what was written: ids, uids, dates, generations and branches are as they were.

    `tapes` are names or patterns such as `support/*`; all where none is given. First every file is compared with its digest, and
    every tape with what stands in the store under its name; where that is the same, it is left alone. Each tape appears whole or not
    at all, proved by reading it back. Where that is broken off, the same call goes on with what is there. Memory stays bounded.

    Raises FileMissing where there is no export, UnreadableFile where it is not as it was written, TapeDiffers where another tape has
    such a name, TapeNotFound where none of the export has; then nothing was changed.
    """
    tally = Tally(progress)
    async with _opened(store) as target, coming_from(directory) as origin:
        manifest = await origin.manifest()
        listed = [manifest.tapes[name] for name in _chosen(sorted(manifest.tapes), tapes)]
        wanted = []
        for number, tape in enumerate(listed, 1):
            tally.begin("checking", tape.name, number=number, tapes=len(listed), total=tape.entries)
            if await stands(target, tape.name, await origin.proved(tape), digest=partial(_given, tape.sha256), tally=tally):
                tally.known.append(tape.name)
            else:
                wanted.append(tape)
        for number, tape in enumerate(wanted, 1):
            tally.begin("writing", tape.name, number=number, tapes=len(wanted), total=tape.entries * 2)
            await arrive(target, tape.name, await origin.proved(tape), digest=partial(_given, tape.sha256), blobs=FromDirectory(origin, manifest), tally=tally)
        for tape in listed:
            await settle_cursors(target, tape.name, tape.cursors)
    return tally.report()


async def copy_store(source: Stored, target: Stored, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring tapes with all that belongs to them from one store into another, as `export_store` and `import_store` do, without files between.

    What stands in the other store already, entry for entry, is left alone; where a tape goes on in the first one, it differs. Raises
    TapeDiffers where another tape has such a name, before anything is written; TapeNotFound, Conflict, InvalidInput as the others do.
    """
    tally = Tally(progress)
    async with _opened(source) as one, _opened(target) as other:
        names, wanted = _chosen(await _finished(one), tapes), []
        for number, name in enumerate(names, 1):
            original = await Original.of(one, name)
            tally.begin("checking", name, number=number, tapes=len(names), total=original.outline.entries)
            if original.outline.is_empty:
                continue
            if await stands(other, name, original, digest=partial(digest_of, original), tally=tally):
                tally.known.append(name)
                await settle_cursors(other, name, await cursors(one, name, original))
            else:
                wanted.append(name)
        kept = blobs_of(one)
        for number, name in enumerate(wanted, 1):
            original = await Original.of(one, name)
            tally.begin("writing", name, number=number, tapes=len(wanted), total=original.outline.entries * 2)
            await arrive(other, name, original, digest=partial(digest_of, original), blobs=None if kept is None else FromStore(kept), tally=tally)
            await settle_cursors(other, name, await cursors(one, name, original))
    return tally.report()


class _Leaving:
    """Writes the families of a store to a directory, and the blobs they refer to."""

    def __init__(self, store: WholeStore, target: Directory, tally: Tally) -> None:
        self._store = store
        self._target = target
        self._tally = tally
        kept = blobs_of(store)
        self._kept = None if kept is None else FromStore(kept)
        self.blobs: dict[str, Blob] = {}
        self._absent: set[str] = set()

    async def tape(self, name: str, *, number: int, tapes: int) -> Exported | None:
        """Write a family and return what the manifest says of it; None where there is nothing of it."""
        original = await Original.of(self._store, name)
        outline = original.outline
        if outline.is_empty:
            return None
        self._tally.begin("writing", name, number=number, tapes=tapes, total=outline.entries)
        tape = Exported(name=name, entries=outline.entries, size=0, sha256="")
        written = await self._target.written(name, tape.file, outline=outline.lines())
        digest, size = sha256(), 0

        async def weighed() -> AsyncIterator[bytes]:
            nonlocal size
            async for lines in lines_of(Heard(written or original, self._take)):
                digest.update(lines)
                size += len(lines)
                yield lines

        if written is None:
            await self._target.write(tape.file, weighed())
            self._tally.entries += outline.entries
            self._tally.moved.append(name)
        else:
            async for _ in weighed():
                pass
            self._tally.known.append(name)
        return Exported(name=name, entries=outline.entries, size=size, sha256=digest.hexdigest(), cursors=await cursors(self._store, name, original))

    async def _take(self, page: Page) -> None:
        self._tally.add(len(page))
        kept = self._kept
        if kept is not None:
            for digest in named(page) - self.blobs.keys() - self._absent:
                await self._blob(kept, digest)
            self._tally.missing |= referred(page) & self._absent

    async def _blob(self, kept: FromStore, digest: str) -> None:
        size = await self._target.has_blob(digest)
        if size is not None:
            self.blobs[digest] = Blob(digest=digest, size=size, mime=await kept.mime(digest))
            return
        try:
            data, mime = await kept.get(digest)
        except BlobNotFound:
            self._absent.add(digest)
            return
        await self._target.put_blob(digest, data)
        self.blobs[digest] = Blob(digest=digest, size=len(data), mime=mime)
        self._tally.blobs += 1


async def _finished(store: WholeStore) -> list[str]:
    """Return the tapes of a store but for those that another transfer is making there."""
    return await without_drafts(store, await families_of(store))


async def _given(digest: str) -> str:
    return digest


@asynccontextmanager
async def _opened(store: Stored) -> AsyncIterator[WholeStore]:
    """Give a store; one that is named by its URL is opened, and closed at the end."""
    if not isinstance(store, str | os.PathLike):
        yield adapt(store)
        return
    opened = open_store(os.fspath(store))
    try:
        yield opened
    finally:
        await opened.aclose()


def _chosen(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return those names that are asked for, all where none is. Raises TapeNotFound where nothing is called so."""
    wanted = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not wanted:
        return list(names)
    listed = list(names)
    for pattern in wanted:
        if not isinstance(pattern, str):
            raise InvalidInput(f"A tape is named by a text, or by a pattern such as 'support/*', not by {pattern!r}.")
        if not any(_is_meant(name, pattern) for name in listed):
            raise TapeNotFound(pattern)
    return [name for name in listed if any(_is_meant(name, pattern) for pattern in wanted)]


def _is_meant(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)
