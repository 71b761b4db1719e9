"""Bodies on a tape: which entries are the shards of one long message."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.entry.entry import TapeEntry
from playhead.view.pieces import body_of


def goes_on(later: TapeEntry, earlier: TapeEntry) -> bool:
    """Return whether a message goes on with the body of the one before it: it is of the same, with a higher index.

    The same text may be posted twice; its second posting starts anew (specs: context-manager 3.5).
    """
    body = body_of(later)
    return body is not None and body.follows(body_of(earlier))


def body_around(entry: TapeEntry, *, before: Sequence[TapeEntry], behind: Sequence[TapeEntry]) -> tuple[TapeEntry, ...]:
    """Return the shards of one body that an entry lies among; `before` are the messages before it, newest first, `behind` those behind it."""
    body = [entry]
    for earlier in before:
        if not goes_on(body[0], earlier):
            break
        body.insert(0, earlier)
    for later in behind:
        if not goes_on(later, body[-1]):
            break
        body.append(later)
    return tuple(body)
