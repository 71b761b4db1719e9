"""The guard of a family: one who writes at a time, and first of all what others began is finished."""

from __future__ import annotations

from contextlib import closing
from types import TracebackType

from playhead.errors import StoreUnavailable
from playhead.store.file.family.redo import finish, partner
from playhead.store.file.place import Place


class Guard:
    """Excludes all others who write to a family inside `with guard:`.

    `patience` is how many seconds to wait for them where that is less than usual. Raises StoreBusy, StoreUnavailable, OSError.
    """

    def __init__(self, place: Place, stem: str, *, patience: float | None = None) -> None:
        place.make()
        self._place = place
        self._stem = stem
        self._lock = place.lock(stem, patience=patience)
        self._redo = place.redo(stem)

    def __enter__(self) -> Guard:
        self._take_lock()
        try:
            while self._place.disk.exists(self._redo):
                self._finish()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def _finish(self) -> None:
        """Finish what was begun; where that is another family's change, under its guard alone, as two are taken in one order only."""
        other = partner(self._place, self._stem)
        if other is None:
            finish(self._place, self._stem)
        elif self._place.disk.exists(self._place.redo(other)):
            self._lock.__exit__(None, None, None)
            try:
                with closing(Guard(self._place, other)) as guard, guard:
                    pass
            finally:
                self._take_lock()
        else:
            self._place.disk.remove(self._redo)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.__exit__(kind, error, trace)

    def remove(self) -> None:
        """Take the lock's file away, only while the guard is held and nothing is left of the family."""
        self._lock.remove()

    def close(self) -> None:
        """Let go of the lock's file."""
        self._lock.close()

    def _take_lock(self) -> None:
        """Take the lock; where the directory was removed meanwhile, in a new one."""
        try:
            self._lock.__enter__()
        except StoreUnavailable as exc:
            if not isinstance(exc.__cause__, FileNotFoundError):
                raise
            self._place.make()
            self._lock.__enter__()
