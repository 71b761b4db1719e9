"""Drafts: the names under which families are made until they are whole, and the mark by which such a tape is known to be one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from itertools import count

from playhead import clock
from playhead.entry.entry import TapeEntry, event_name
from playhead.store.census import families_of
from playhead.store.change import DISCARDED, Append, Close
from playhead.store.family import sidecar_name
from playhead.store.forgetting import forget
from playhead.store.protocol import EMPTY, WholeStore
from playhead.store.query import TapeQuery
from playhead.store.transfer.readable import Readable

MARK = "playhead.transfer"
"""The sidecar that stands beside a draft from its beginning until the tape has its own name."""

BEGUN, GOING = "transfer.begun", "transfer.going"
"""The events of that sidecar: the first says which draft it is, the second that this one is being removed."""

_DRAFT = re.compile(r".+\.[0-9a-f]{16}\.part", re.DOTALL)


async def draft_for(store: WholeStore, name: str, outline: Iterable[bytes]) -> str:
    """Return the draft in which a family is made, the one that was begun with the same outline or a new one; what else was begun of it is removed.

    A tape that is called like a draft and is none is somebody's own: it is left alone, and another name is taken.
    """
    said = b"".join(outline)
    candidates = (f"{name}.{sha256(said + b'+' * number).hexdigest()[:16]}.part" for number in count())
    for draft in candidates:
        marks = await _marks(store, draft)
        if marks == [BEGUN] or (not marks and await _is_free(store, draft)):
            break
    await _remove_others(store, name, draft)
    if not marks:
        await store.apply([Append(tape=sidecar_name(draft, MARK), entries=[TapeEntry.event(BEGUN, {"draft": draft})], expected_head=EMPTY)])
    return draft


async def is_draft(store: WholeStore, name: str) -> bool:
    """Return whether a tape is the draft of one that is still being made: by what stands beside it, as anybody may call a tape so."""
    return _DRAFT.fullmatch(name) is not None and bool(await _marks(store, name))


async def without_drafts(store: WholeStore, names: Iterable[str]) -> list[str]:
    """Return those of some tapes that are no drafts."""
    return [name for name in names if not await is_draft(store, name)]


async def is_mark(store: Readable, main: str, sidecar: str) -> bool:
    """Return whether a sidecar of a tape is what marks a draft, or what marked it before the tape had its name."""
    if sidecar != MARK:
        return False
    first = await store.fetch_all(TapeQuery(tape=sidecar_name(main, MARK)).limit(1))
    return bool(first) and event_name(first[0]) == BEGUN


async def finish(store: WholeStore, draft: str, name: str) -> None:
    """Give a draft that is whole its name."""
    await store.rename(draft, name)
    await unmark(store, name)


async def unmark(store: WholeStore, name: str) -> None:
    """Remove the mark that a tape has from the time before it had its name, and what is left of one."""
    mark = sidecar_name(name, MARK)
    if await store.head(mark) == EMPTY:
        return
    if await is_mark(store, name, MARK):
        await store.reset(mark)
    await forget(store, mark)


async def remove(store: WholeStore, draft: str) -> None:
    """Remove a draft that is not wanted, as far as a store removes a tape; broken off, it is known as one until nothing else is left."""
    await store.append_many(sidecar_name(draft, MARK), [TapeEntry.event(GOING)])
    for record in await store.branches(draft):
        if record.is_open:
            await store.apply([Close(tape=record.name, outcome=DISCARDED)])
    await store.collect(draft, before=clock.now() + timedelta(days=1))
    for sidecar in await store.sidecars(draft):
        if sidecar != MARK:
            await store.reset(sidecar_name(draft, sidecar))
    await store.reset(draft)
    await store.reset(sidecar_name(draft, MARK))
    await forget(store, draft)


async def _remove_others(store: WholeStore, name: str, draft: str) -> None:
    """Remove what earlier tries left that began with another content of the family."""
    for other in await families_of(store):
        if other != draft and len(other) == len(draft) and other.startswith(f"{name}.") and await is_draft(store, other):
            await remove(store, other)


async def _marks(store: WholeStore, draft: str) -> list[str | None]:
    """Return the events beside a draft of this very name; none where it is no draft."""
    entries = await store.fetch_all(TapeQuery(tape=sidecar_name(draft, MARK)).limit(2))
    is_its_own = bool(entries) and event_name(entries[0]) == BEGUN and entries[0].payload.get("data") == {"draft": draft}
    return [event_name(entry) for entry in entries] if is_its_own else []


async def _is_free(store: WholeStore, draft: str) -> bool:
    """Return whether nothing was ever kept under a name."""
    heads = [await store.head(draft), await store.head(sidecar_name(draft, MARK))]
    return heads == [EMPTY, EMPTY] and not await store.branches(draft) and not await store.sidecars(draft)
