"""How a family arrives in a store: compared with what stands there, made under a name of its own, proved, then given its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from playhead.errors import BlobNotFound, StoreDamaged, TapeDiffers
from playhead.store.blobs import blobs_of
from playhead.store.census import cursors_of
from playhead.store.family import Kin
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.transfer.carrying import Carrying
from playhead.store.transfer.draft import draft_for, finish, remove, unmark
from playhead.store.transfer.heard import Heard, named, referred
from playhead.store.transfer.lines import digest_of
from playhead.store.transfer.manifest import Cursor
from playhead.store.transfer.original import Original, Page
from playhead.store.transfer.rebuilding import Rebuilding, Source
from playhead.store.transfer.report import Tally


async def stands(store: WholeStore, name: str, source: Source, *, digest: Callable[[], Awaitable[str]], tally: Tally) -> bool:
    """Return whether a family stands in a store, entry for entry. Raises TapeDiffers where another one of that name does."""
    there = await Original.of(store, name)
    if there.outline.is_empty:
        return False
    if there.outline.lines() != source.outline.lines() or await digest_of(Heard(there, partial(_count, tally))) != await digest():
        raise TapeDiffers(name)
    await unmark(store, name)
    return True


async def arrive(store: WholeStore, name: str, source: Source, *, digest: Callable[[], Awaitable[str]], blobs: Carrying | None, tally: Tally) -> None:
    """Make a family in a store, which has none of that name: it appears whole or not at all. Where that is broken off, it goes on the next time.

    Raises Conflict where another one is making it, StoreDamaged where what was written is not read back.
    """
    async with store.lock(f"{name}.part"):
        draft = await draft_for(store, name, source.outline.lines())
        putting = _Putting(store, blobs, tally)
        await Rebuilding(store, draft, Heard(source, partial(_count, tally)), take=putting.take).run()
        expected = await digest()
        found = await digest_of(Heard(await Original.of(store, draft), partial(_count, tally)))
        if found != expected:
            await remove(store, draft)
            raise StoreDamaged(f"What was written of tape '{name}' is not what was read back, so it was removed again; verify the store, then try once more.", tape=name)
        await finish(store, draft, name)
    tally.moved.append(name)
    tally.entries += source.outline.entries


async def cursors(store: WholeStore, root: str, source: Source) -> tuple[Cursor, ...]:
    """Return how far consumers have read the tapes of a family."""
    found = []
    for member in source.outline.members:
        for consumer, head in (await cursors_of(store, member.name(root))).items():
            found.append(Cursor(label=member.label, sidecar=member.sidecar, consumer=consumer, head=head))
    return tuple(found)


async def settle_cursors(store: WholeStore, root: str, found: Iterable[Cursor]) -> None:
    """Let consumers go on from where they were, those that have not begun to read yet."""
    for cursor in found:
        tape = Kin(root, cursor.label, cursor.sidecar).name
        if await store.cursor(tape, cursor.consumer) == EMPTY != cursor.head:
            await store.move_cursor(tape, cursor.consumer, cursor.head)


async def _count(tally: Tally, page: Page) -> None:
    tally.add(len(page))


class _Putting:
    """Puts the blobs that entries name into a store, before they are written."""

    def __init__(self, store: WholeStore, blobs: Carrying | None, tally: Tally) -> None:
        self._into = blobs_of(store)
        self._from = blobs
        self._tally = tally
        self._put: set[str] = set()
        self._absent: set[str] = set()

    async def take(self, page: Page) -> None:
        """Put what a page names, each once; what is kept nowhere is missing where the page refers to it."""
        if self._into is None or self._from is None:
            return
        refs = referred(page)
        self._tally.missing |= refs & self._absent
        for digest in named(page) - self._put:
            self._put.add(digest)
            try:
                data, mime = await self._from.get(digest)
            except BlobNotFound:
                self._absent.add(digest)
                self._tally.missing |= refs & {digest}
                continue
            await self._into.put_blob(data, mime=mime)
            self._tally.blobs += 1
