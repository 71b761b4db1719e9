"""Following a tape: its entries as they come, for a consumer who may stop and go on later."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.bell import Ear

PAGE = 256
_FIRST_PAUSE = 0.005


async def follow(store: WholeStore, query: TapeQuery, *, consumer: str | None, after: int | None, pause: float) -> AsyncIterator[TapeEntry]:
    """Yield the entries of a tape, then each new one soon after it is appended; without end.

    What a handle of the same store object appends is heard of at once, what others do at the next look.

    A consumer's place is remembered by the store: it goes on where it last asked for more, so an entry comes again only where its
    handling was cut off. After a reset it goes on with the first entry of the new generation. `after` says where to start otherwise,
    None at the end as it is now. `pause` is the longest time between two looks, in seconds.
    """
    if not pause > 0:
        raise InvalidInput(f"The longest pause between two looks is a number of seconds above 0, not {pause!r}.")
    place = await _start(store, query.tape, consumer, after)
    saved, wait = place, _FIRST_PAUSE
    ear = Ear(store, query.tape)
    try:
        while True:
            head = await store.head(query.tape)
            if head.generation != place.generation:
                place = Head(head.generation, 0)
            page = list(await store.fetch_all(query.after(place.id).limit(PAGE))) if head.id > place.id else []
            for entry in page:
                yield entry
                place = Head(head.generation, entry.id)
            if len(page) < PAGE:
                place = Head(head.generation, max(place.id, head.id))
            if consumer is not None and place != saved:
                await store.move_cursor(query.tape, consumer, place)
                saved = place
            wait = _FIRST_PAUSE if page else min(wait * 1.5, pause)
            if not page:
                wait = _FIRST_PAUSE if await ear.wait(wait) else wait
                ear = Ear(store, query.tape)
    finally:
        ear.close()
        if consumer is not None and place != saved:
            with anyio.CancelScope(shield=True):
                await store.move_cursor(query.tape, consumer, place)


async def _start(store: WholeStore, tape: str, consumer: str | None, after: int | None) -> Head:
    """Return where to start: where the consumer was, or behind `after`, or at the end."""
    head = await store.head(tape)
    if consumer is not None:
        known = await store.cursor(tape, consumer)
        if known != Head(0, 0) or after is None:
            return known
    return head if after is None else Head(head.generation, after)
