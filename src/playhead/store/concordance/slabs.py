"""Slabs: the pieces of volumes that were read last, for a store that is asked over a network; a volume never changes, so neither do these."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock


class Slabs:
    """Remembers up to `most` pieces, for any number of threads; they go by what tells a volume from any others, and their number in it."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._slabs: OrderedDict[tuple[Hashable, int], bytes] = OrderedDict()
        self._lock = Lock()

    def read(self, volume: Hashable, wanted: range, fetch: Callable[[int, int], list[bytes]]) -> list[bytes]:
        """Return the pieces of some numbers that follow each other, and fetch from the first to the last that is not remembered; fewer where fewer are there."""
        found = self._known(volume, wanted)
        missing = [number for number in wanted if number not in found]
        if missing:
            fetched = dict(enumerate(fetch(missing[0], missing[-1]), missing[0]))
            self._note(volume, fetched)
            found |= fetched
        return [found[number] for number in wanted if number in found]

    def _known(self, volume: Hashable, wanted: range) -> dict[int, bytes]:
        found = {}
        with self._lock:
            for number in wanted:
                if (slab := self._slabs.get((volume, number))) is not None:
                    self._slabs.move_to_end((volume, number))
                    found[number] = slab
        return found

    def _note(self, volume: Hashable, fetched: dict[int, bytes]) -> None:
        with self._lock:
            for number, slab in fetched.items():
                self._slabs[volume, number] = slab
                if len(self._slabs) > self._most:
                    self._slabs.popitem(last=False)
