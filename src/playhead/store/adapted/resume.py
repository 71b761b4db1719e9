"""Going on where an earlier try was cut off: which entries it left on a tape, and whether changes are the same as those that were begun."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.store.change import Append, Change, Close, Fork, Reset
from playhead.store.rules.replay import key_of, same_fact


class Leftovers:
    """The entries that an earlier try may have left on a tape, each taken up once."""

    def __init__(self, entries: Iterable[TapeEntry]) -> None:
        self._by_uid: dict[str, list[TapeEntry]] = {}
        for entry in entries:
            self._by_uid.setdefault(entry.uid, []).append(entry)

    def take(self, entry: TapeEntry) -> TapeEntry | None:
        """Return the entry that was left for one that is to be appended: it has its uid and says the same."""
        left = self._by_uid.get(entry.uid, [])
        found = next((other for other in left if same_fact(other, entry)), None)
        if found is not None:
            left.remove(found)
        return found


def without(entries: Sequence[TapeEntry], taken_up: Iterable[TapeEntry]) -> Sequence[TapeEntry]:
    """Return a tape as it was before an earlier try: without the last entries, as far as they were taken up."""
    ids = {entry.id for entry in taken_up}
    end = len(entries)
    while end and entries[end - 1].id in ids:
        end -= 1
    return entries[:end]


def takes_one_write(changes: Sequence[Change]) -> bool:
    """Return whether changes are made as soon as they are begun, or, as a fork, not seen before they are made."""
    match changes:
        case [Fork() | Close()]:
            return True
        case [Append(entries=entries)]:
            return len(entries) < 2
        case _:
            return not changes


def work_of(changes: Sequence[Change]) -> str | None:
    """Return what tells changes from others: what they do to which tapes, not where these end.

    An entry counts by its idempotency key, else by its uid; None where one has neither, as nobody can say then whether it is the same.
    """
    told = [_told(change) for change in changes]
    return None if None in told else sha256(codec.encode_sorted(told)).hexdigest()


def _told(change: Change) -> list[object] | None:
    match change:
        case Append(tape=tape, entries=entries) | Reset(tape=tape, entries=entries):
            names = [_identity(entry) for entry in entries]
            return None if None in names else [type(change).__name__, tape, names]
        case Fork(tape=tape, parent=parent, at=at, cuts=cuts):
            return ["Fork", tape, parent, at] if cuts is None else ["Fork", tape, parent, at, dict(cuts)]
        case Close(tape=tape, outcome=outcome):
            return ["Close", tape, outcome]


def _identity(entry: TapeEntry) -> list[str] | None:
    key = key_of(entry)
    if key is not None:
        return ["key", key]
    return ["uid", entry.uid] if entry.uid else None
