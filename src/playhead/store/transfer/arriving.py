"""How a family arrives in a store: compared with what stands there; gone on with, or made under a name of its own; proved, then given its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum, auto
from functools import partial

from playhead.errors import BlobNotFound, Conflict, StoreDamaged, TapeDiffers
from playhead.store.blobs import blobs_of
from playhead.store.census import cursors_of
from playhead.store.family import Kin
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.transfer.carrying import Carrying
from playhead.store.transfer.draft import draft_for, finish, remove, unmark
from playhead.store.transfer.front import Front, added, heads, is_front
from playhead.store.transfer.heard import Heard, named, referred
from playhead.store.transfer.lines import digest_of
from playhead.store.transfer.manifest import Cursor
from playhead.store.transfer.original import Original, Page
from playhead.store.transfer.outline import Outline
from playhead.store.transfer.rebuilding import Rebuilding, Source
from playhead.store.transfer.report import Tally


class Standing(Enum):
    """What stands in a store under the name of a family: nothing, the same, its front, or another one."""

    NOTHING, SAME, FRONT, OTHER = auto(), auto(), auto(), auto()


async def standing(store: WholeStore, name: str, source: Source, *, digest: Callable[[], Awaitable[str]], tally: Tally) -> tuple[Standing, Outline]:
    """Return what stands in a store under the name of a family, compared entry for entry, and its outline."""
    there = await Original.of(store, name)
    if there.outline.is_empty:
        return Standing.NOTHING, there.outline
    if there.outline.lines() == source.outline.lines():
        is_same = await digest_of(Heard(there, partial(_count, tally))) == await digest()
        if is_same:
            await unmark(store, name)
        return Standing.SAME if is_same else Standing.OTHER, there.outline
    is_begun = is_front(there.outline, source.outline) and await _marks_rise(there.outline, source)
    is_begun = is_begun and await digest_of(Heard(there, partial(_count, tally))) == await digest_of(Front(source, there.outline))
    return Standing.FRONT if is_begun else Standing.OTHER, there.outline


async def _marks_rise(front: Outline, source: Source) -> bool:
    """Return whether what sidecars wrote behind a front was written behind the front of their main tapes, too: no store takes it else."""
    heads = {member.key: member.head for member in front.members}
    for member, last in added(front, source.outline):
        ((_, mark),) = await source.page(member, member.strips[-1], after=last, upto=last + 1)
        main = heads[member.label, None]
        if mark is None or mark < main or mark.generation != main.generation:
            return False
    return True


async def go_on(store: WholeStore, name: str, source: Source, *, front: Outline, digest: Callable[[], Awaitable[str]], blobs: Carrying | None, tally: Tally) -> None:
    """Write what a family has behind the front of it that stands in a store; broken off, a longer front stands there.

    Raises Conflict where somebody else writes there.
    """
    if not (is_front(front, source.outline) and await _marks_rise(front, source)):
        raise Conflict(expected="the same tape", found="another", message=f"'{name}' was reset, or branches of it were removed, while it was compared; copy it again.")
    async with store.lock(f"{name}.part"):
        putting = _Putting(store, blobs, tally)
        await Rebuilding(store, name, Heard(source, partial(_count, tally)), take=putting.take, heads=heads(front, source.outline, name)).run()
        if await digest_of(Heard(await Original.of(store, name), partial(_count, tally))) != await digest():
            raise Conflict(
                expected="what was written",
                found="something else",
                message=f"What stands behind the tape '{name}' is not what was just written there: somebody else writes to it, or it is damaged. Verify the store, then try once more.",
            )
    tally.moved.append(name)
    tally.entries += source.outline.entries - front.entries


class Arriving:
    """Brings families into a store: all are compared first, then those are written that are not there."""

    def __init__(self, store: WholeStore, tally: Tally) -> None:
        self._store = store
        self._tally = tally
        self._fronts: dict[str, Outline] = {}
        self.differing: list[str] = []

    async def compare(self, name: str, source: Source, *, digest: Callable[[], Awaitable[str]]) -> bool:
        """See what stands under the name of a family; return whether it is there, entry for entry."""
        found, there = await standing(self._store, name, source, digest=digest, tally=self._tally)
        match found:
            case Standing.SAME:
                self._tally.known.append(name)
            case Standing.OTHER:
                self.differing.append(name)
            case _:
                self._fronts[name] = there
        return found is Standing.SAME

    def wanted(self) -> list[str]:
        """Return the names of the families that are still to be written, wholly or in part."""
        return list(self._fronts)

    async def write(self, name: str, source: Source, *, digest: Callable[[], Awaitable[str]], blobs: Carrying | None) -> None:
        """Write a family, or what it has behind the front that stands. Raises Conflict where somebody else writes there meanwhile, StoreDamaged."""
        front, number = self._fronts[name], list(self._fronts).index(name) + 1
        self._tally.begin("writing", name, number=number, tapes=len(self._fronts), total=source.outline.entries * 2 - front.entries)
        if front.is_empty:
            await arrive(self._store, name, source, digest=digest, blobs=blobs, tally=self._tally)
        else:
            await go_on(self._store, name, source, front=front, digest=digest, blobs=blobs, tally=self._tally)

    def check(self) -> None:
        """Raise TapeDiffers where another tape stands under the name of one."""
        if self.differing:
            raise TapeDiffers(*self.differing)


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
