"""Accounting: what a choice of summaries comes to, and the least that any choice can come to.

Solvers, plans, renderers and tests share these functions, so that what was chosen is what is shown and paid for (specs: folding 2.3, 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from playhead.fold.resolvers.protocol import Item, Produce, Step

LISTED = 10
"""How many of the items that bind a certificate names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Which items a summary stands over: those from index `start` up to, without, `stop`.

    `is_whole` where it may stand for all of them: they have no break, and none is fixed.
    """

    step: Step
    start: int
    stop: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One thing that is shown: a summary (`node`), or an item as it is. It stands for the items from `start` up to `stop`; `offset` is what is shown before it, in tokens."""

    node: str | None
    level: int
    tokens: int
    offset: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a choice comes to: what is shown, in order, and its tokens. `unrealizable` are summaries that were chosen and cannot be shown."""

    shown: tuple[Shown, ...]
    tokens: int
    unrealizable: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The summaries that are shown, in order."""
        return tuple(one.node for one in self.shown if one.node is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The least that items can come to with the summaries there are, and what keeps it there.

    `nodes` are the summaries of that choice, `binding` the items that it shows as they are, `protected_tokens` what fixed
    items cost, `missing` the summaries that would lower it if they existed.
    """

    tokens: int
    nodes: tuple[str, ...]
    binding: tuple[Item, ...]
    protected_tokens: int
    missing: tuple[Produce, ...]

    def certificate(self, room: int) -> dict[str, object]:
        """Return, in JSON form, why the items cannot come to `room` tokens, and what would help."""
        dearest = sorted(self.binding, key=lambda item: -item.tokens)[:LISTED]
        return {
            "floor_tokens": self.tokens,
            "protected_tokens": self.protected_tokens,
            "required_additional_tokens": max(0, self.tokens - room),
            "binding": [{"first": i.first, "last": i.last, "level": i.level, "tokens": i.tokens, "fixed": i.is_fixed} for i in dearest],
            "missing_levels": sorted({wish.level for wish in self.missing}),
            "suggestion": self._suggestion(room),
        }

    def _suggestion(self, room: int) -> str:
        if self.tokens <= room:
            return "it fits, folded as far as it goes"
        if self.protected_tokens > room:
            return f"raise max_tokens by {self.tokens - room:,}, set smaller windows, or unpin: what always stays raw is {self.protected_tokens:,} tokens alone"
        if self.missing:
            where = ", ".join(f"entries {wish.first} to {wish.last} at level {wish.level}" for wish in self.missing[:3])
            return f"let tick() or drain() write the summaries that are missing ({where}), or raise max_tokens by {self.tokens - room:,}"
        return f"raise max_tokens by {self.tokens - room:,}, or unpin something"


def total(items: Iterable[Item]) -> int:
    """Return what items cost as they are shown now."""
    return sum(item.tokens for item in items)


def account(items: Sequence[Item], nodes: Iterable[str]) -> Account:
    """Return what items come to where the summaries `nodes` are shown in place of what they cover.

    Of two over one item the higher counts. What no chosen summary can stand for is shown as it is.
    """
    chosen = dict.fromkeys(nodes)
    over = covers(items)
    shown: list[Shown] = []
    index = offset = 0
    while index < len(items):
        one = _at(index, items[index], chosen, over, offset)
        shown.append(one)
        index, offset = one.stop, offset + one.tokens
    found = {one.node for one in shown}
    return Account(shown=tuple(shown), tokens=offset, unrealizable=tuple(uid for uid in chosen if uid not in found))


def covers(items: Sequence[Item]) -> dict[str, Cover]:
    """Return the summaries that items lie under, by uid, with the run of items of each."""
    steps: dict[str, Step] = {}
    bounds: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        for step in item.above:
            found = bounds.get(step.node)
            if found is None:
                steps[step.node] = step
                found = bounds[step.node] = [index, index, 0]
            found[1] = index + 1
            found[2] += not item.is_fixed
    return {uid: Cover(step=steps[uid], start=start, stop=stop, is_whole=free == stop - start) for uid, (start, stop, free) in bounds.items()}


def paying(items: Sequence[Item], over: Mapping[str, Cover]) -> frozenset[str]:
    """Return the summaries that are worth showing: those that cost less than the least that stands under them can.

    With these alone every fold saves tokens, and folding as far as it goes comes to the least there is (specs: folding 12.3, claim 2).
    """
    least = [item.tokens for item in items]
    stops = list(range(1, len(items) + 1))
    worth: list[str] = []
    for uid, cover in sorted(over.items(), key=lambda one: (one[1].step.level, one[1].start)):
        if not cover.is_whole:
            continue
        below, index = 0, cover.start
        while index < cover.stop:
            below += least[index]
            index = stops[index]
        if cover.step.tokens < below:
            least[cover.start], stops[cover.start] = cover.step.tokens, cover.stop
            worth.append(uid)
    return frozenset(worth)


def missing(items: Sequence[Item], shown: Iterable[Shown]) -> tuple[Produce, ...]:
    """Return the summaries that what is shown could be folded into if they existed; neighbours that want the same level have one together.

    Nothing is missing over what is fixed, or where the summaries there are cover something fixed.
    """
    over = covers(items)
    wanted: list[tuple[int, int, int]] = []
    for one in shown:
        item = items[one.start]
        if item.is_fixed or not all(over[step.node].is_whole for step in item.above):
            continue
        top = over[item.above[-1].node] if item.above else Cover(step=Step(node="", level=item.level, tokens=0), start=one.start, stop=one.stop, is_whole=True)
        level = top.step.level + 1
        if wanted and wanted[-1][0] == level and wanted[-1][2] >= top.start:
            wanted[-1] = (level, wanted[-1][1], max(wanted[-1][2], top.stop))
        else:
            wanted.append((level, top.start, top.stop))
    return tuple(Produce(level=level, first=items[start].first, last=max(items[i].last for i in range(start, stop))) for level, start, stop in wanted)


def floor(items: Sequence[Item]) -> Floor:
    """Return the least that items can come to, and what keeps it there; where a summary costs no less than its parts, these are shown."""
    over = covers(items)
    worth = paying(items, over)
    least = account(items, [uid for uid in over if uid in worth])
    return Floor(
        tokens=least.tokens,
        nodes=least.nodes,
        binding=tuple(items[one.start] for one in least.shown if one.node == items[one.start].node),
        protected_tokens=total(item for item in items if item.is_fixed),
        missing=tuple(wish for wish in missing(items, least.shown) if wish.level == 1 or _is_several(wish, items, least.shown)),
    )


def _is_several(wish: Produce, items: Sequence[Item], shown: Iterable[Shown]) -> bool:
    """Whether a summary that is asked for would have more than one thing to stand for."""
    return sum(wish.first <= items[one.start].first <= wish.last for one in shown) > 1


def _at(index: int, item: Item, chosen: Mapping[str, object], over: Mapping[str, Cover], offset: int) -> Shown:
    """Return what is shown where an item is the first that is not told yet."""
    for step in reversed(item.above):
        cover = over[step.node]
        if step.node in chosen and cover.is_whole:
            return Shown(node=step.node, level=step.level, tokens=step.tokens, offset=offset, start=cover.start, stop=cover.stop)
    return Shown(node=item.node, level=item.level, tokens=item.tokens, offset=offset, start=index, stop=index + 1)
