"""Keeping the volumes of a file store near the end of its tapes: work for a writer while nobody waits for it, a little at a time."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import suppress

from playhead.errors import StoreError
from playhead.store.concordance.backlog import LEAST, Backlog, Steps
from playhead.store.concordance.binding import bound, merged
from playhead.store.concordance.chain import MOST_BYTES, due
from playhead.store.concordance.library import Library
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.postings import SpoiltVolume, VolumeGone
from playhead.store.concordance.volume import MOST_IDS
from playhead.store.file.family.steps import forget_words
from playhead.store.file.place import Place
from playhead.store.file.record.recording import Recording
from playhead.store.file.record.stretch import opened as opened_file
from playhead.store.file.words import volumes
from playhead.store.file.words.volumes import Kept
from playhead.store.ranked.words import Words

_AT_ONCE = 32


class Indexing:
    """Makes volumes of the files that grew, and one of several. Where that fails for a file it is left to the searches, which need no volume.

    `backlog` is what is left to do.
    """

    def __init__(self, place: Place) -> None:
        self.backlog = Backlog(self._steps)
        self._place = place
        self._library = Library()

    def hurry(self, behind: Behind[str]) -> bool:
        """Make volumes for a moment, and return whether there are more to make."""
        for stem in behind.names if behind.is_spoilt else ():
            forget_words(self._place, stem)
        return self.backlog.hurry(behind.names)

    def _steps(self, name: Hashable) -> Steps:
        """Make volumes of a file; what cannot be read or written is left."""
        stem = str(name)
        with suppress(StoreError, OSError, VolumeGone):
            try:
                yield from self._caught_up(stem)
            except VolumeGone:  # somebody else makes one of them
                raise
            except SpoiltVolume:
                forget_words(self._place, stem)
                yield from self._caught_up(stem)

    def _caught_up(self, stem: str) -> Steps:
        """Make volumes of a file as it is now, for as long as there is enough for one, or are enough to be one."""
        with opened_file(self._place, stem) as stretch:
            if stretch is None or stretch.recording.tail.older or stretch.is_short:
                return
            recording = stretch.recording
            while True:
                standing = volumes.kept(self._place, stem, recording)
                if together := due(standing):
                    yield from self._merge(stem, recording, together)
                    continue
                reach, stop = (standing[-1].last, standing[-1].stop) if standing else (recording.shared, 0)
                if recording.tail.id - reach < LEAST:
                    return
                words, stop = yield from self._read(recording, reach, stop)
                raw = yield from bound(words)
                volumes.write(self._place, stem, recording, raw, first=reach + 1, last=words.end, stop=stop)
                volumes.tidy(self._place, stem, recording)

    def _merge(self, stem: str, recording: Recording, together: Sequence[Kept]) -> Steps:
        raw = yield from merged([volumes.opened(self._place, volume, self._library) for volume in together])
        last = together[-1]
        volumes.write(self._place, stem, recording, raw, first=together[0].first, last=last.last, stop=last.stop)
        volumes.tidy(self._place, stem, recording)

    def _read(self, recording: Recording, reach: int, stop: int) -> Generator[None, None, tuple[Words, int]]:
        """Return the words of the entries behind an id, of as many as one volume takes, and where the last of them ends."""
        words, start = Words(before=reach), stop
        for place, line in recording.lines(stop):
            if words.end - reach == MOST_IDS or place - start >= MOST_BYTES:
                return words, place
            if words.end - reach and words.end % _AT_ONCE == 0:
                yield
            words.add(line.entry())
        return words, recording.tail.end
