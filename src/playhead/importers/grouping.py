"""Records into items: the records of one model turn, spread over the file, become one; its results come behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from playhead.importers.items import Item, Marks, Piece
from playhead.importers.tree import NO_GROUP, Sort

HELD = 64 << 20
"""How many bytes wait at most for the rest of a turn; above it the turn is written in two."""

GROUPED = (Sort.TURN, Sort.BOUNDARY, Sort.SUMMARY)
BREAKS = (Sort.PROMPT, Sort.ERROR)
"""What ends a turn although more of it follows: the conversation has moved on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A record as an item of its own, and what the tree knows of it."""

    item: Item
    sort: Sort
    group: int = NO_GROUP
    has_more: bool = False
    is_early: bool = False


@dataclass(slots=True)
class _Open:
    """A group that is being read, and what came in the meantime."""

    group: int
    first: Item
    pieces: list[Piece]
    waiting: list[Item] = field(default_factory=list)

    @classmethod
    def with_first(cls, step: Step) -> _Open:
        """Return a group that begins with a step."""
        return cls(step.group, step.item, list(step.item.pieces))


class Grouping:
    """Takes steps in reading order and yields items in the order they go onto the tape.

    On the main line everything behind the first record of a turn waits until the turn is whole, so that no result
    stands before its call. Beside it turns may interleave, and only their own results wait.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._main: _Open | None = None
        self._beside: dict[int, _Open] = {}
        self._early: dict[int, list[Item]] = {}
        self._held = 0

    def add(self, step: Step) -> Iterator[Item]:
        """Take one step; yield what is ready."""
        if step.is_early:
            self._early.setdefault(step.group, []).append(step.item)
            self._held += step.item.size
        elif step.item.branch == "main":
            yield from self._on_main(step)
        else:
            yield from self._on_branch(step)
        if self._held > HELD:
            yield from self.end()

    def end(self) -> Iterator[Item]:
        """Yield what still waits."""
        yield from self._close_main()
        for open_ in tuple(self._beside.values()):
            yield from self._close(open_)
        self._beside.clear()
        for early in self._early.values():
            yield from early
        self._early.clear()
        self._held = 0

    def _on_main(self, step: Step) -> Iterator[Item]:
        if step.sort in GROUPED:
            if self._main is not None and self._main.group == step.group != NO_GROUP:
                self._main.pieces.extend(step.item.pieces)
            else:
                yield from self._close_main()
                self._main = _Open.with_first(step)
            self._held += step.item.size
            if not step.has_more:
                yield from self._close_main()
            return
        if step.sort in BREAKS:
            yield from self._close_main()
        if self._main is None:
            yield step.item
        else:
            self._main.waiting.append(step.item)
            self._held += step.item.size

    def _on_branch(self, step: Step) -> Iterator[Item]:
        open_ = self._beside.get(step.group) if step.group else None
        if step.sort not in GROUPED or not step.group:
            if open_ is None:
                yield step.item
            else:
                open_.waiting.append(step.item)
                self._held += step.item.size
            return
        if open_ is None:
            open_ = self._beside[step.group] = _Open.with_first(step)
        else:
            open_.pieces.extend(step.item.pieces)
        self._held += step.item.size
        if not step.has_more:
            del self._beside[step.group]
            yield from self._close(open_)

    def _close_main(self) -> Iterator[Item]:
        if self._main is not None:
            open_, self._main = self._main, None
            yield from self._close(open_)

    def _close(self, open_: _Open) -> Iterator[Item]:
        """Yield a group and what waited for it; where its beginning is on the tape, the rest takes its own place in line."""
        early = self._early.pop(open_.group, []) if open_.group else []
        whole = replace(open_.first, pieces=tuple(open_.pieces))
        self._held -= whole.size + sum(i.size for i in (*open_.waiting, *early))
        for item in sorted((whole, *open_.waiting), key=self._marks.first_new):
            yield item
            if item is whole:
                yield from early
