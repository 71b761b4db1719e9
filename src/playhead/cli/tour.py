"""The command that shows the main job: a long conversation kept whole, compiled small, and every choice explained."""

from __future__ import annotations

import shlex
import tempfile
from argparse import Namespace
from collections import Counter as Tally
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from rich.text import Text

from playhead.cli.compiling import budget_bar, explained
from playhead.cli.demo import demo_messages
from playhead.cli.hints import program
from playhead.cli.layout import Column, cut, prose, table
from playhead.cli.output import Output, counted, listed
from playhead.cli.store_choice import MEMORY, chosen_store, shown_url
from playhead.cli.strategy_choice import PLAIN
from playhead.cli.tour_folding import RECENT, WHOLE, Folded, folded, prompts_as_it_went, seen_lines
from playhead.cli.words import entry_words, speaker
from playhead.entry.entry import TapeEntry
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.diff import PromptDiff
from playhead.prompt.prompt import Prompt
from playhead.store.protocol import IDEMPOTENCY_KEY, WholeStore
from playhead.store.search import matches
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.record import entries_of
from playhead.tape.tape import Tape

TAPE = "demo"
BUDGETS = (Budget(max_tokens=32_000, reserve_for_response=4_000), Budget(max_tokens=16_000, reserve_for_response=2_000))
STRATEGIES = ("passthrough", "windowed")
FOLDING = "autobiographical"
ASKED_FOR = "rekey of spi 65d70855"
INDENT = "   "
BATCH = 100
CALLS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The last calls of the model compiled once more by one strategy, and what changed from each call to the next."""

    strategy: str
    prompts: tuple[Prompt, ...]
    diffs: tuple[PromptDiff, ...]

    @property
    def share(self) -> float:
        """The share of the tokens that the provider has seen at the front of the call before."""
        return sum(d.shared_tokens for d in self.diffs) / sum(p.stats.total for p in self.prompts[1:])

    @property
    def breaks(self) -> int:
        """How often something was dropped, so that the rest had to be read again."""
        return sum(not d.is_append for d in self.diffs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """What the demo found: the conversation, its compiles without and with memory, and the replays of its last calls."""

    written: tuple[TapeEntry, ...]
    kept: tuple[TapeEntry, ...]
    tokens: int
    prompts: tuple[Prompt, ...]
    folded: Folded
    replays: tuple[Replay, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every entry stands on the tape as it was written, in order."""
        return [(e.kind, e.payload) for e in self.written] == [(e.kind, e.payload) for e in self.kept]

    @property
    def before(self) -> Prompt:
        """The prompt without memory that is compared: the windowed one in the larger budget."""
        return self.prompts[len(STRATEGIES) - 1]

    @property
    def told(self) -> Prompt:
        """The prompt that is explained: the one with memory in the larger budget."""
        return self.folded.prompts[0]

    @property
    def compiled(self) -> tuple[Prompt, ...]:
        """All prompts, by budget."""
        each = len(STRATEGIES)
        return tuple(p for i in range(len(BUDGETS)) for p in (*self.prompts[i * each : (i + 1) * each], self.folded.prompts[i]))

    @property
    def asked(self) -> TapeEntry:
        """The entry that the conversation's last question is about."""
        return _asked(self.kept)


async def demo(args: Namespace, out: Output) -> int:
    """Keep the demo's conversation, compile it, and show why each part is in or out."""
    async with _store(args) as store:
        tour = await _toured(Tape(store, TAPE))
    if out.as_json:
        out.json(_json(tour))
    else:
        out.lines(*_kept(tour, args, out), *_compiled(tour, out), *_folded(tour, out), *_next(tour, out), *_whole(tour, args, out))
    return 0 if tour.is_whole else 1


@asynccontextmanager
async def _store(args: Namespace) -> AsyncIterator[WholeStore]:
    """Open the store that `--store` names, else one in a directory that is gone afterwards."""
    if args.store:
        async with chosen_store(args) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="playhead-demo-") as place:
        temporary = SQLiteTapeStore(Path(place, "demo.db"))
        try:
            yield temporary
        finally:
            await temporary.aclose()


async def _toured(tape: Tape) -> Tour:
    written = [e for number, item in enumerate(demo_messages()) for e in entries_of(item, {IDEMPOTENCY_KEY: f"demo:{number}"})]
    for start in range(0, len(written), BATCH):
        await tape.append_many(written[start : start + BATCH])
    kept = tuple([entry async for entry in tape.query().limit(len(written))])
    prompts = [await compile(tape, budget, strategy=PLAIN[name]()) for budget in BUDGETS for name in STRATEGIES]
    replays = [await _replayed(tape, kept, name) for name in (*STRATEGIES, FOLDING)]
    memory = await folded(tape, BUDGETS, asked=_asked(kept).id)
    return Tour(written=tuple(written), kept=kept, tokens=(await tape.with_context(WHOLE).read()).tokens, prompts=tuple(prompts), folded=memory, replays=tuple(replays))


def _asked(kept: tuple[TapeEntry, ...]) -> TapeEntry:
    return next((e for e in kept if matches(e, ASKED_FOR)), kept[0])


async def _replayed(tape: Tape, entries: tuple[TapeEntry, ...], strategy: str) -> Replay:
    """Compile what the model was asked at each of its last turns."""
    asked = [before.id for before, entry in pairwise(entries) if speaker(entry) == "assistant"][-CALLS:]
    ends = (*asked, entries[-1].id)
    if strategy == FOLDING:
        prompts = await prompts_as_it_went(entries, ends, BUDGETS[0])
    else:
        prompts = [await compile(tape.at(id), BUDGETS[0], strategy=PLAIN[strategy]()) for id in ends]
    return Replay(strategy=strategy, prompts=tuple(prompts), diffs=tuple(new.diff(old) for old, new in pairwise(prompts)))


def _section(number: int, words: str) -> Iterator[Text]:
    yield Text("")
    yield Text.assemble((f"{number}  ", "bold cyan"), (words, "bold"))


def _shifted(lines: Iterator[Text]) -> Iterator[Text]:
    for line in lines:
        yield Text(INDENT) + line


def _inner(out: Output) -> int | None:
    return None if out.width is None else out.width - len(INDENT)


def _kept(tour: Tour, args: Namespace, out: Output) -> Iterator[Text]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in Tally(e.kind for e in tour.kept).most_common())
    place = shown_url(args) if args.store else "a temporary SQLite store"
    yield from _section(1, "Keep everything")
    yield from _words(f"Two days of an on-call shift, {len(tour.kept)} entries of about {tour.tokens:,} tokens, kept as tape '{TAPE}' in {place}: {kinds}.", out)


def _words(text: str, out: Output) -> Iterator[Text]:
    yield from prose(text, width=out.width, indent=INDENT)


def _compiled(tour: Tour, out: Output) -> Iterator[Text]:
    columns = (
        Column(heading="budget", is_number=True),
        Column(heading="for the prompt", is_number=True),
        Column(heading="strategy"),
        Column(heading="messages", is_number=True),
        Column(heading="tokens", is_number=True),
        Column(heading="shown"),
    )
    rows = [(f"{p.budget.max_tokens:,}", f"{p.budget.room:,}", p.provenance.strategy, f"{len(p.messages):,}", f"{p.stats.total:,}", _shown(p)) for p in tour.compiled]
    yield from _section(2, "Compile what the model should see, within a budget")
    yield from _shifted(table(columns, rows, width=_inner(out)))


def _shown(prompt: Prompt) -> str:
    """Return which entries a prompt shows: those of the run it ends with, and those that summaries tell."""
    return f"all, {counted(sum(prompt.stats.by_level.values()), 'summary')}" if prompt.stats.summaries else f"from entry {_start(prompt)} on"


def _start(prompt: Prompt) -> int:
    """Return the first entry of the run that a prompt ends with."""
    return next((s.first for s in reversed(prompt.plan.spans) if s.is_shown), 0)


def _folded(tour: Tour, out: Output) -> Iterator[Text]:
    prompt, asked, memory = tour.told, tour.asked, tour.folded
    levels = listed(f"{count} of level {level}" for level, count in sorted(memory.levels.items()) if count)
    shown, before = memory.first, tour.before
    start = _start(before)
    yield from _section(3, f"Fold what is old into summaries ({prompt.provenance.strategy}, {prompt.budget.max_tokens:,} tokens)")
    yield from _words(f"Before ({before.provenance.strategy}): entries {start}-{tour.kept[-1].id}, nothing of 1-{start - 1}. After: everything, raw or told by summaries ({levels}).", out)
    yield from _shifted(explained(prompt.explain(), width=_inner(out)))
    yield Text("")
    yield from _shifted(budget_bar(prompt, width=_inner(out)))
    yield Text("")
    yield from _words(f"What the model sees in place of entries {shown.first}-{shown.last}:", out)
    yield from _shifted(seen_lines(shown, width=_inner(out)))
    yield Text("")
    yield from _words(f"The last question is about entry {asked.id}, {cut(entry_words(asked), width=60)}", out)
    chain = ", part of ".join(node.id for node in memory.told_by)
    yield from _words(f"Without memory it is out ({before.explain().why(asked.id)}); now {chain} tells it. Its words are one search away.", out)


def _next(tour: Tour, out: Output) -> Iterator[Text]:
    columns = (Column(heading="strategy"), Column(heading="calls", is_number=True), Column(heading="same front", is_number=True), Column(heading="breaks", is_number=True), Column(heading=""))
    rows = [(r.strategy, str(len(r.diffs)), f"{r.share:.0%} of tokens", str(r.breaks), "") for r in tour.replays]
    yield from _section(4, "Keep the provider's cache warm from call to call")
    yield from _shifted(table(columns, rows, width=_inner(out)))


def _whole(tour: Tour, args: Namespace, out: Output) -> Iterator[Text]:
    yield from _section(5, "Lose nothing")
    kept = "each as it was written, in order" if tour.is_whole else "but not as they were written: this is a defect, please report it"
    yield from _words(f"{len(tour.written)} entries written, {len(tour.kept)} on the tape, {kept}.", out)
    yield Text("")
    is_kept = bool(args.store) and args.store != MEMORY
    store, name = shlex.quote(args.store) if is_kept else "demo.db", program()
    yield from _words("Look around in it:" if is_kept else "To look around in it, keep it:", out)
    told = f"{name} explain --tape {TAPE} --max-tokens {tour.told.budget.max_tokens} --strategy {tour.told.provenance.strategy} --recent {RECENT} --store {store}"
    for line in (*([] if is_kept else [f"{name} demo --store {store}"]), told, f"{name} search {ASKED_FOR.rsplit(maxsplit=1)[-1]} --tape {TAPE} --store {store}"):
        yield Text(f"{INDENT}$ {line}", style="cyan")


def _json(tour: Tour) -> dict[str, object]:
    return {
        "tape": TAPE,
        "written": len(tour.written),
        "kept": len(tour.kept),
        "is_whole": tour.is_whole,
        "tokens": tour.tokens,
        "compiles": [
            {"max_tokens": p.budget.max_tokens, "room": p.budget.room, "strategy": p.provenance.strategy, "count": len(p.messages), "tokens": p.stats.total, "digest": p.digest} for p in tour.compiled
        ],
        "summaries": {str(level): count for level, count in sorted(tour.folded.levels.items())},
        "rows": [asdict(r) for r in tour.told.explain()],
        "asked": {"entry": tour.asked.id, "why": tour.before.explain().why(tour.asked.id), "told_by": [node.id for node in tour.folded.told_by]},
        "replays": [{"strategy": r.strategy, "calls": len(r.diffs), "share": round(r.share, 4), "breaks": r.breaks} for r in tour.replays],
    }
