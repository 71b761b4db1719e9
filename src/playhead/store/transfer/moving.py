"""Whole stores on the move: `export_store` to a directory, `import_store` from one, `copy_store` from store to store."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from os import PathLike

from playhead.errors import InvalidInput, TapeNotFound
from playhead.store.adapt import adapt
from playhead.store.blobs import blobs_of
from playhead.store.census import families_of
from playhead.store.condition.loss import Loss
from playhead.store.family import kin_of
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.transfer.arriving import Arriving, cursors, settle_cursors
from playhead.store.transfer.carrying import FromDirectory, FromStore
from playhead.store.transfer.directory import coming_from, leaving_to
from playhead.store.transfer.draft import without_drafts
from playhead.store.transfer.leaving import Leaving
from playhead.store.transfer.lines import digest_of
from playhead.store.transfer.manifest import Manifest
from playhead.store.transfer.original import Original
from playhead.store.transfer.report import Tally, TransferListener, TransferReport
from playhead.store.urls import open_store

Stored = str | PathLike[str] | TapeStore | AsyncTapeStore | WholeStore
"""A store, or its URL."""


async def export_store(store: Stored, directory: str | PathLike[str], *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Write tapes with all that belongs to them to a new directory, or to a new file that ends in .tar, and return what was written.

    The same content gives the same bytes, whichever store it comes from.

    `tapes` are names or patterns such as `support/*`; all where none is given. A tape's branches, sidecars and their marks go with
    it, and so do the blobs its entries name and how far consumers have read; leases do not. Where that is broken off, the same
    call goes on with what is in the directory, after proving it. Memory stays bounded. A tape is taken as it stands when its turn comes.

    What is damaged in the store is passed over, as little as can be, and told in `lost` and in the manifest: an event called
    `salvage.lost` stands for each entry that cannot be read, and a tape of which nothing can be read is left out.

    Raises NameTaken where the directory holds a finished export or other files, TapeNotFound where nothing has such a name, Conflict
    where a tape was reset meanwhile, InvalidInput where its ids have gaps, StoreUnavailable.
    """
    tally = Tally(progress)
    async with _opened(store) as source:
        names, exported = _chosen(await _finished(source), tapes), {}
        async with leaving_to(directory) as target:
            leaving = Leaving(source, target, tally)
            for number, name in enumerate(names, 1):
                tape = await leaving.tape(name, number=number, tapes=len(names))
                if tape is not None:
                    exported[name] = tape
            await target.finish(Manifest(tapes=exported, blobs=leaving.blobs, lost=tuple(tally.lost)))
    return tally.report()


async def import_store(directory: str | PathLike[str], store: Stored, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring the tapes of an export into a store, and return what was written: ids, uids, dates, generations and branches are as they were.

    `tapes` are names or patterns such as `support/*`; all where none is given. First every file is compared with its digest, and
    every tape with what stands in the store under its name. Where that is the same, it is left alone; where it is the front of what
    comes, the rest is appended; else the tape appears whole or not at all. All is proved by reading it back. Where that is broken
    off, the same call goes on with what is there. Memory stays bounded. `lost` tells what the export lacks, as its manifest says.

    Raises FileMissing where there is no export, UnreadableFile where it is not as it was written, TapeNotFound where no tape of it has
    such a name; then nothing was changed. TapeDiffers where another tape has such a name in the store, after all others were moved.
    """
    tally = Tally(progress)
    async with _opened(store) as target, coming_from(directory) as origin:
        manifest = await origin.manifest()
        listed = [manifest.tapes[name] for name in _chosen(sorted(manifest.tapes), tapes)]
        tally.lost += _losses(manifest.lost, tapes)
        arriving, blobs = Arriving(target, tally), FromDirectory(origin, manifest)
        for number, tape in enumerate(listed, 1):
            tally.begin("checking", tape.name, number=number, tapes=len(listed), total=tape.entries)
            await arriving.compare(tape.name, await origin.proved(tape), digest=partial(_given, tape.sha256))
        for name in arriving.wanted():
            tape = manifest.tapes[name]
            await arriving.write(name, await origin.proved(tape), digest=partial(_given, tape.sha256), blobs=blobs)
        for tape in listed:
            if tape.name not in arriving.differing:
                await settle_cursors(target, tape.name, tape.cursors)
        arriving.check()
    return tally.report()


async def copy_store(source: Stored, target: Stored, *, tapes: Iterable[str] = (), progress: TransferListener | None = None) -> TransferReport:
    """Bring tapes with all that belongs to them from one store into another, as `export_store` and `import_store` do, without files between.

    What stands in the other store already, entry for entry, is left alone; where a tape went on in the first one, the rest is appended.
    Raises TapeDiffers where another tape has such a name, after all others were moved; TapeNotFound, Conflict, InvalidInput as the
    others do, StoreDamaged where the first store is damaged: what can be read of it is exported.
    """
    tally = Tally(progress)
    async with _opened(source) as one, _opened(target) as other:
        names, arriving = _chosen(await _finished(one), tapes), Arriving(other, tally)
        for number, name in enumerate(names, 1):
            original = await Original.of(one, name)
            tally.begin("checking", name, number=number, tapes=len(names), total=original.outline.entries)
            if not original.outline.is_empty and await arriving.compare(name, original, digest=partial(digest_of, original)):
                await settle_cursors(other, name, await cursors(one, name, original))
        kept = blobs_of(one)
        for name in arriving.wanted():
            original = await Original.of(one, name)
            await arriving.write(name, original, digest=partial(digest_of, original), blobs=None if kept is None else FromStore(kept))
            await settle_cursors(other, name, await cursors(one, name, original))
        arriving.check()
    return tally.report()


async def _finished(store: WholeStore) -> list[str]:
    """Return the tapes of a store but for those that another transfer is making there."""
    return await without_drafts(store, await families_of(store))


def _losses(lost: Iterable[Loss], patterns: Iterable[str]) -> list[Loss]:
    """Return what an export lacks of those tapes that are asked for, and of blobs."""
    wanted = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    return [loss for loss in lost if loss.tape is None or not wanted or any(_is_meant(kin_of(loss.tape).root, pattern) for pattern in wanted)]


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
