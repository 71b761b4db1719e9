"""Gathering: from a job that is due to all that its summary is written from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from playhead import clock
from playhead.entry.entry import TapeEntry, parse_date
from playhead.fold.choosing.backlog import Survey
from playhead.fold.choosing.chunks import Chunk
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Forest, held_raw
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node, Voice
from playhead.fold.writing.job import Job, Surroundings
from playhead.model.protocol import ToolSpec
from playhead.tape.tape import Tape
from playhead.view.runs import meets
from playhead.view.units import Unit

BETWEEN = 20_000
"""The most tokens of raw between the summaries before a job that are shown beside them, the newest of it."""

PhaseOf = Callable[[Sequence[Unit]], str | None]


class Gathering:
    """Reads from a tape what a job needs, and what stood before it when it happened."""

    def __init__(self, memory: FoldMemory, *, config: AutobiographicalConfig, phase_of: PhaseOf) -> None:
        self._memory = memory
        self._tape: Tape = memory.tape
        self._config = config
        self._phase_of = phase_of

    async def chunk_job(self, chunk: Chunk) -> Job:
        """Return the job of a chunk."""
        first, last = await self._entry(chunk.first), await self._entry(chunk.last)
        return Job(
            level=1,
            first=chunk.first,
            last=chunk.last,
            first_uid=first.uid,
            last_uid=last.uid,
            units=chunk.units,
            phase=self._phase_of(chunk.units),
            voice=await self._voice(chunk),
            since=parse_date((await self._entry(chunk.units[0].first)).date),
            until=parse_date((await self._entry(max(unit.last for unit in chunk.units))).date),
        )

    async def merge_job(self, sources: Sequence[Node]) -> Job:
        """Return the job of a merge: at level 2 with the raw under its sources."""
        first, last, level = sources[0], sources[-1], sources[0].level + 1
        voices = {node.voice for node in sources}
        phases = {node.phase for node in sources}
        return Job(
            level=level,
            first=first.first,
            last=last.last,
            first_uid=first.first_uid,
            last_uid=last.last_uid,
            units=await self._tape.read_range(first.first, last.last) if level == 2 else (),
            sources=tuple(sources),
            phase=phases.pop() if len(phases) == 1 else None,
            voice=voices.pop() if len(voices) == 1 else "normal",
            since=first.since,
            until=last.until,
        )

    async def surroundings(self, job: Job, *, forest: Forest, survey: Survey, system_prompt: str | None, tools: tuple[ToolSpec, ...]) -> Surroundings:
        """Return what stands around a job: nothing later than it."""
        pinned = held_raw(forest)
        memories = tuple(n for n in forest.roots if n.last < job.first and not meets(pinned, n.first, n.last))
        return Surroundings(
            head=tuple(u for u in survey.head if _stood_before(u, job, survey) and forest.root_at(u.first) is None and not (system_prompt and u.role == "system")),
            memories=memories,
            between=await self._between(survey.raw_before(job.first, [n.span for n in memories])),
            deeper=await self._deeper(job, memories),
            system_prompt=system_prompt,
            tools=tools,
            counter=self._tape.counter,
            outcomes=tuple(o for o in forest.outcomes if o.level == job.level and o.first == job.first and o.last == job.last),
            now=clock.now(),
            tape=self._tape.name,
        )

    async def _deeper(self, job: Job, memories: Sequence[Node]) -> tuple[Node, ...]:
        above = job.sources if job.level > 2 else [n for n in memories if n.level > 1][-self._config.recall_expansions :] if job.level == 1 and self._config.recall_expansions else []
        return tuple([child for node in above for child in await self._memory.children(node)])

    async def _between(self, runs: Iterable[tuple[int, int]]) -> tuple[Unit, ...]:
        found: list[Unit] = []
        left = BETWEEN
        for first, last in reversed(tuple(runs)):
            for unit in reversed(await self._tape.read_range(max(first, last - BETWEEN // 4), last)):
                if unit.tokens > left:
                    return tuple(reversed(found))
                found.append(unit)
                left -= unit.tokens
        return tuple(reversed(found))

    async def _voice(self, chunk: Chunk) -> Voice:
        before = self._config.witnessed_before
        if before is not None:
            place = (await self._memory.places([before])).get(before)
            if place is not None and chunk.last < place:
                return "witnessed"
        bodies = {unit.body.id if unit.body is not None else None for unit in chunk.units}
        body = chunk.units[0].body
        return "reading" if len(bodies) == 1 and body is not None and body.count >= 2 * len(chunk.units) else "normal"

    async def _entry(self, id: int) -> TapeEntry:
        found: list[TapeEntry] = await self._tape.query().after(id - 1).limit(1).all()
        return found[0]


def _stood_before(unit: Unit, job: Job, survey: Survey) -> bool:
    """Whether a unit that the view opens with stood there before a job's run: the note of an anchor did where the run lies behind that."""
    return unit.last < job.first if unit.ids else survey.start <= job.first
