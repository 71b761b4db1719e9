"""The commands that read: ls, info, anchors, search."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.text import Text

from playhead.agent.spending import TapeUsage, usage_of
from playhead.cli.hints import command
from playhead.cli.layout import Column, table
from playhead.cli.output import Output, counted
from playhead.cli.plain import one_line, short_name
from playhead.cli.spending import spent_json, spent_rows
from playhead.cli.store_choice import ANCHOR_WORDS, chosen_store, existing_tape, is_absent, shown_url, tape_at
from playhead.cli.transcript import found_lines, moment
from playhead.cli.words import as_json
from playhead.entry.entry import MESSAGE, TOOL_CALL, TOOL_RESULT
from playhead.entry.lines import entry_to_json
from playhead.errors import InvalidInput
from playhead.store.transfer.draft import without_drafts
from playhead.tape.summary import AnchorSummary, TapeInfo
from playhead.tape.tape import Tape

NAME_MOST = 24
"""How much of an anchor's name stands in a table, in columns."""


async def ls(args: Namespace, out: Output) -> int:
    """List the tapes of the store."""
    url = shown_url(args)
    async with chosen_store(args) as store:
        names = [] if is_absent(store) else await without_drafts(store, await store.list_tapes())
        tapes = [await Tape(store, name).info() for name in names]
        branches = {name: sum(record.is_open for record in await store.branches(name)) for name in names}
    if out.as_json:
        out.json({"store": url, "tapes": [{**_facts(t), "branches": branches[t.name]} for t in tapes]})
    elif not tapes:
        out.note(f"{url} has no tapes yet; {command('import', args, 'FILE', '--tape', 'NAME')} or {command('append', args, '--tape', 'NAME', 'TEXT')} makes one.")
    else:
        columns = (*(Column(heading=heading, is_number=True) for heading in ("entries", "anchors", "branches")), Column(heading="last entry"), Column(heading="tape"))
        rows = [(f"{t.entries:,}", f"{t.anchors:,}", f"{branches[t.name]:,}" if branches[t.name] else "", moment(t.last_date), t.name) for t in tapes]
        out.lines(*table(columns, rows, width=out.width))
        if any(branches.values()):
            out.note(f"{command('branches', args)} shows the open branches.")
    return 0


def _facts(info: TapeInfo) -> dict[str, object]:
    facts = asdict(info)
    return {"tape": facts.pop("name"), **facts}


async def info(args: Namespace, out: Output) -> int:
    """Say what a tape holds."""
    async with existing_tape(args) as tape:
        facts, generation, sidecars = await tape.info(), (await tape.head()).generation, await tape.store.sidecars(tape.name)
        spent, said = await usage_of(tape), await said_on(tape)
    if out.as_json:
        out.json({**_facts(facts), "said": said, "store": shown_url(args), "generation": generation, "sidecars": sidecars, "usage": spent_json(spent)})
        return 0
    out.lines(*info_lines(facts, url=shown_url(args), generation=generation, sidecars=sidecars, spent=spent, said=said))
    return 0


async def said_on(tape: Tape) -> int:
    """Return how many entries of a tape are messages, calls and results; the others keep the record."""
    return await tape.store.count(tape.query().kinds(MESSAGE, TOOL_CALL, TOOL_RESULT))


def info_lines(facts: TapeInfo, *, url: str, generation: int, sidecars: Sequence[str], spent: TapeUsage, said: int) -> Iterator[Text]:
    """Yield what a tape holds, a line for each fact."""
    since = f" ({counted(facts.entries_since_last_anchor, 'entry')} since)" if facts.last_anchor else ""
    cached = "" if facts.last_cache_hit_rate is None else f", {facts.last_cache_hit_rate:.0%} of the prompt cached"
    rows = [
        ("tape", facts.name),
        ("store", url),
        ("entries", f"{facts.entries:,}" + (f" ({said:,} said or done, {facts.entries - said:,} kept for the record)" if said < facts.entries else "")),
        ("first entry", moment(facts.first_date)),
        ("last entry", moment(facts.last_date)),
        ("anchors", f"{facts.anchors:,}"),
        ("last anchor", f"{short_name(facts.last_anchor or 'none')}{since}"),
        ("last run", "no tokens recorded" if facts.last_token_usage is None else f"{facts.last_token_usage:,} tokens{cached}"),
        *spent_rows(spent),
        ("resets", f"{generation:,}"),
        *([("sidecars", ", ".join(sidecars))] if sidecars else []),
    ]
    for name, fact in rows:
        yield Text.assemble((f"{name:<12}", "dim"), one_line(fact))


async def anchors(args: Namespace, out: Output) -> int:
    """List the last anchors of a tape."""
    async with existing_tape(args) as tape:
        found = await tape.anchors(args.last)
    if out.as_json:
        out.json({"tape": args.tape, "anchors": [{"id": a.id, "name": a.name, "date": a.date, "state": a.state} for a in found]})
    elif not found:
        out.note(f"Tape '{args.tape}' has no anchors; {command('handoff', args, 'NAME')} leaves one.")
    else:
        out.lines(*anchors_table(found, width=out.width))
    return 0


def anchors_table(found: Sequence[AnchorSummary], *, width: int | None) -> Iterator[Text]:
    """Yield anchors as the lines of a table."""
    columns = (Column(heading="entry", is_number=True), Column(heading="written"), Column(heading="anchor", most=NAME_MOST), Column(heading="state", is_cut=True))
    return table(columns, [(str(a.id), moment(a.date), a.name, as_json(a.state) if a.state else "") for a in found], width=width)


async def search(args: Namespace, out: Output) -> int:
    """Print the entries that are most about a text."""
    if not args.anchor:
        raise InvalidInput("An anchor's name is a non-empty text; --anchor none searches the whole tape.")
    async with existing_tape(args) as tape:
        searched = await tape_at(tape, args.at)
        hits = await searched.search(
            args.text, kinds=args.kinds or None, after_anchor=ANCHOR_WORDS.get(args.anchor, args.anchor), since=args.start, until=args.end, limit=args.limit, smoothed=args.smoothed
        )
    if out.as_json:
        out.json({"tape": args.tape, "text": args.text, "entries": [{**entry_to_json(hit.entry), "score": round(hit.score, 4)} for hit in hits]})
        return 0
    for hit in hits:
        out.lines(*found_lines(hit.entry, args.text, width=out.width))
    if not hits:
        out.note(f"No entry of tape '{args.tape}' that is searched has a word of '{args.text}'.")
    return 0
