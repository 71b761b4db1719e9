"""Where 64-bit keys stand: a hash table in flat arrays, about 16 bytes a key, for files of a million lines."""

from __future__ import annotations

from array import array

FREE = 0
_SMALLEST = 1 << 10
_64_BITS = (1 << 64) - 1


def key_of(text: str | bytes) -> int:
    """Return a 64-bit key for a text, never 0; another process gives it another one, so it is not to be kept."""
    return hash(text) & _64_BITS or 1


class Places:
    """Keys in a row, each findable by value; the key 0 stands for none and is never found."""

    def __init__(self) -> None:
        self.keys = array("Q")
        self._slots = array("I", bytes(4 * _SMALLEST))
        self._used = 0

    def add(self, key: int) -> int | None:
        """Put a key behind the others; returns where the same key stood last, None where it is new."""
        place = len(self.keys)
        self.keys.append(key)
        if key == FREE:
            return None
        if 2 * self._used >= len(self._slots):
            self._grow()
        slot = self._slot(key)
        before = self._slots[slot]
        self._slots[slot] = place + 1
        self._used += before == FREE
        return before - 1 if before else None

    def find(self, key: int) -> int | None:
        """Return the last place of a key, None where it is not."""
        found = self._slots[self._slot(key)] if key else FREE
        return found - 1 if found else None

    def _slot(self, key: int) -> int:
        slots, keys, mask = self._slots, self.keys, len(self._slots) - 1
        slot = key & mask
        while (place := slots[slot]) and keys[place - 1] != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        old = self._slots
        self._slots = array("I", bytes(4 * 2 * len(old)))
        for place in old:
            if place:
                self._slots[self._slot(self.keys[place - 1])] = place


class Tally:
    """Counts how often each key came."""

    def __init__(self) -> None:
        self._places = Places()
        self._again: dict[int, int] = {}

    def count(self, key: int) -> int:
        """Return how often the key came before, and count it."""
        if self._places.add(key) is None:
            return 0
        self._again[key] = self._again.get(key, 0) + 1
        return self._again[key]
