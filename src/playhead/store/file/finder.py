"""Finding entries by idempotency key and by uid: in the index, and by looking through what is not indexed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from playhead.entry.entry import TapeEntry
from playhead.store.file.index import KEY, UID, UNINDEXED, Index
from playhead.store.file.lines import Line, names_of
from playhead.store.file.place import Place
from playhead.store.file.recording import Recording


def find(recording: Recording, index: Index, *, keys: Sequence[str], uids: Sequence[str]) -> Mapping[str, TapeEntry]:
    """Return, by idempotency key and by uid, those entries of a tape that have one of these; of several with one uid the first.

    Writes the index on where much of the tape is not in it; where that cannot be done, the tape is looked through.
    """
    reach = _indexed(recording, index)
    by_uid: dict[str, TapeEntry] = {}
    by_key: dict[str, TapeEntry] = {}
    missing = {(sort, name) for sort, names in ((UID, uids), (KEY, keys)) for name in names}
    for sort, name in sorted(missing) if reach else ():
        places, indexed = index.places(recording, sort, name)
        reach = min(reach, indexed)
        line = _named(recording, places, sort, name)
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


class KeyBook:
    """Tells a writer which entry of a tape has a key; it remembers the keys of the part that is not indexed, which is never long."""

    def __init__(self, place: Place, stem: str) -> None:
        self._index = Index(place, stem)
        self._recent: dict[str, int] = {}
        self._reach = 0
        self._seen = 0

    def standing(self, recording: Recording, key: str) -> TapeEntry | None:
        """Return the entry of a recording that has the key, None where none has it."""
        while True:
            if recording.tail.end - self._reach > UNINDEXED:
                self._forget(_indexed(recording, self._index))
            if recording.tail.end - self._reach > UNINDEXED:
                return find(recording, self._index, keys=(key,), uids=()).get(key)
            self._catch_up(recording)
            if key in self._recent:
                return recording.at(self._recent[key]).entry()
            if not self._reach:
                return None
            places, reach = self._index.places(recording, KEY, key)
            line = _named(recording, places, KEY, key)
            if line is not None or reach >= self._reach:
                return None if line is None else line.entry()
            self._forget(reach)

    def _catch_up(self, recording: Recording) -> None:
        """Remember the keys of what was appended since."""
        for place, line in recording.lines(self._seen):
            key = names_of(line).key
            if key is not None:
                self._recent.setdefault(key, place)
        self._seen = recording.tail.end

    def _forget(self, reach: int) -> None:
        self._recent.clear()
        self._reach = self._seen = reach


def _indexed(recording: Recording, index: Index) -> int:
    """Return up to where a tape is indexed, after more was where much was not; a short tape needs no index."""
    if recording.tail.end <= UNINDEXED:
        return 0
    reach = index.reach(recording)
    if recording.tail.end - reach <= UNINDEXED:
        return reach
    with suppress(OSError):
        index.extend(recording)
    return index.reach(recording)


def _named(recording: Recording, places: Sequence[int], sort: str, name: str) -> Line | None:
    """Return the first line at one of the places that has the name."""
    for place in places:
        line = recording.at(place)
        if name == (names_of(line).uid if sort == UID else names_of(line).key):
            return line
    return None
