"""The commands that compile: compile, explain."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.text import Text

from playhead import clock
from playhead.cli.bar import LOOKS, USUAL_WIDTH, Share, bar, legend
from playhead.cli.files import replaced
from playhead.cli.hints import command
from playhead.cli.layout import Column, prose, table
from playhead.cli.output import Output, counted
from playhead.cli.plain import REASON_MOST, short_name
from playhead.cli.store_choice import existing_tape, viewed_tape
from playhead.cli.transcript import message_lines
from playhead.errors import InvalidInput
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.explain import Explanation, Row, told_entries, told_tokens
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.prompt.strategy import Strategy
from playhead.view.calibration import counter_for
from playhead.view.plan import Span

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


def strategy_of(name: str) -> Strategy:
    """Return the strategy of a name on the command line."""
    return WindowedPassthroughStrategy() if name == WindowedPassthroughStrategy.name else PassthroughStrategy()


async def compiled(args: Namespace, *, dry_run: bool = False) -> Prompt:
    """Return the prompt that the arguments ask for."""
    budget = Budget(max_tokens=args.max_tokens, reserve_for_response=args.reserve)
    counter = None if args.model is None else counter_for(args.model)
    async with existing_tape(args, counter=counter) as tape:
        return await compile(await viewed_tape(tape, args), budget, strategy=strategy_of(args.strategy), dry_run=dry_run)


async def compile_tape(args: Namespace, out: Output) -> int:
    """Print what a model should see of a tape: as text, or as a provider's body."""
    prompt = await compiled(args)
    if out.as_json:
        provider = args.provider or OPENAI
        payload = prompt.to(provider, model=args.model) if args.provider or prompt.messages else None
        out.json({**_told(prompt), "provider": provider, "model": args.model, "spans": _spans(prompt), "provenance": _provenance(prompt), "payload": payload})
        return 0
    if args.provider is not None:
        out.json(prompt.to(args.provider, model=args.model))
    else:
        for message in prompt.messages:
            out.lines(*message_lines(message, width=out.width))
    used = f"{prompt.stats.total:,} of {prompt.budget.room:,} tokens ({args.strategy}, counted by {prompt.stats.counter})"
    out.note(f"{counted(len(prompt.messages), 'message')}, {used}; {command('explain', args, view=True)} says why")
    return 0


async def explain(args: Namespace, out: Output) -> int:
    """Say why each part of a tape is in the prompt or out; also for a budget in which it does not fit."""
    prompt = await compiled(args, dry_run=True)
    explanation = prompt.explain()
    if args.html is not None:
        _write_page(prompt, args.html, out)
    if args.why is not None:
        if args.why > prompt.provenance.head:
            raise InvalidInput(f"Tape '{args.tape}' ends at entry {prompt.provenance.head}; there is no entry {args.why} to tell of.")
        why = explanation.why(args.why)
        out.json({"tape": args.tape, "entry": args.why, "why": why}) if out.as_json else out.write(f"entry {args.why}: {short_name(why, most=REASON_MOST)}")
    elif out.as_json:
        over = prompt.over_budget
        out.json({**_told(prompt), "rows": [asdict(r) for r in explanation], "over_budget": None if over is None else over.details, "html": args.html})
    elif args.html is None:
        out.lines(*_headed(prompt, out.width), *explained(explanation, width=out.width), Text(""), *budget_bar(prompt, width=out.width))
    if prompt.over_budget is not None:
        raise prompt.over_budget
    return 0


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
        "stats": asdict(prompt.stats),
        "digest": prompt.digest,
    }


def _spans(prompt: Prompt) -> list[dict[str, object]]:
    return [{"form": s.form, "first": s.first, "last": s.last, "count": s.count, "tokens": s.tokens, "reason": s.reason} for s in prompt.plan.spans]


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
    rows = condensed(explanation.rows)
    yield from table(COLUMNS, [_cells(r, explanation.plan.spans) for r in rows], width=width, styles=[LOOKS.get(r.form, ("", ""))[1] for r in rows])


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
    return row.form, told_entries(row, spans), f"{row.count:,}" if row.count else "", told_tokens(row, spans), short_name(row.reason, most=REASON_MOST)


def budget_bar(prompt: Prompt, *, width: int | None) -> Iterator[Text]:
    """Yield a prompt's tokens as a bar over the budget's room, and what its signs stand for."""
    room, used = prompt.budget.room, prompt.stats.total
    shares = [Share(form=s.form, tokens=s.tokens or 0) for s in prompt.plan.spans if s.is_shown and s.tokens]
    shares += [Share(form="injection", tokens=prompt.stats.injections)] if prompt.stats.injections else []
    yield bar(shares, room=room, width=width or USUAL_WIDTH)
    yield legend(shares, room=room)
    omitted = [s for s in prompt.plan.spans if not s.is_shown]
    unread = sum(s.count for s in omitted if s.tokens is None)
    left_out = " and ".join([f"{prompt.stats.omitted:,} tokens"] * bool(prompt.stats.omitted) + [f"{counted(unread, 'entry')} not read (?)"] * bool(unread))
    share = "<1" if 0 < 100 * used < room else 100 * used // room
    yield from prose(f"{used:,} of {room:,} tokens, {share}%" + (f"; left out: {left_out}" if left_out else ""), width=width)
