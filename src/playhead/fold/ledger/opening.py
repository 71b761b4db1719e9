"""Opening a memory: the newest checkpoint that can be trusted, so that the cost is that of the frontier, not of all that was told."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.entry.entry import TapeEntry
from playhead.fold.ledger.checkpoints import Opened, checkpoint_of
from playhead.fold.ledger.entries import CHECKPOINT
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.lookup import Lookup
from playhead.store.protocol import Head
from playhead.tape.tape import Tape

_MOST = 256


async def opened(sidecar: Tape, lookup: Lookup, *, main: Head, side: Head) -> Opened:
    """Return the newest checkpoint of a sidecar that can be trusted, with the summaries it names; an empty ledger where there is none.

    `main` and `side` are where the tape and the sidecar end. Checkpoints are looked at from the newest on, ever more at once.
    """
    query, before, size = sidecar.query().kinds(CHECKPOINT).newest_first(), side.id + 1, 1
    while before > 1:
        page = await query.before(before).limit(size).all()
        found = await _first(page, sidecar, lookup, main=main)
        if found is not None:
            return found
        if len(page) < size:
            break
        before, size = page[-1].id, min(_MOST, 2 * size)
    return Opened()


async def _first(page: Sequence[TapeEntry], sidecar: Tape, lookup: Lookup, *, main: Head) -> Opened | None:
    """Return the first checkpoint of a page, the newest first, that can be trusted.

    It stands right behind the entries it was made of, and its mark says that it was written when the main tape ended where it
    says: so neither tape has got other entries in front of it, as it has where a merge moved those of a branch.
    """
    marks = await sidecar.store.marks(sidecar.name, after=page[-1].id - 1) if page else []
    for entry in page:
        found, place = checkpoint_of(entry), entry.id - page[-1].id
        if found is None or marks[place : place + 1] != [Head(main.generation, found.main)]:
            continue
        readings, known = await lookup.readings(found.nodes, upto=entry.id), Known()
        await lookup.fill(known, Unread(places=found.places(readings)), numbering=found.numbering, upto=entry.id)
        restored = found.opened(entry, readings, known)
        if restored is not None:
            return restored
    return None
