"""Schedule: which summary is to be written next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from playhead.fold.choosing.chunks import Chunk, is_thin
from playhead.fold.choosing.quarantine import quarantined
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Forest
from playhead.fold.node import Node
from playhead.fold.resolvers.protocol import Produce

JobSpan = tuple[int, int, int]
"""What a job is known by: the level of the summary that it writes, the first and the last entry."""

FLAT_LEVELS = 3
"""Up to this level the widest summary that may be merged is the same; above it grows by the threshold with each level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkJob:
    """A chunk to be told by a summary of level 1, or, where it `is_thin`, by a fixed note."""

    chunk: Chunk
    is_thin: bool = False

    @property
    def span(self) -> JobSpan:
        """What the job is known by."""
        return 1, self.chunk.first, self.chunk.last


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeJob:
    """Adjacent summaries of one level, oldest first, to be told by one of the next."""

    nodes: tuple[Node, ...]

    @property
    def level(self) -> int:
        """The level of the summary to be written."""
        return self.nodes[0].level + 1

    @property
    def span(self) -> JobSpan:
        """What the job is known by."""
        return self.level, self.nodes[0].first, self.nodes[-1].last


def next_job(
    forest: Forest,
    chunks: Sequence[Chunk],
    config: AutobiographicalConfig,
    *,
    price: Callable[[Node], int] | None = None,
    frozen_from: int | None = None,
    deferred: Collection[JobSpan] = (),
    demands: Sequence[Produce] = (),
    last_failed_merge: JobSpan | None = None,
    reaches_newest: bool = True,
) -> ChunkJob | MergeJob | None:
    """Return what to write next, None where nothing is due.

    Chunks go before merges; with adaptive resolution a merge goes first where it frees more of the prompt than the next chunk would. One whose last
    attempt failed (`last_failed_merge`) lets a chunk go first. `chunks` are closed ones that nothing owns, oldest first; where newer
    closed ones stand behind them they do not reach the newest, and none of them is held back. `price` says what a summary costs as it is
    shown, None for summary_target_tokens. What lies at or behind entry `frozen_from` waits, and jobs that are `deferred` are passed over. `demands`
    are summaries that a refused compile asked for: they wait neither for their neighbours nor for newer chunks (specs: context-manager
    13.2, 11.9, 11.13, 12.4).
    """
    due = due_chunks(chunks, config, frozen_from=frozen_from, demands=demands, reaches_newest=reaches_newest)
    chunk = next((job for job in due if job.span not in deferred), None)
    merge = next((job for job in due_merges(forest, config, frozen_from=frozen_from, demands=demands) if job.span not in deferred), None)
    if chunk is None or merge is None:
        return chunk or merge
    if not config.adaptive_resolution or merge.span == last_failed_merge:
        return chunk
    return merge if _frees_more(merge, chunk.chunk, forest, price or (lambda _: config.summary_target_tokens)) else chunk


def due_chunks(chunks: Sequence[Chunk], config: AutobiographicalConfig, *, frozen_from: int | None = None, demands: Iterable[Produce] = (), reaches_newest: bool = True) -> tuple[ChunkJob, ...]:
    """Return the chunks that may be summarised now, oldest first: neither held, nor among the newest that wait, unless these are demanded."""
    waiting = len(chunks) - (config.l1_holdback_chunks if reaches_newest else 0)
    wanted = [demand for demand in demands if demand.level == 1]
    return tuple(
        ChunkJob(chunk=chunk, is_thin=is_thin(chunk, least_chars=config.min_chunk_chars_for_llm))
        for index, chunk in enumerate(chunks)
        if (index < waiting or any(demand.first <= chunk.last and chunk.first <= demand.last for demand in wanted)) and not _is_frozen(chunk.last, frozen_from)
    )


def due_merges(forest: Forest, config: AutobiographicalConfig, *, frozen_from: int | None = None, demands: Iterable[Produce] = ()) -> tuple[MergeJob, ...]:
    """Return the merges that may be made now: those demanded, then the others by level, the oldest first."""
    if not config.hierarchical:
        return ()
    barred = frozenset(child for outcome in quarantined(forest) for child in outcome.children)
    runs = _Runs(forest.roots, threshold=config.merge_threshold, widest=config.merge_max_source_span_messages, barred=barred)
    groups = [*filter(None, (runs.demanded(demand) for demand in demands)), *runs.groups()]
    return tuple(MergeJob(nodes=group) for group in groups if not _is_frozen(group[-1].last, frozen_from))


def merge_groups(roots: Sequence[Node], *, threshold: int, widest: int | None = None, barred: Collection[str] = ()) -> tuple[tuple[Node, ...], ...]:
    """Return the groups of summaries without a parent that are to be merged, the lowest level first, in each the oldest first.

    Summaries are adjacent where the entries of one begin right behind the other's. A run that can still grow, as nothing of its level or above
    stands behind it, waits until it has `threshold`; another is merged as soon as it has two. No group leaves a single
    one behind. A summary of more than `widest` units, times the threshold for each level above 3, and the `barred` ones are never
    offered, and part their neighbours (specs: context-manager 15.1, 15.2, E6, E7).
    """
    return _Runs(roots, threshold=threshold, widest=widest, barred=barred).groups()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Adjacent summaries of one level; `can_grow` where more may still join them."""

    nodes: tuple[Node, ...]
    can_grow: bool

    def groups(self, threshold: int) -> Iterator[tuple[Node, ...]]:
        left = self.nodes
        while len(left) >= (threshold if self.can_grow else 2):
            size = min(len(left), threshold)
            if len(left) - size == 1:
                size = size - 1 if size > 2 else len(left)
            yield left[:size]
            left = left[size:]


class _Runs:
    """The runs of mergeable summaries among the roots of a forest."""

    def __init__(self, roots: Sequence[Node], *, threshold: int, widest: int | None, barred: Collection[str]) -> None:
        self._threshold = threshold
        self._widest = widest
        self._barred = barred
        self.runs = tuple(self._found(roots))

    def groups(self) -> tuple[tuple[Node, ...], ...]:
        groups = (group for run in self.runs for group in run.groups(self._threshold))
        return tuple(sorted(groups, key=lambda group: (group[0].level, group[0].first)))

    def demanded(self, demand: Produce) -> tuple[Node, ...] | None:
        """Return the oldest of the longest group that can be merged at once into a summary of the level asked for, None without two of them."""
        inside = (tuple(n for n in run.nodes if n.level == demand.level - 1 and demand.first <= n.last and n.first <= demand.last) for run in self.runs)
        longest = max(inside, key=len, default=())
        return longest[: self._threshold] if len(longest) > 1 else None

    def _found(self, roots: Sequence[Node]) -> Iterator[_Run]:
        behind = list(accumulate((root.level for root in reversed(roots)), max, initial=0))[::-1]
        run: list[Node] = []
        for index, root in enumerate(roots):
            if run and not (self._may_join(root) and root.level == run[-1].level and root.first == run[-1].last + 1):
                yield _Run(nodes=tuple(run), can_grow=behind[index] < run[-1].level)
                run = []
            if self._may_join(root):
                run.append(root)
        if run:
            yield _Run(nodes=tuple(run), can_grow=True)

    def _may_join(self, node: Node) -> bool:
        is_too_wide = self._widest is not None and node.units > self._widest * self._threshold ** max(0, node.level - FLAT_LEVELS)
        return not is_too_wide and node.uid not in self._barred


def _is_frozen(last: int, frozen_from: int | None) -> bool:
    return frozen_from is not None and last >= frozen_from


def _frees_more(merge: MergeJob, chunk: Chunk, forest: Forest, price: Callable[[Node], int]) -> bool:
    """Whether a merge frees more tokens than a chunk, as both are shown now: the chunk raw, summaries that the cut does not show not at all.

    Either leaves a new summary in its place, taken to cost the same, so what that costs does not count.
    """
    shown = () if forest.cut is None else forest.cut.nodes
    return sum(price(node) for node in merge.nodes if node.uid in shown) > chunk.tokens
