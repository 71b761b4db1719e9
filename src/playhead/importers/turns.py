"""One turn from many records: what a model does until someone else speaks becomes one item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from playhead.importers.grouping import HELD
from playhead.importers.items import Item, Marks, Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An item in reading order: one that `joins` is a part of the model's turn, one `beside` does not end it."""

    item: Item
    joins: bool = False
    beside: bool = False


@dataclass(slots=True)
class Turns:
    """Takes steps in reading order and yields items; what stands between the parts of a turn comes behind it."""

    marks: Marks
    _first: Item | None = None
    _pieces: list[Piece] = field(default_factory=list)
    _waiting: list[Item] = field(default_factory=list)
    _held: int = 0

    def add(self, step: Step) -> Iterator[Item]:
        """Take one step; yield what is ready."""
        if step.joins and (self._first is None or self._first.branch == step.item.branch):
            self._first = self._first or step.item
            self._pieces.extend(step.item.pieces)
        elif step.joins:
            yield from self.end()
            self._first, self._pieces = step.item, list(step.item.pieces)
        elif step.beside and self._first is not None:
            self._waiting.append(step.item)
        else:
            yield from self.end()
            yield step.item
            return
        self._held += step.item.size
        if self._held > HELD:
            yield from self.end()

    def end(self) -> Iterator[Item]:
        """Yield what still waits; where the beginning of the turn is on the tape, its rest takes its own place in line."""
        if self._first is None:
            return
        whole = replace(self._first, pieces=tuple(self._pieces))
        waiting = self._waiting
        self._first, self._pieces, self._waiting, self._held = None, [], [], 0
        yield from sorted((whole, *waiting), key=self.marks.first_new)
