"""A family whose pages are heard by others on their way: what is counted, and what it refers to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from playhead.entry import codec
from playhead.store.blobs import names_in, references
from playhead.store.transfer.original import Page
from playhead.store.transfer.outline import Member, Outline, Strip
from playhead.store.transfer.rebuilding import Source


class Heard:
    """Hands on what another source has, after telling somebody of it."""

    def __init__(self, source: Source, hear: Callable[[Page], Awaitable[None]]) -> None:
        self._source = source
        self._hear = hear

    @property
    def outline(self) -> Outline:
        """The outline of the source."""
        return self._source.outline

    async def page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return the first entries of a strip behind an id, none behind `upto`."""
        page = await self._source.page(member, strip, after=after, upto=upto)
        await self._hear(page)
        return page


def referred(page: Page) -> set[str]:
    """Return the digests that entries refer to."""
    return {digest for entry, _ in page for digest, _ in references(entry.payload)}


def named(page: Page) -> frozenset[str]:
    """Return the digests that stand anywhere in entries, as references or in whatever was said: a store keeps these blobs for them."""
    return frozenset().union(*(names_in(codec.encode(part)) for entry, _ in page for part in (entry.payload, entry.meta)))
