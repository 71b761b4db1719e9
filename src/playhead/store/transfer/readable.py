"""What is asked of a store to tell what stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from playhead.entry.entry import TapeEntry
from playhead.store.change import BranchRecord
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery


class Readable(Protocol):
    """A store as one who only reads families sees it; the methods are those of `WholeStore`."""

    async def fetch_all(self, query: TapeQuery) -> Sequence[TapeEntry]:
        """Return the entries a query asks for."""
        ...

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        ...

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        ...

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        ...

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted, such as `spill`."""
        ...

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        ...
