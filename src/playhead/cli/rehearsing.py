"""Rehearsing: what folding would take, found by folding a copy in memory with requests that are priced and not sent."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.text import Text

from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.hints import command
from playhead.cli.layout import Column, table
from playhead.cli.output import Output, counted
from playhead.cli.parser import SETTINGS
from playhead.cli.steps import Step, Steps, nothing_due, tools_called
from playhead.entry.entry import TapeEntry
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.extractive import ExtractiveSummarizer
from playhead.fold.writing.job import Job, Surroundings, Written
from playhead.fold.writing.ladder import regime_of
from playhead.fold.writing.prompts import Material
from playhead.fold.writing.summarizer import Note, Summarizer
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.change import Append
from playhead.store.family import sidecar_name
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape
from playhead.view.calibration import ScaledCounter, counter_for
from playhead.view.tokens import Counter

COPY = "rehearsal"
PAGE = 512
UNNAMED = "a model"
WORDS = "Then this was done, that was said, and so it went on. "
"""What a summary says that nobody wrote; only its length counts."""

MANY = 50

COLUMNS = (
    Column(heading="level"),
    Column(heading="summaries", is_number=True),
    Column(heading="requests", is_number=True),
    Column(heading="input tokens", is_number=True),
    Column(heading="output tokens", is_number=True),
    Column(heading="tells"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that would be made: for a summary of which level, its tokens, those asked for as its answer, and whether it fits."""

    level: int
    input: int
    output: int
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What folding would take, for the summaries of one level: how many, in how many requests, of how many tokens.

    `raw_tokens` is what they tell, `told_tokens` what they cost as they are shown, as long as they are asked to be.
    """

    level: int
    summaries: int
    requests: int
    input_tokens: int
    output_tokens: int
    raw_tokens: int
    told_tokens: int


class Priced:
    """Prices requests for summaries as a model would get them, and answers with as many words as are asked for; implements `Summarizer`."""

    def __init__(self, config: AutobiographicalConfig, *, name: str) -> None:
        self.name = name
        self.regime = regime_of(config, model=name)
        self.asked: list[Asked] = []
        self.target = config.summary_target_tokens
        self._config = config

    async def write(self, job: Job, surroundings: Surroundings, *, note: Note) -> Written:
        """Return words of the length that is asked for, never more than what they tell."""
        material = Material(job, surroundings, config=self._config)
        draft = material.draft()
        raw = sum(source.raw_tokens for source in job.sources) if job.is_merge else sum(unit.tokens for unit in job.units)
        output = min(self.target, raw)
        self.asked.append(Asked(level=job.level, input=draft.tokens - material.answer, output=output, fits=draft.fits))
        return Written(text=_words(output, surroundings.counter))


async def rehearse(tape: Tape, strategy: AutobiographicalStrategy, args: Namespace, out: Output) -> int:
    """Say how many summaries and merges are due and will come due, and what requests for them hold."""
    config = strategy.config
    priced = Priced(config, name=args.summarizer or UNNAMED)
    writer: Summarizer = ExtractiveSummarizer(config) if args.summarizer == EXTRACTIVE else priced
    store = InMemoryTapeStore()
    try:
        copy = await _copied(tape, strategy, store)
        steps = Steps(copy, strategy, writer=_always(writer), tools=() if writer is not priced else await tools_called(copy))
        taken = [step async for step in steps]
    finally:
        await store.aclose()
    rows = list(estimates(taken, priced.asked, scale=_scale(args.summarizer)))
    if out.as_json:
        out.json(_json(rows, args))
        return 0
    if not rows:
        out.note(nothing_due(strategy, args))
        return 0
    out.lines(*_lines(rows, width=out.width))
    out.flush()
    for remark in _remarks(priced, args, counter=tape.counter):
        out.note(remark)
    return 0


def estimates(taken: Sequence[Step], asked: Sequence[Asked], *, scale: float = 1.0) -> Iterator[Estimate]:
    """Yield what the summaries of each level would take, the lowest first; `scale` is how many tokens a model counts for one of ours."""
    nodes = [(step.node, step.tokens or 0) for step in taken if step.node is not None]
    for level in sorted({node.level for node, _ in nodes}):
        requests = [request for request in asked if request.level == level]
        told = [(node, tokens) for node, tokens in nodes if node.level == level]
        yield Estimate(
            level=level,
            summaries=len(told),
            requests=len(requests),
            input_tokens=round(scale * sum(request.input for request in requests)),
            output_tokens=sum(request.output for request in requests),
            raw_tokens=sum(node.raw_tokens for node, _ in told),
            told_tokens=sum(tokens for _, tokens in told),
        )


def _scale(summarizer: str | None) -> float:
    counter = counter_for(summarizer or UNNAMED)
    return counter.factor if isinstance(counter, ScaledCounter) else 1.0


def _always(writer: Summarizer) -> Callable[[], Awaitable[Summarizer]]:
    async def named() -> Summarizer:
        return writer

    return named


def _words(tokens: int, counter: Counter) -> str:
    """Return words of about so many tokens."""
    return WORDS * max(1, round(tokens * MANY / max(1, counter.count(WORDS * MANY))))


async def _copied(tape: Tape, strategy: AutobiographicalStrategy, store: WholeStore) -> Tape:
    """Return a copy of a tape and its memory in another store; nothing of it is shared."""
    beside = strategy.memory(tape).sidecar
    label = strategy.memory(tape).name
    marks = [mark.id for mark in await beside.store.marks(beside.name)]
    async for page in _pages(beside):
        first = page[0].id - 1
        await store.apply([Append(tape=sidecar_name(COPY, label), entries=page, marks=marks[first : first + len(page)])])
    async for page in _pages(tape):
        await store.append_many(COPY, page)
    return Tape(store, COPY, context=tape.context, counter=tape.counter)


async def _pages(tape: Tape) -> AsyncIterator[list[TapeEntry]]:
    query, last = TapeQuery(tape=tape.name).limit(PAGE), 0
    while page := list(await tape.store.fetch_all(query.after(last))):
        yield page
        last = page[-1].id


def _lines(rows: Sequence[Estimate], *, width: int | None) -> Iterator[Text]:
    cells = [(*_numbers(str(row.level), [row]), f"{row.raw_tokens:,} → {row.told_tokens:,} tokens") for row in rows]
    yield from table(COLUMNS, [*cells, (*_numbers("all", rows), "")] if len(rows) > 1 else cells, width=width)


def _numbers(name: str, rows: Sequence[Estimate]) -> tuple[str, ...]:
    numbers = (sum(row.summaries for row in rows), sum(row.requests for row in rows), sum(row.input_tokens for row in rows), sum(row.output_tokens for row in rows))
    return name, *(f"{number:,}" for number in numbers)


def _remarks(priced: Priced, args: Namespace, *, counter: Counter) -> Iterator[str]:
    if args.summarizer == EXTRACTIVE:
        yield "extractive asks no model, so this is what it would write"
    else:
        by = f"{counter.name} x {_scale(args.summarizer):.2f}" if _scale(args.summarizer) != 1.0 else counter.name
        target = priced.target
        yield f"an estimate, counted by {by}: one request a summary, answered with at most the {target:,} tokens that are asked for; what a model refuses is asked for again in another way"
    if too_long := sum(not request.fits for request in priced.asked):
        yield f"{counted(too_long, 'request')} hold more than compression_context_budget_tokens; such a run is asked for in other ways, or stays raw"
    summarizer = args.summarizer or "PROVIDER:MODEL"
    yield f"{command('fold', args, '--summarizer', summarizer, carries=SETTINGS)} writes them"


def _json(rows: Sequence[Estimate], args: Namespace) -> dict[str, object]:
    told = {"tape": args.tape, "strategy": args.strategy, "namespace": args.namespace, "summarizer": args.summarizer}
    return {**told, "wrote": [], "failed": [], "given_up": [], "due": None, "ended": "dry-run", "why": None, "estimate": [asdict(row) for row in rows]}
