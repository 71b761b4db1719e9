"""A shelf: what was made of files that are short, to be used again for as long as they are the same; the least used is put away."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Kept = TypeVar("Kept")
State = tuple[int, int, int, int, int]
"""Which file it is, how long, and when it was changed."""

_MOST = 256


class Shelf(Generic[Kept]):
    """Keeps something for each of the files used last, from any number of threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[State, Kept]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> tuple[State, Kept] | None:
        """Return what is kept and of which state of the file it was made, None where nothing is."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, state: os.stat_result, kept: Kept) -> None:
        """Keep what was made of a state of a file."""
        with self._lock:
            self._kept[key] = (state_of(state), kept)
            self._kept.move_to_end(key)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)


def state_of(state: os.stat_result) -> State:
    """Return what of a file's state is another one once it was written to."""
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
