"""Copying a tape, with its sidecars, under another name or into another store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import BlobNotFound, InvalidInput, NameTaken, TapeNotFound
from playhead.store.blobs import blobs_of
from playhead.store.change import Append
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.mentions import referred

PAGE = 512


async def copy(source: WholeStore, tape: str, *, target: WholeStore, name: str) -> None:
    """Copy what a tape or branch shows, and its sidecars, to a tape of its own; uids, dates and marks stay as they are.

    Blobs that it refers to are put into the other store, where both keep some.
    The copy appears whole or not at all. Raises TapeNotFound, NameTaken, InvalidInput where the name is that of a branch or sidecar.
    """
    if not kin_of(name).is_root:
        raise InvalidInput(f"A copy is a tape of its own, not a branch or sidecar such as '{name}'; fork a branch with tape.fork().")
    end = await source.head(tape)
    if not end.id:
        raise TapeNotFound(tape)
    if await target.head(name) != EMPTY:
        raise NameTaken(name)
    draft = f"{name}.{clock.new_uid()}.part"
    try:
        for sidecar in await source.sidecars(tape):
            await _copy_sidecar(source, sidecar_name(tape, sidecar), target=target, name=sidecar_name(draft, sidecar))
        async for page in _pages(source, tape, upto=end.id):
            await _copy_blobs(source, page, target=target)
            await target.append_many(draft, page)
        await target.rename(draft, name)
    except BaseException:
        for sidecar in await target.sidecars(draft):
            await target.reset(sidecar_name(draft, sidecar))
        await target.reset(draft)
        raise


async def _copy_sidecar(source: WholeStore, tape: str, *, target: WholeStore, name: str) -> None:
    marks = [mark.id for mark in await source.marks(tape)]
    async for page in _pages(source, tape, upto=(await source.head(tape)).id):
        first = page[0].id - 1
        await _copy_blobs(source, page, target=target)
        await target.apply([Append(tape=name, entries=page, marks=marks[first : first + len(page)])])


async def _copy_blobs(source: WholeStore, entries: list[TapeEntry], *, target: WholeStore) -> None:
    """Put what entries refer to into the other store; what is not there is referred to in vain already."""
    kept, other = blobs_of(source), blobs_of(target)
    if kept is None or other is None or source is target:
        return
    for digest, mime in {ref: mime for entry in entries for ref, mime in referred(entry).items()}.items():
        with suppress(BlobNotFound):
            await other.put_blob(await kept.get_blob(digest), mime=mime)


async def _pages(store: WholeStore, tape: str, *, upto: int) -> AsyncIterator[list[TapeEntry]]:
    query, last = TapeQuery(tape=tape).up_to(upto).limit(PAGE), 0
    while page := list(await store.fetch_all(query.after(last))):
        yield page
        last = page[-1].id
