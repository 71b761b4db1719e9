"""Finding entries by idempotency key and by uid: in the index, and by looking through what is not indexed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from playhead.entry.entry import TapeEntry
from playhead.store.file.index.index import KEY, UID, UNINDEXED, Index
from playhead.store.file.record.lines import Line, names_of
from playhead.store.file.record.recording import Recording


def find(recording: Recording, index: Index, *, keys: Sequence[str], uids: Sequence[str]) -> Mapping[str, TapeEntry]:
    """Return, by idempotency key and by uid, those entries of a tape that have one of these; of several with one uid the first.

    Writes the index on where much of the tape is not in it; where that cannot be done, the tape is looked through.
    """
    reach = indexed(recording, index)
    by_uid: dict[str, TapeEntry] = {}
    by_key: dict[str, TapeEntry] = {}
    missing = {(sort, name) for sort, names in ((UID, uids), (KEY, keys)) for name in names}
    for sort, name in sorted(missing) if reach else ():
        places, stop = index.places(recording, sort, name)
        reach = min(reach, stop)
        line = named(recording, places, sort, name)
        if line is not None:
            (by_uid if sort == UID else by_key)[name] = line.entry()
            missing.discard((sort, name))
    for _, line in recording.lines(reach) if missing else ():
        uid, key = names_of(line)
        if (UID, uid) in missing:
            by_uid.setdefault(uid, line.entry())
        if key is not None and (KEY, key) in missing:
            by_key.setdefault(key, line.entry())
    return {uid: by_uid[uid] for uid in uids if uid in by_uid} | {key: by_key[key] for key in keys if key in by_key}


def indexed(recording: Recording, index: Index) -> int:
    """Return up to where a tape is indexed, after more was where much was not; a short tape needs no index."""
    if recording.tail.end <= UNINDEXED:
        return 0
    reach = index.reach(recording)
    if recording.tail.end - reach <= UNINDEXED:
        return reach
    with suppress(OSError):
        index.extend(recording)
    return index.reach(recording)


def named(recording: Recording, places: Sequence[int], sort: str, name: str) -> Line | None:
    """Return the first line at one of the places that has the name."""
    for place in places:
        line = recording.at(place)
        if name == (names_of(line).uid if sort == UID else names_of(line).key):
            return line
    return None
