"""The parts of entries that are kept as blobs, proved while a file is salvaged."""

from __future__ import annotations

from playhead.errors import BlobNotFound, StoreDamaged, StoreError
from playhead.store.condition.loss import PART_LOST
from playhead.store.file.blobs import get
from playhead.store.file.place import Place
from playhead.store.file.record.lines import Line, moved_in
from playhead.store.parting import apart, joined


class Parts:
    """Says of lines whether their parts are as they were written; each blob is read once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._good: dict[str, bool] = {}

    def why_lost(self, line: Line) -> str | None:
        """Return why a line that is as it was written cannot be kept, None where all of it is there, or only a codec could tell."""
        moved = moved_in(line)
        if moved is None:
            return None
        try:
            _, digests = apart(joined(bytes(line.payload), moved))
        except (ValueError, RecursionError):
            return PART_LOST
        lost = next((digest for digest in digests if not self._is_good(digest)), None)
        return None if lost is None else f"{PART_LOST} ({lost})"

    def _is_good(self, digest: str) -> bool:
        if digest not in self._good:
            self._good[digest] = self._proved(digest)
        return self._good[digest]

    def _proved(self, digest: str) -> bool:
        try:
            get(self._place, digest)
        except (BlobNotFound, StoreDamaged):
            return False
        except StoreError:  # it was written with a codec
            return True
        return True
