"""What a writer knows of the idempotency keys of one file: those near its end by name, all before them by their sieves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from playhead.entry.entry import TapeEntry
from playhead.store.file.index.finder import find, indexed, named
from playhead.store.file.index.index import KEY, UNINDEXED, Index
from playhead.store.file.index.segment import SpoiltSegment, hashed
from playhead.store.file.index.sieve import Sieves
from playhead.store.file.place import Place
from playhead.store.file.record.lines import names_of
from playhead.store.file.record.recording import Recording

_REMEMBERED = 1 << 20


class KeyBook:
    """Tells which entry of a file has a key. For one that never stood nothing is read, but for what others have appended.

    It remembers the keys of the part that is not indexed, which is never long, and the sieves of the index.
    """

    def __init__(self, place: Place, stem: str) -> None:
        self._index = Index(place, stem)
        self._sieves = Sieves()
        self._recent: dict[str, int] = {}
        self._reach = 0
        self._seen = 0

    def is_new(self, key: str, *, end: int) -> bool:
        """Return whether it is remembered of a whole file, which ends at a place, that no entry has the key."""
        return end - self._reach <= self._limit and self.rules_out(key, up_to=end)

    def standing(self, recording: Recording, key: str) -> TapeEntry | None:
        """Return the entry of a recording that has the key, None where none has it."""
        while True:
            if self._seen != recording.tail.end and not self._sieves.fit(recording):
                self._forget(recording, 0)
            if recording.tail.end - self._reach > self._limit:
                self._forget(recording, indexed(recording, self._index))
            if recording.tail.end - self._reach > self._limit:
                return find(recording, self._index, keys=(key,), uids=()).get(key)
            self._catch_up(recording)
            if self._recent.get(key, recording.tail.end) < recording.tail.end:
                return recording.at(self._recent[key]).entry()
            places, reach = self._indexed(recording, key)
            line = named(recording, places, KEY, key)
            if line is not None or reach >= self._reach:
                return None if line is None else line.entry()
            self._forget(recording, reach)

    def rules_out(self, key: str, *, up_to: int) -> bool:
        """Return whether it is remembered that no entry before a place has the key."""
        if self._seen < up_to or self._recent.get(key, up_to) < up_to:
            return False
        if not self._reach:
            return True
        if self._sieves.stop < min(up_to, self._reach):
            return False
        try:
            return not self._sieves.places(hashed(KEY, key), before=up_to)
        except (SpoiltSegment, OSError):
            return False

    def grown(self, keys: Mapping[str, int], *, start: int, stop: int) -> None:
        """Remember at which places keys stand in the part of the file from `start` to `stop`, which was just written."""
        if self._seen == start:
            for key, place in keys.items():
                self._recent.setdefault(key, place)
            self._seen = stop

    @property
    def _limit(self) -> int:
        """How many bytes at the end of the file are not indexed; what is remembered anyway need not be so soon."""
        return _REMEMBERED if self._seen > self._reach else UNINDEXED

    def _indexed(self, recording: Recording, key: str) -> tuple[list[int], int]:
        """Return where an entry with a key may stand, and from which place on the tape is not indexed."""
        if self._sieves.stop >= self._reach:
            with suppress(SpoiltSegment, OSError):  # another process may have merged the segments with others
                return self._sieves.places(hashed(KEY, key), before=self._reach), self._reach
        return self._index.places(recording, KEY, key)

    def _catch_up(self, recording: Recording) -> None:
        """Remember the keys of what others appended since."""
        for place, line in recording.lines(self._seen) if self._seen < recording.tail.end else ():
            key = names_of(line).key
            if key is not None:
                self._recent.setdefault(key, place)
        self._seen = max(self._seen, recording.tail.end)

    def _forget(self, recording: Recording, reach: int) -> None:
        """Remember nothing but what is indexed up to a place."""
        self._recent.clear()
        self._reach = self._seen = reach
        self._sieves = self._index.sieves(recording) if reach else Sieves()
