"""The command that shows memory: the summaries of a tape as a tree, what of them is shown, and what stays raw."""

from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from rich.text import Text

from playhead.cli.bar import LOOKS
from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.folding import stuck_told
from playhead.cli.grove import Grove, Leaf, facts, grown, leaf_facts, pinned, untold
from playhead.cli.hints import command
from playhead.cli.layout import Column, prose, table
from playhead.cli.output import Output, counted, listed
from playhead.cli.parser import MEMORY
from playhead.cli.plain import one_line, short_name
from playhead.cli.remembering import no_memory
from playhead.cli.store_choice import existing_tape
from playhead.fold.choosing.quarantine import quarantined
from playhead.fold.forest import Pin

WIDE = 120
"""From how many columns on each summary says who wrote it, and when what it tells ended."""

MANY = 60
"""From how many rows on the shorter tree is pointed at."""

NAMED = 5
"""How many runs of entries that no summary tells are named, the newest of them."""

WORDS_MOST = 200
"""How many characters of a summary are looked at for its row."""

_LEADING = re.compile(r"^\s*\[[^\]]*\]\s*")
"""A date in brackets that the words of a summary begin with: its row says when it was."""


async def tree(args: Namespace, out: Output) -> int:
    """Show the summaries of a tape: which tells what, in how few tokens, and which are shown now."""
    async with existing_tape(args) as tape:
        grove = await grown(tape, args)
        if args.markdown is not None:
            from playhead.cli.forest_markdown import write_markdown  # noqa: PLC0415 - only a document needs it

            return await write_markdown(grove, args, out)
        if out.as_json:
            await out.json_with_list(facts(grove, args), key="summaries", items=(leaf_facts(leaf) async for leaf in grove.leaves(depth=args.depth)))
            return 0
        leaves = [leaf async for leaf in grove.leaves(depth=args.depth)]
        if leaves:
            out.lines(*_headed(grove, args, out.width), *_table(leaves, out.width), *_legend(grove, out.width))
        out.lines(*_pins(grove.forest.pins, out.width))
        out.flush()
        for remark in await _remarks(grove, leaves, args):
            out.note(one_line(remark))
        if stuck := quarantined(grove.forest):
            fold = command("fold", args, "--summarizer", EXTRACTIVE, carries=MEMORY)
            out.warn(one_line(f"{stuck_told(stuck)} {fold}, or another model, tries anew."))
    return 0


def _headed(grove: Grove, args: Namespace, width: int | None) -> Iterator[Text]:
    forest = grove.forest
    whose = f" under {args.namespace}" if args.namespace is not None else ""
    levels = listed(f"{count:,} of level {level}" for level, count in sorted(forest.counts.items(), reverse=True) if count)
    yield from prose(f"tape '{args.tape}' up to entry {grove.end}: {counted(sum(forest.counts.values()), 'summary')}{whose} ({levels})", width=width, style="bold")
    yield Text("")


def _table(leaves: Sequence[Leaf], width: int | None) -> Iterator[Text]:
    is_wide = width is None or width >= WIDE
    columns = [
        Column(heading="", is_tree=True),
        Column(heading="summary", is_tree=True),
        Column(heading="entries"),
        Column(heading="units", is_number=True),
        Column(heading="tokens", is_number=True),
        Column(heading="from"),
        *([Column(heading="to"), Column(heading="by", most=24)] if is_wide else []),
        Column(heading="words", is_cut=True),
    ]
    rows = []
    for leaf in leaves:
        node = leaf.node
        since, until = (f"{moment:%Y-%m-%d %H:%M}" if is_wide else f"{moment:%Y-%m-%d}" for moment in (node.since, node.until))
        rows.append(
            (
                LOOKS["summary"][0] if leaf.is_shown else "",
                "  " * (leaf.depth - 1) + node.id,
                f"{node.first}-{node.last}",
                f"{node.units:,}",
                f"{node.raw_tokens:,} → {leaf.tokens:,}",
                since,
                *([until, node.model or "-"] if is_wide else []),
                _LEADING.sub("", node.text[:WORDS_MOST]),
            )
        )
    yield from table(columns, rows, width=width, styles=[LOOKS["summary"][1] if leaf.is_shown else "" for leaf in leaves])


def _legend(grove: Grove, width: int | None) -> Iterator[Text]:
    forest = grove.forest
    yield Text("")
    if forest.cut is None:
        yield from prose("Nothing of it was shown yet: that is chosen at the first compile.", width=width)
    elif not grove.shown:
        yield from prose("None of it is shown now: all of the past fits raw.", width=width)
    else:
        sign, style = LOOKS["summary"]
        yield Text.assemble((sign, style), f" shown now ({len(grove.shown):,}), chosen for {forest.cut.room:,} tokens by {one_line(forest.cut.resolver)}")
    if runs := untold(grove):
        more = [f"{len(runs) - NAMED:,} more runs"] if len(runs) > NAMED else []
        yield from prose(f"told by none: entries {listed([*runs[-NAMED:], *more])}", width=width)


def _pins(pins: Sequence[Pin], width: int | None) -> Iterator[Text]:
    if pins:
        yield Text("")
        yield from pins_table(pins, width=width)


def pins_table(pins: Sequence[Pin], *, width: int | None) -> Iterator[Text]:
    """Yield the pins of a tape as a table."""
    columns = (Column(heading="pin"), Column(heading="entries"), Column(heading="kind"), Column(heading="name", is_cut=True))
    yield from table(columns, [(pin.id, pinned(pin), pin.kind, short_name(pin.name or "")) for pin in pins], width=width)


async def _remarks(grove: Grove, leaves: Sequence[Leaf], args: Namespace) -> list[str]:
    forest, told = grove.forest, []
    if not forest.roots:
        told.append(await no_memory(grove.tape, args))
    if len(leaves) > MANY and args.depth is None:
        told.append(f"{command('tree', args, '--depth', '1', carries=MEMORY)} shows the {counted(len(forest.roots), 'root')} alone; --markdown writes all of it whole.")
    if ignored := Tally(forest.ignored).total():
        told.append(f"{counted(ignored, 'entry')} beside the tape count{'s' if ignored == 1 else ''} for nothing: {listed(f'{why} ({count:,})' for why, count in forest.ignored.items())}.")
    return told
