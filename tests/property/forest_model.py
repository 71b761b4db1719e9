"""A forest as one would write it down on paper: every summary that ever stood, every entry that each of them tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from playhead.entry.entry import TapeEntry


@dataclass
class Tree:
    """A summary that stands."""

    id: str
    level: int
    told: list[int]
    children: list[str]
    parent: str | None = None


@dataclass
class ForestModel:
    """What entries come to, one after the other; `places` says where those of the main tape stand."""

    places: Mapping[str, int]
    trees: dict[str, Tree] = field(default_factory=dict)
    shown: list[str] | None = None
    pins: dict[str, tuple[int, int]] = field(default_factory=dict)
    locks: set[int] = field(default_factory=set)
    failed: list[tuple[int, list[int], list[str], bool]] = field(default_factory=list)
    numbers: int = 0
    pin_numbers: int = 0
    ignored: int = 0

    def take(self, entry: TapeEntry) -> None:
        """Take in one more entry."""
        how = getattr(self, entry.kind.replace(".", "_"), None)
        if how is not None and how(entry, entry.payload) is False:
            self.ignored += 1

    def roots(self) -> list[str]:
        """Return the uids of the trees without a parent, by where they stand."""
        return sorted((uid for uid, tree in self.trees.items() if tree.parent is None), key=lambda uid: self.trees[uid].told)

    def fold_node(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        wanted = int(str(said["id"]).partition("-")[2])
        self.numbers = wanted if wanted > self.numbers else self.numbers + 1
        told = self._span(said)
        if not told or not self._is_free(told, said["level"], said["children"]):
            return False
        for child in said["children"]:
            self.trees[child].parent = entry.uid
        self.trees[entry.uid] = Tree(id=f"L{said['level']}-{self.numbers}", level=said["level"], told=told, children=list(said["children"]))
        self.failed = [each for each in self.failed if each[0] > said["level"] or not set(each[1]) & set(told)]
        return True

    def fold_cut(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        uids = list(said["nodes"])
        if not all(uid in self.trees for uid in uids):
            return False
        told = [n for uid in uids for n in self.trees[uid].told]
        if told != sorted(set(told)):
            return False
        self.shown = uids
        return True

    def fold_forgotten(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        uid = said["node"]
        if uid not in self.trees:
            return False
        gone: dict[str, Tree] = {}
        while uid is not None:
            gone[uid] = self.trees.pop(uid)
            uid = gone[uid].parent
        for tree in self.trees.values():
            tree.parent = None if tree.parent in gone else tree.parent
        while self.shown is not None and (lost := next((uid for uid in self.shown if uid in gone), None)) is not None:
            at = self.shown.index(lost)
            self.shown[at : at + 1] = gone[lost].children
        self.failed = [each for each in self.failed if not gone.keys() & set(each[2])]
        return True

    def fold_pin(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        wanted = int(str(said["id"]).partition("-")[2])
        self.pin_numbers = wanted if wanted > self.pin_numbers else self.pin_numbers + 1
        ends = [self.places.get(said["first"], 0), self.places.get(said["last"], 0)]
        self.pins[f"pin-{self.pin_numbers}"] = tuple(sorted(ends) if all(ends) else ends)
        return True

    def fold_unpin(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        return self.pins.pop(said["id"], None) is not None

    def fold_lock(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        place = self.places.get(said["target"], 0)
        self.locks |= {place} if place else set()
        return place > 0

    def fold_unlock(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        place = self.places.get(said["target"], 0)
        found = place in self.locks
        self.locks.discard(place)
        return found

    def fold_outcome(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        told = self._span(said["span"])
        if not told or not self._is_free(told, said["level"], said["children"]):
            return False
        self.failed.append((said["level"], told, list(said["children"]), said["stuck"]))
        return True

    def fold_cleared(self, entry: TapeEntry, said: Mapping[str, object]) -> bool:
        first = self.places.get(said["first"], 0)
        left = [each for each in self.failed if (each[0], each[1][0]) != (said["level"], first)]
        found = len(left) < len(self.failed)
        self.failed = left
        return found

    def _span(self, said: Mapping[str, object]) -> list[int]:
        first, last = self.places.get(said["first"], 0), self.places.get(said["last"], 0)
        told = list(range(first, last + 1)) if first and last else []
        return told if len(told) == said["entries"] else []

    def _is_free(self, told: list[int], level: int, children: Sequence[str]) -> bool:
        if level == 1:
            return not any(set(tree.told) & set(told) for tree in self.trees.values())
        sources = [self.trees.get(uid) for uid in children]
        if any(source is None or source.parent is not None or source.level != level - 1 for source in sources):
            return False
        return [n for source in sources for n in source.told] == told
