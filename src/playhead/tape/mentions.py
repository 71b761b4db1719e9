"""Mentions: the blobs that a tape and its sidecars refer to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import chain

from playhead.entry.entry import TapeEntry
from playhead.store.blobs import references
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery

PAGE = 256


async def blob_refs(store: WholeStore, query: TapeQuery) -> AsyncIterator[str]:
    """Yield the digests that the entries of a query refer to, then those of the sidecars beside its tape, each once and as it is found.

    Whether they are kept is not looked at. It holds one page of entries at a time.
    """
    seen: set[str] = set()
    sidecars = [] if kin_of(query.tape).sidecar is not None else await store.sidecars(query.tape)
    for part in (query, *(TapeQuery(tape=sidecar_name(query.tape, name)) for name in sidecars)):
        last = 0
        while page := await store.fetch_all(part.after(last).limit(PAGE)):
            last = page[-1].id
            for entry in page:
                for digest in referred(entry):
                    if digest not in seen:
                        seen.add(digest)
                        yield digest


def referred(entry: TapeEntry) -> dict[str, str | None]:
    """Return the digests that an entry refers to, each with its type, where that is said."""
    return dict(chain(references(entry.meta), references(entry.payload)))
