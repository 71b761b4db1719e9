"""Searching a file store: the volumes of what a tape shows, and the words of the lines that are in none, answer as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.parts import Part, answered
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.postings import SpoiltVolume, VolumeGone
from playhead.store.file.place import Place
from playhead.store.file.reader import bounds
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.recording import Recording
from playhead.store.file.words.volumes import kept, opened
from playhead.store.query import TapeQuery
from playhead.store.ranked import unindexed
from playhead.store.ranked.answering import Question, question_of
from playhead.store.ranked.best import Ranked
from playhead.store.ranked.hit import Hit

_TRIES = 3


class _Late(Exception):
    """Much of a file is in no volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for in what a query leaves of its tape.

    `uses_volumes` says whether those beside the files are read. `patience` is how many entries of a file are read at most that are in
    none, None where all are.
    """

    place: Place
    query: TapeQuery
    text: str
    smoothed: bool
    uses_volumes: bool
    patience: int | None

    def __call__(self, tape: Lineage) -> list[Hit] | Behind[str]:
        """Return the entries found, the best first, or what must be done first. Raises what a query raises."""
        query = self.query
        if not tape.is_dense:
            return unindexed.search([line.entry() for _, line in tape.forwards(1, tape.tail.id)], query, self.text, smoothed=self.smoothed)
        first, last = bounds(tape, query)
        question = question_of(query, self.text, range(first, max(first, last + 1)), smoothed=self.smoothed)
        try:
            found = self._answered(tape, question)
        except (_Late, SpoiltVolume) as exc:
            if self.patience is not None and not isinstance(exc, VolumeGone):
                return Behind(tuple(stretch.stem for stretch in tape.stretches()), is_spoilt=isinstance(exc, SpoiltVolume))
            return replace(self, uses_volumes=False, patience=None)(tape)
        entries = {ranked.id: next(tape.forwards(ranked.id, ranked.id))[1].entry() for ranked in found}
        return [Hit(entry=entries[ranked.id], score=ranked.score) for ranked in found]

    def _answered(self, tape: Lineage, question: Question) -> list[Ranked]:
        """Return which entries are found, asked once more where a volume became part of another meanwhile. Raises _Late, SpoiltVolume."""
        for _ in range(_TRIES):
            with suppress(VolumeGone):
                return answered(self._parts(tape), question, self.place.library)
        return answered(self._parts(tape), question, self.place.library)

    def _parts(self, tape: Lineage) -> Iterator[Part[str]]:
        """Yield the files that a tape shows, the newest first, each open until the next is asked for. Raises _Late."""
        end = tape.tail.id if self.query.ceiling is None else min(tape.tail.id, self.query.ceiling)
        for stretch in tape.stretches():
            recording = stretch.recording
            first, last = recording.shared + 1, min(recording.tail.id, end)
            if first > last:
                continue
            found = kept(self.place, stretch.stem, stretch.whole()) if self.uses_volumes else []
            reach = found[-1].last if found else recording.shared
            if self.patience is not None and last - reach > self.patience:
                raise _Late
            volumes = [partial(opened, self.place, volume, self.place.library) for volume in found if volume.first <= last]
            yield Part(name=stretch.stem, first=first, last=last, volumes=volumes, reach=reach, source=Lines(recording))


class Lines:
    """The entries of a file."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def entries(self, first: int, last: int) -> Iterator[TapeEntry]:
        """Yield all entries from one id to another. Raises StoreDamaged where one is missing."""
        for _, line in self._recording.forwards(first, last):
            yield line.entry()

    def mark(self, id: int) -> bytes:
        """Return the meta of an entry, in which its uid stands."""
        return next((bytes(line.meta) for _, line in self._recording.forwards(id, id)), b"") if id <= self._recording.tail.id else b""
