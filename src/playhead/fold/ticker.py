"""Ticks: one summary or one merge at a time, decided from what the tape and the forest say, written by the summarizer that was named."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from playhead.entry.entry import parse_date
from playhead.errors import BranchClosed, Conflict
from playhead.fold.choosing.backlog import Backlog, Cut, Survey
from playhead.fold.choosing.chunks import Chunk, chunk_of, thin_note
from playhead.fold.choosing.schedule import ChunkJob, JobSpan, MergeJob, due_chunks, due_merges, next_job
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Forest
from playhead.fold.ledger.entries import node_entry, outcome_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node
from playhead.fold.resolvers.protocol import Produce
from playhead.fold.writing.drafting import draft_of
from playhead.fold.writing.gathering import Gathering, PhaseOf
from playhead.fold.writing.job import Deferred, Failed, Job, Paused, RungOutcome, Written
from playhead.fold.writing.summarizer import Summarizer
from playhead.model.protocol import ToolSpec
from playhead.tracing import span
from playhead.view.tokens import Counter, text_tokens

_log = logging.getLogger("playhead")
_ATTEMPTS = 8
_AHEAD = 1
"""How many closed chunks beyond those held back are looked at."""

_PASSED_OVER = 64
"""How many jobs that wait for the agent's tools one tick passes over."""

Did = Literal["summary", "merge", "note", "failed", "paused", "deferred", "lost", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """What a tick did: it is true where something was done, so that another tick may find more to do.

    It wrote a `summary`, a `merge` or the fixed `note` of a thin chunk, `failed` for good, `paused`, `deferred` (it waits
    for the agent's tools), `lost` (others told the span meanwhile, or it is held), or `nothing` was due. `node` is what was written, `why` says more.
    """

    did: Did
    node: Node | None = None
    why: str = ""

    def __str__(self) -> str:
        node = self.node
        told = "" if node is None else f" {node.id}, entries {node.first}-{node.last}, {node.raw_tokens:,} tokens of {node.units:,} units"
        return f"{self.did}{told}{f': {self.why}' if self.why else ''}"

    def __bool__(self) -> bool:
        return self.did in ("summary", "merge", "note", "failed")


NOTHING = Ticked(did="nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is due: the chunks to be told by a summary, oldest first, and how many merges could be made now."""

    forest: Forest
    chunks: tuple[Chunk, ...]
    merges: int

    @property
    def tokens(self) -> int:
        """What the chunks cost raw."""
        return sum(chunk.tokens for chunk in self.chunks)


@dataclass(slots=True, kw_only=True)
class Identity:
    """Under whose name summaries are written: the agent's own system prompt and tools, as they are when one is written."""

    system_prompt: str | None = None
    tools: tuple[ToolSpec, ...] = ()


class Ticker:
    """Does one job at a time on one tape.

    `writer` finds who writes when a job is due; None from it means that nobody can, and nothing is done. `frozen_from` says from which
    entry on holds bar everything; what was written of it meanwhile is thrown away. `room` says how much was compiled for last, None before
    anything was. `is_current` turns false once the result of a
    running job must not be kept any more, as after a switch to another branch.
    """

    def __init__(
        self,
        memory: FoldMemory,
        *,
        config: AutobiographicalConfig,
        writer: Callable[[], Awaitable[Summarizer | None]],
        identity: Identity,
        cut: Cut,
        phase_of: PhaseOf,
        price: Callable[[Node], int],
        frozen_from: Callable[[], Awaitable[int | None]],
        room: Callable[[], int | None],
        is_current: Callable[[], bool],
    ) -> None:
        self._memory = memory
        self._config = config
        self._writer = writer
        self._identity = identity
        self._frozen_from = frozen_from
        self._room = room
        self._is_current = is_current
        self._price = price
        self._backlog = Backlog(memory.tape, config=config, cut=cut)
        self._gathering = Gathering(memory, config=config, phase_of=phase_of)
        self._failed_merge: JobSpan | None = None
        self._offered: dict[JobSpan, int] = {}
        self.demands: tuple[Produce, ...] = ()

    async def tick(self) -> Ticked:
        """Do the next job, if one is due. Raises NoCompressionModel where one is and nobody was named to write it."""
        deferred: set[JobSpan] = set()
        why = ""
        while True:
            frozen = await self._frozen_from()
            forest = await self._of_this_regime(await self._memory.look())
            survey = await self._backlog.survey(forest, frozen_from=frozen, room=self._room())
            due = await self._due(forest, survey, frozen, deferred)
            is_again = due is None
            due = due or await self._again(forest, frozen, deferred)
            if due is None:
                return Ticked(did="deferred", why=why) if deferred else NOTHING
            ticked = await self._do(due, forest, survey)
            if is_again and ticked.did == "lost":
                continue
            if ticked.did != "deferred" or len(deferred) > _PASSED_OVER:
                return ticked
            deferred.add(due.span)
            why = ticked.why

    async def waiting(self) -> Waiting:
        """Return what is due: reads the whole backlog, so it costs what that holds."""
        frozen = await self._frozen_from()
        forest = await self._memory.look()
        survey = await self._backlog.survey(forest, frozen_from=frozen, room=self._room())
        chunks, _ = await self._backlog.chunks(survey, enough=1 << 40, demands=self.demands)
        due = due_chunks(chunks, self._config, frozen_from=frozen, demands=self.demands)
        return Waiting(forest=forest, chunks=tuple(job.chunk for job in due), merges=len(due_merges(forest, self._config, frozen_from=frozen)))

    async def forest(self) -> Forest:
        """Return the forest as it stands."""
        return await self._memory.look()

    async def written_at(self, entry: int) -> datetime:
        """Return when an entry of the tape was written."""
        return parse_date((await self._memory.tape.query().after(entry - 1).limit(1).all())[0].date)

    async def _due(self, forest: Forest, survey: Survey, frozen: int | None, deferred: set[JobSpan]) -> ChunkJob | MergeJob | None:
        enough = self._config.l1_holdback_chunks + _AHEAD + len(deferred)
        chunks, has_more = await self._backlog.chunks(survey, enough=enough, demands=self.demands)
        return next_job(forest, chunks, self._config, price=self._price, frozen_from=frozen, deferred=deferred, demands=self.demands, last_failed_merge=self._failed_merge, reaches_newest=not has_more)

    async def _of_this_regime(self, forest: Forest) -> Forest:
        """Return the forest without what was given up under other settings, or by another model: that is tried anew."""
        if not forest.stuck:
            return forest
        writer = await self._writer()
        return forest if writer is None else replace(forest, outcomes=tuple(o for o in forest.outcomes if not o.is_stuck or o.regime == writer.regime))

    async def _again(self, forest: Forest, frozen: int | None, deferred: set[JobSpan]) -> ChunkJob | None:
        """Return a chunk that was given up and whose request may be another one by now, as other summaries stand before it; each once for a forest."""
        for outcome in forest.stuck:
            span = (outcome.level, outcome.first, outcome.last)
            if outcome.level != 1 or span in deferred or self._offered.get(span) == forest.counter or (frozen is not None and outcome.last >= frozen):
                continue
            self._offered[span] = forest.counter
            units = await self._memory.tape.read_range(outcome.first, outcome.last)
            if units:
                return ChunkJob(chunk=replace(chunk_of(units, after=outcome.first - 1), last=outcome.last, last_uid=outcome.last_uid))
        return None

    async def _do(self, due: ChunkJob | MergeJob, forest: Forest, survey: Survey) -> Ticked:
        job = await self._gathering.chunk_job(due.chunk) if isinstance(due, ChunkJob) else await self._gathering.merge_job(due.nodes)
        counter = self._memory.tape.counter
        with span("fold", tape=self._memory.tape.name, level=job.level, before=sum(_costs(job, counter))) as told:
            ticked = await self._came(due, job, forest, survey)
            told.add(ticked=ticked, **({} if ticked.node is None else {"after": text_tokens(ticked.node.text, counter=counter)}))
            return ticked

    async def _came(self, due: ChunkJob | MergeJob, job: Job, forest: Forest, survey: Survey) -> Ticked:
        if isinstance(due, ChunkJob) and due.is_thin:
            return await self._kept(job, Written(text=thin_note(due.chunk)), did="note", model="")
        writer = await self._writer()
        if writer is None:
            return Ticked(did="deferred", why="no client serves the compression_model")
        surroundings = await self._gathering.surroundings(job, forest=forest, survey=survey, system_prompt=self._identity.system_prompt, tools=self._identity.tools)

        async def note(outcome: RungOutcome) -> None:
            await self._noted(job, outcome)

        came = await writer.write(job, surroundings, note=note)
        self._failed_merge = due.span if isinstance(due, MergeJob) and not isinstance(came, Written) else None
        match came:
            case Written():
                return await self._kept(job, came, did="merge" if job.is_merge else "summary", model=writer.name)
            case Failed():
                why = "; ".join(f"{outcome.rung}: {outcome.outcome}" for outcome in came.outcomes)
                return Ticked(did="failed", why=why) if came.outcomes else Ticked(did="lost", why="it came to nothing before, and nothing else can be asked")
            case Paused():
                return Ticked(did="paused", why=f"until {came.until.isoformat(timespec='seconds')}: {came.why}")
            case Deferred():
                return Ticked(did="deferred", why=came.why)

    async def _kept(self, job: Job, written: Written, *, did: Did, model: str) -> Ticked:
        """Keep what was written, unless its span was told by others or came to be held meanwhile."""
        draft = draft_of(job, written, config=self._config, counter=self._memory.tape.counter, model=model)
        for _ in range(_ATTEMPTS):
            lost = await self._lost(job)
            if lost:
                return Ticked(did="lost", why=lost)
            forest = await self._memory.look()
            if not _is_free(job, forest):
                return Ticked(did="lost", why="its span was told by others meanwhile")
            try:
                entry = (await self._memory.append([node_entry(draft, id=f"L{job.level}-{forest.counter + 1}")], since=forest))[0]
            except BranchClosed:
                return Ticked(did="lost", why="the branch was closed meanwhile")
            except Conflict:
                continue
            await self._memory.look()
            await self._memory.checkpoint()
            return Ticked(did=did, node=await self._memory.node(entry.uid))
        return Ticked(did="lost", why="the tape beside it kept growing")

    async def _lost(self, job: Job) -> str:
        if not self._is_current():
            return "the branch was switched meanwhile"
        frozen = await self._frozen_from()
        return "it is held" if frozen is not None and job.last >= frozen else ""

    async def _noted(self, job: Job, outcome: RungOutcome) -> None:
        """Keep an outcome beside the tape, whoever else writes there."""
        entry = outcome_entry(
            first_uid=job.first_uid,
            last_uid=job.last_uid,
            entries=job.last - job.first + 1,
            children=tuple(node.uid for node in job.sources),
            level=job.level,
            regime=outcome.regime,
            rung=outcome.rung,
            shape=outcome.shape,
            outcome=outcome.outcome,
            model=outcome.model,
            is_stuck=outcome.is_stuck,
        )
        try:
            await self._memory.write(lambda _: [entry])
        except BranchClosed:
            return
        except Conflict:
            _log.warning("An outcome of a summary was not kept, as the tape beside it kept growing; its request may be made again.")


def _costs(job: Job, counter: Counter) -> Iterator[int]:
    """Yield what each thing costs that is told more shortly."""
    for node in job.sources:
        yield text_tokens(node.text, counter=counter)
    if not job.is_merge:
        yield from (unit.tokens for unit in job.units)


def _is_free(job: Job, forest: Forest) -> bool:
    """Whether nobody told a span since: for a merge, whether its sources still stand without a parent."""
    if job.is_merge:
        roots = {node.uid for node in forest.roots}
        return all(node.uid in roots for node in job.sources)
    return not any(node.first <= job.last and job.first <= node.last for node in forest.roots)
