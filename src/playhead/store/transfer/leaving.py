"""How families leave a store: each to a file that is proved or written, with the blobs it names; what is damaged is passed over and told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256

from playhead.errors import BlobNotFound, InvalidInput, StoreDamaged
from playhead.store.blobs import Blob, blobs_of
from playhead.store.condition.loss import Loss
from playhead.store.protocol import WholeStore
from playhead.store.transfer.arriving import cursors
from playhead.store.transfer.carrying import FromStore
from playhead.store.transfer.directory import Directory
from playhead.store.transfer.heard import Heard, named, referred
from playhead.store.transfer.lines import digest_of, lines_of
from playhead.store.transfer.manifest import Cursor, Exported
from playhead.store.transfer.mended import Mended
from playhead.store.transfer.original import Original, Page
from playhead.store.transfer.outline import Outline, outline_in
from playhead.store.transfer.report import Tally


class Leaving:
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
        """Write a family and return what the manifest says of it; None where there is nothing of it, or nothing that can be read."""
        told = number, tapes
        try:
            return await self._left(await Original.of(self._store, name), told=told)
        except StoreDamaged:
            mended = Mended(self._store)
        while True:
            try:
                tape = await self._left(await Original.of(mended, name), told=told, mended=mended)
            except StoreDamaged as exc:
                if mended.leave_out(exc, root=name):
                    continue
                self._tally.lost.append(Loss(tape=name, why=f"nothing of it was exported: {exc.message}"))
                return None
            self._tally.lost += mended.losses()
            return tape

    async def _left(self, original: Original, *, told: tuple[int, int], mended: Mended | None = None) -> Exported | None:
        name, outline = original.root, original.outline
        if outline.is_empty:
            return None
        _check(outline, name)
        self._tally.begin("writing", name, number=told[0], tapes=told[1], total=outline.entries)
        file = Exported(name=name, entries=outline.entries, size=0, sha256="").file
        standing = await self._target.standing(file, outline=outline.lines())
        is_known = standing is not None and standing[0] == await digest_of(Heard(original, self._take))
        digest, size = standing if standing is not None and is_known else await self._written(file, original)
        if mended is not None and 0 < outline.entries == mended.lost:
            raise StoreDamaged(f"No entry of the tape '{name}' is as it was written; restore a backup.", tape=name)
        (self._tally.known if is_known else self._tally.moved).append(name)
        self._tally.entries += 0 if is_known else outline.entries
        return Exported(name=name, entries=outline.entries, size=size, sha256=digest, cursors=await self._cursors(original, mended))

    async def _written(self, file: str, original: Original) -> tuple[str, int]:
        """Write the file of a family; return its digest and its size."""
        digest, size = sha256(), 0

        async def weighed() -> AsyncIterator[bytes]:
            nonlocal size
            async for lines in lines_of(Heard(original, self._take)):
                digest.update(lines)
                size += len(lines)
                yield lines

        await self._target.write(file, weighed())
        return digest.hexdigest(), size

    async def _cursors(self, original: Original, mended: Mended | None) -> tuple[Cursor, ...]:
        try:
            return await cursors(self._store, original.root, original)
        except StoreDamaged as exc:
            if mended is None:
                raise
            self._tally.lost.append(Loss(tape=original.root, why=f"how far consumers have read it: {exc.message}"))
            return ()

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
        except StoreDamaged:
            self._absent.add(digest)
            self._tally.lost.append(Loss(why=f"the blob {digest} is not as it was written"))
            return
        await self._target.put_blob(digest, data)
        self.blobs[digest] = Blob(digest=digest, size=len(data), mime=mime)
        self._tally.blobs += 1


def _check(outline: Outline, name: str) -> None:
    """Raise StoreDamaged where what a store says of a family cannot be, so that nobody could take it in again."""
    try:
        outline_in(member.said() for member in outline.members)
    except InvalidInput as exc:
        raise StoreDamaged(f"What is known of the tape '{name}', its branches and sidecars does not fit together ({exc.message}); restore a backup.", tape=name) from exc
