"""A library: what is remembered of volumes and of words in memory, so that the next search need not read it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from playhead.store.concordance.volume import Bytes, Contents, Term, Volume, contents_of
from playhead.store.ranked.words import Words

_MOST_VOLUMES = 256
_MOST_WORDS = 16


class Library:
    """Remembers the volumes and the words used last, for any number of threads; both go by what tells them from any others."""

    def __init__(self) -> None:
        self._contents: OrderedDict[Hashable, tuple[Contents, dict[str, Term | None]]] = OrderedDict()
        self._words: OrderedDict[Hashable, tuple[Words, bytes]] = OrderedDict()
        self._lock = Lock()

    def volume(self, name: Hashable, source: Bytes, *, size: int) -> Volume:
        """Return the volume of a name, which no other volume ever has. Raises SpoiltVolume, and what reading raises."""
        with self._lock:
            found = self._contents.pop(name, None)
        if found is None:
            found = contents_of(source, size=size), {}
        with self._lock:
            self._contents[name] = found
            if len(self._contents) > _MOST_VOLUMES:
                self._contents.popitem(last=False)
        return Volume(source, *found, size=size)

    def take_words(self, name: Hashable, *, mark_of: Callable[[int], bytes]) -> Words | None:
        """Take the words of a name out, so that nobody else adds to them meanwhile; None where there are none, or their last entry is another one now."""
        with self._lock:
            words, mark = self._words.pop(name, (None, b""))
        return words if words is not None and mark and mark == mark_of(words.end) else None

    def put_words(self, name: Hashable, words: Words, *, mark: bytes) -> None:
        """Remember words, with the mark of their last entry, until they are taken out again; of several of a name those that were put last."""
        with self._lock:
            self._words[name] = words, mark
            self._words.move_to_end(name)
            if len(self._words) > _MOST_WORDS:
                self._words.popitem(last=False)
