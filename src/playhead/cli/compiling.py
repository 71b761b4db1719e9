"""The commands that compile: compile, explain."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from rich.text import Text

from playhead import clock
from playhead.cli.bar import LOOKS, USUAL_WIDTH, Share, bar, legend
from playhead.cli.failures import spoken
from playhead.cli.files import replaced
from playhead.cli.hints import command
from playhead.cli.layout import Column, prose, table
from playhead.cli.output import Output, counted
from playhead.cli.parser import CARRIED
from playhead.cli.plain import REASON_MOST, short_name
from playhead.cli.remembering import no_memory, tell_written, tellers, tellers_facts, tellers_lines, told_line, write_due, written_facts
from playhead.cli.steps import Step
from playhead.cli.store_choice import existing_tape, viewed_tape
from playhead.cli.strategy_choice import strategy_of
from playhead.cli.transcript import message_lines
from playhead.entry.entry import ANCHOR
from playhead.errors import InvalidInput, OverBudgetError
from playhead.fold.node import Node
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.explain import HIDDEN, Explanation, Row, told_entries, told_tokens
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.view.calibration import counter_for
from playhead.view.pieces import BOOTSTRAP
from playhead.view.plan import Span
from playhead.view.projection import BEGINNING, DEFAULT

OPENAI = "openai"
"""The provider whose body `compile --json` holds where none is named."""

ROWS_SHOWN = 24
"""How many rows an explanation shows at each end of a long one."""

COLUMNS = (
    Column(heading="form"),
    Column(heading="entries"),
    Column(heading="count", is_number=True),
    Column(heading="tokens", is_number=True),
    Column(heading="reason"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A prompt, what was written before it (None where that was not asked for), and what is to be said of memory.

    `told_by` are the summaries that tell the entry `--why` asks about, the nearest first; None for a strategy that does not fold.
    """

    prompt: Prompt
    wrote: tuple[Step, ...] | None = None
    told_by: tuple[Node, ...] | None = None
    remark: str = ""


async def compiled(args: Namespace, out: Output, *, dry_run: bool = False) -> Compiled:
    """Return the prompt that the arguments ask for; with a summarizer what is due is written first."""
    budget = Budget(max_tokens=args.max_tokens, reserve_for_response=args.reserve)
    counter = None if args.model is None else counter_for(args.model)
    strategy = strategy_of(args)
    async with existing_tape(args, counter=counter) as tape:
        viewed = await viewed_tape(tape, args)
        if not isinstance(strategy, AutobiographicalStrategy):
            return Compiled(prompt=await compile(viewed, budget, strategy=strategy, dry_run=dry_run))
        wrote = None if args.summarizer is None else await write_due(viewed, strategy, budget, out)
        if wrote is not None and not out.as_json:
            tell_written(wrote, args, out)
        prompt = await compile(viewed, budget, strategy=strategy, dry_run=dry_run)
        memory, why = strategy.memory(viewed), getattr(args, "why", None)
        told_by = None if why is None else await tellers(memory, why)
        remark = "" if (await memory.look()).roots else await no_memory(viewed, args)
        return Compiled(prompt=prompt, wrote=wrote, told_by=told_by, remark=remark)


async def compile_tape(args: Namespace, out: Output) -> int:
    """Print what a model should see of a tape: as text, or as a provider's body."""
    made = await compiled(args, out)
    prompt = made.prompt
    if out.as_json:
        provider = args.provider or OPENAI
        payload = prompt.to(provider, model=args.model) if args.provider or prompt.messages else None
        told = {"provider": provider, "model": args.model, "spans": _spans(prompt), "provenance": _provenance(prompt), "wrote": written_facts(made.wrote), "payload": payload}
        out.json({**_told(prompt), **told})
        return 0
    if args.provider is not None:
        out.json(prompt.to(args.provider, model=args.model))
    else:
        for message in prompt.messages:
            out.lines(*message_lines(message, width=out.width))
    out.flush()
    used = f"{prompt.stats.total:,} of {prompt.budget.room:,} tokens ({args.strategy}, counted by {prompt.stats.counter})"
    out.note(f"{counted(len(prompt.messages), 'message')}, {used}; {command('explain', args, carries=CARRIED)} says why")
    for remark in filter(None, (told_line(prompt), made.remark)):
        out.note(remark)
    return 0


async def explain(args: Namespace, out: Output) -> int:
    """Say why each part of a tape is in the prompt or out; also for a budget in which it does not fit."""
    made = await compiled(args, out, dry_run=True)
    prompt, explanation = made.prompt, made.prompt.explain()
    if args.html is not None:
        _write_page(prompt, args.html, out)
    if args.why is not None:
        _tell_why(made, args, out)
    elif out.as_json:
        over = prompt.over_budget
        out.json({**_told(prompt), "wrote": written_facts(made.wrote), "rows": [asdict(r) for r in explanation], "over_budget": None if over is None else over.details, "html": args.html})
    elif args.html is None:
        out.lines(*_headed(prompt, out.width), *explained(explanation, width=out.width), Text(""), *budget_bar(prompt, width=out.width))
    if made.remark and args.why is None and not out.as_json:
        out.flush()
        out.note(made.remark)
    if prompt.over_budget is not None:
        raise prompt.over_budget
    return 0


def _tell_why(made: Compiled, args: Namespace, out: Output) -> None:
    """Say what became of one entry, and by which summaries it is told."""
    prompt = made.prompt
    if args.why > prompt.provenance.head:
        raise InvalidInput(f"Tape '{args.tape}' ends at entry {prompt.provenance.head}; there is no entry {args.why} to tell of.")
    why = spoken(prompt.explain().why(args.why), kind=OverBudgetError)
    if out.as_json:
        told_by = {} if made.told_by is None else {"told_by": tellers_facts(made.told_by, prompt)}
        out.json({"tape": args.tape, "entry": args.why, "why": why, **told_by})
        return
    out.write(f"entry {args.why}: {short_name(why, most=REASON_MOST)}")
    if made.told_by is not None:
        out.lines(*tellers_lines(made.told_by, prompt, width=out.width))


def _write_page(prompt: Prompt, file: str, out: Output) -> None:
    from playhead.prompt.report.page import report_chunks  # noqa: PLC0415 - only a page needs it

    with replaced(file) as page:
        for chunk in report_chunks(prompt, compiled=clock.now()):
            page.write(chunk.encode(errors="replace"))
    if not out.as_json:
        out.note(f"wrote {file}")


def _told(prompt: Prompt) -> dict[str, object]:
    """Return what all JSON of a compile says; none of it is called `messages`."""
    made, budget = prompt.provenance, prompt.budget
    return {
        "tape": made.tape,
        "generation": made.generation,
        "head": made.head,
        "anchor": made.anchor,
        "budget": {"max_tokens": budget.max_tokens, "reserve_for_response": budget.reserve_for_response, "room": budget.room},
        "strategy": made.strategy,
        "stats": asdict(replace(prompt.stats, by_level=dict(sorted(prompt.stats.by_level.items())))),
        "digest": prompt.digest,
    }


def _spans(prompt: Prompt) -> list[dict[str, object]]:
    return [{"form": s.form, "first": s.first, "last": s.last, "count": s.count, "tokens": s.tokens, "reason": s.reason, "node": s.node, "level": s.level} for s in prompt.plan.spans]


def _provenance(prompt: Prompt) -> dict[str, object]:
    return {"compile_id": prompt.provenance.compile_id, "sources": [asdict(s) for s in prompt.provenance.sources]}


def _headed(prompt: Prompt, width: int | None) -> Iterator[Text]:
    made, budget = prompt.provenance, prompt.budget
    where = f"behind anchor '{short_name(made.anchor)}'" if made.anchor else "from its first entry"
    yield from prose(f"tape '{made.tape}' up to entry {made.head}, read {where}", width=width, style="bold")
    room = f"{budget.room:,} tokens for the prompt and {budget.reserve_for_response:,} for the answer"
    yield from prose(f"{made.strategy}, {room}, counted by {prompt.stats.counter}", width=width)
    yield Text("")


def explained(explanation: Explanation, *, width: int | None) -> Iterator[Text]:
    """Yield the table of an explanation: what form each part has in the prompt, and why."""
    rows = condensed(gathered(explanation.rows))
    yield from table(COLUMNS, [_cells(r, explanation.plan.spans) for r in rows], width=width, styles=[LOOKS.get(r.form, ("", ""))[1] for r in rows])


def gathered(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with those in one, the last, that tell of entries which no model is meant to see: the record of runs, the anchor that a tape begins with."""
    record = [row for row in rows if _is_opening(row) or _is_record(row)]
    if len(record) < 2:
        return list(rows)
    kinds = Tally({ANCHOR: sum(row.count for row in record if _is_opening(row))})
    for row in record:
        if not _is_opening(row):
            kinds[row.reason.partition(": ")[0]] += row.count
    told = ", ".join(counted(count, kind) for kind, count in kinds.most_common() if count)
    summed = Row(form=HIDDEN, first=min(row.first for row in record), last=max(row.last for row in record), count=kinds.total(), tokens=None, reason=f"kept for the record: {told}")
    return [*(row for row in rows if row not in record), summed]


def _is_record(row: Row) -> bool:
    return row.form == HIDDEN and row.reason.partition(": ")[2] in (f"kind not shown by the {DEFAULT.name} projection", BEGINNING)


def _is_opening(part: Row | Span) -> bool:
    """Return whether a part is the `session/start` that a tape begins with, before which nothing stands."""
    return (part.form, part.first, part.last, part.reason) == ("omitted", 1, 1, f"before anchor {BOOTSTRAP}")


def condensed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows to show: of very many the first and the last, and one that sums up those between."""
    if len(rows) <= 2 * ROWS_SHOWN + 1:
        return list(rows)
    between = rows[ROWS_SHOWN:-ROWS_SHOWN]
    forms = ", ".join(f"{count:,} {form}" for form, count in Tally(r.form for r in between).most_common())
    ids = [r for r in between if r.first]
    summed = Row(
        form="…",
        first=ids[0].first if ids else 0,
        last=ids[-1].last if ids else 0,
        count=sum(r.count for r in between),
        tokens=sum(r.tokens or 0 for r in between),
        reason=f"{len(between):,} more spans: {forms}; --json has them all",
    )
    return [*rows[:ROWS_SHOWN], summed, *rows[-ROWS_SHOWN:]]


def _cells(row: Row, spans: Sequence[Span]) -> tuple[str, str, str, str, str]:
    reason = spoken(row.reason, kind=OverBudgetError) if row.form == "omitted" else row.reason
    return row.form, told_entries(row, spans), f"{row.count:,}" if row.count else "", told_tokens(row, spans), short_name(reason, most=REASON_MOST)


def budget_bar(prompt: Prompt, *, width: int | None) -> Iterator[Text]:
    """Yield a prompt's tokens as a bar over the budget's room, and what its signs stand for."""
    room, used = prompt.budget.room, prompt.stats.total
    shares = [Share(form=s.form, tokens=s.tokens or 0) for s in prompt.plan.spans if s.is_shown and s.tokens]
    shares += [Share(form="injection", tokens=prompt.stats.injections)] if prompt.stats.injections else []
    yield bar(shares, room=room, width=width or USUAL_WIDTH)
    yield legend(shares, room=room)
    omitted = [s for s in prompt.plan.spans if not s.is_shown and not _is_opening(s)]
    unread = sum(s.count for s in omitted if s.tokens is None)
    left_out = " and ".join([f"{prompt.stats.omitted:,} tokens"] * bool(prompt.stats.omitted) + [f"{counted(unread, 'entry')} not read (?)"] * bool(unread))
    share = "<1" if 0 < 100 * used < room else 100 * used // room
    yield from prose(f"{used:,} of {room:,} tokens, {share}%" + (f"; left out: {left_out}" if left_out else ""), width=width)
    if told := told_line(prompt):
        yield from prose(told, width=width)
