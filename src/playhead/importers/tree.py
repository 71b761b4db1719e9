"""The tree of a conversation in flat arrays: which records are its main line, which were abandoned.

A record takes about 36 bytes. The main line is the path from the newest record back to the root; with it go the
other records of its turns and the results of their calls, which hang beside the path where calls ran in parallel.
"""

from __future__ import annotations

from array import array
from enum import IntEnum

from playhead.importers.items import Branch
from playhead.importers.places import Places

MAIN, ABANDONED, SIDECHAIN = range(3)
BRANCHES: tuple[Branch, ...] = ("main", "abandoned", "sidechain")

NO_GROUP = 0


class Sort(IntEnum):
    """What a record is in the tree. Above NOTE it is a step of the conversation itself."""

    NONE = 0
    LINK = 1
    NOTE = 2
    PROMPT = 3
    RESULT = 4
    TURN = 5
    ERROR = 6
    BOUNDARY = 7
    SUMMARY = 8


_SORT, SIDE, FOREIGN, MORE, EARLY = 0x0F, 0x10, 0x20, 0x40, 0x80


class Tree:
    """Records in the order of the file, added one by one; `branches` then tells where each belongs.

    Keys are 64-bit hashes, 0 for none. A `group` is what becomes one entry: a model turn, a compaction; a result
    has the group of its call.
    """

    def __init__(self) -> None:
        self._places = Places()
        self._parents = array("Q")
        self._groups = array("Q")
        self._marks = bytearray()
        self._session = 0
        self.shown_side = False
        """Whether the file holds a sidechain alone, which then is its main line."""

    def __len__(self) -> int:
        return len(self._marks)

    def add(self, *, sort: Sort, key: int = 0, parent: int = 0, group: int = NO_GROUP, side: bool = False, session: int = 0) -> bool:
        """Put a record behind the others; returns whether its key came before."""
        foreign = sort >= Sort.NOTE and session != 0 and self._session not in (0, session)
        if sort >= Sort.NOTE and session:
            self._session = session
        self._marks.append(sort | (SIDE if side else 0) | (FOREIGN if foreign else 0))
        self._parents.append(parent)
        self._groups.append(group)
        return self._places.add(key) is not None

    def continues(self, place: int) -> None:
        """Note that a later record belongs to the group of this one."""
        self._marks[place] |= MORE

    def precedes_its_call(self, place: int, group: int) -> None:
        """Note that a result stands before the call it answers, which is in `group`."""
        self._marks[place] |= EARLY
        self._groups[place] = group

    def key(self, place: int) -> int:
        """Return the key of a record."""
        return self._places.keys[place]

    def find(self, key: int) -> int | None:
        """Return the last place of a key, None where it is not."""
        return self._places.find(key)

    def sort(self, place: int) -> Sort:
        """Return what a record is."""
        return Sort(self._marks[place] & _SORT)

    def group(self, place: int) -> int:
        """Return the group of a record."""
        return self._groups[place]

    def has_more(self, place: int) -> bool:
        """Tell whether a later record belongs to the group of this one."""
        return bool(self._marks[place] & MORE)

    def is_early(self, place: int) -> bool:
        """Tell whether a result stands before its call."""
        return bool(self._marks[place] & EARLY)

    def branches(self) -> bytearray:
        """Return for each record MAIN, ABANDONED or SIDECHAIN."""
        self.shown_side = not any(m & _SORT >= Sort.NOTE and not m & SIDE for m in self._marks)
        steps = bytearray(1 if m & _SORT >= Sort.NOTE and (self.shown_side or not m & SIDE) else 0 for m in self._marks)
        path = self._path(steps)
        self._add_groups(path, steps)
        self._add_notes(path, steps)
        for place, mark in enumerate(self._marks):
            if mark & SIDE and not self.shown_side:
                path[place] = SIDECHAIN
            else:
                path[place] = ABANDONED if steps[place] and not path[place] else MAIN
        return path

    def _path(self, steps: bytearray) -> bytearray:
        """Mark the way from the newest step back to the root."""
        path = bytearray(len(self))
        place = self._newest(steps)
        bridge = place
        while place is not None and not path[place]:
            path[place] = 1
            up = self._places.find(self._parents[place])
            if up is not None and not path[up]:
                place = up
                continue
            if self._starts_over(place, steps):
                break
            bridge = place if bridge is None else min(place, bridge)
            place = bridge = _before(bridge, steps, path)
        return path

    def _newest(self, steps: bytearray) -> int | None:
        """Return the last step; a note counts only where there is nothing else."""
        found = (p for p in range(len(self) - 1, -1, -1) if steps[p] and self._marks[p] & _SORT > Sort.NOTE)
        last = next(found, -1)
        return last if last >= 0 else (steps.rfind(1) if steps.rfind(1) >= 0 else None)

    def _starts_over(self, place: int, steps: bytearray) -> bool:
        """Tell whether a record without a parent is a rewind to the very first prompt.

        It is one where the records before it form a tree of the same session. In files that link nothing, after a
        lost record, and at a compaction, the conversation goes on from the record before instead.
        """
        if self._parents[place] or self.sort(place) != Sort.PROMPT or self._marks[place] & FOREIGN:
            return False
        before = steps.rfind(1, 0, place)
        return before < 0 or self._parents[before] != 0

    def _add_groups(self, path: bytearray, steps: bytearray) -> None:
        """Mark what belongs to a group that is on the path."""
        beside = {self._groups[p] for p in range(len(self)) if steps[p] and not path[p] and self._groups[p]}
        if not beside:
            return
        shown = {self._groups[p] for p in range(len(self)) if path[p] == 1 and self._groups[p] in beside}
        for place in range(len(self)):
            if steps[place] and not path[place] and self._groups[place] in shown:
                path[place] = 2

    def _add_notes(self, path: bytearray, steps: bytearray) -> None:
        """Mark notes that hang on records marked beside the path, or on the newest step of it."""
        newest = self._newest(steps)
        for place in range(len(self)):
            if steps[place] and not path[place] and self._marks[place] & _SORT == Sort.NOTE:
                up = self._places.find(self._parents[place])
                if up is not None and (path[up] == 2 or (path[up] and newest is not None and up >= newest)):
                    path[place] = 2


def _before(place: int, steps: bytearray, path: bytearray) -> int | None:
    """Return the nearest step before a place that is not on the path yet."""
    found = steps.rfind(1, 0, place)
    while found >= 0 and path[found]:
        found = steps.rfind(1, 0, found)
    return found if found >= 0 else None
