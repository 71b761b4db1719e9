"""The command that compares: what two tapes share, and what one alone has."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.text import Text

from playhead.cli.layout import VERY_WIDE, cut
from playhead.cli.output import Output, counted
from playhead.cli.store_choice import existing_tape
from playhead.cli.words import entry_words, speaker
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import entry_to_json
from playhead.tape.comparison import TapeDiff
from playhead.tape.tape import Tape
from playhead.tape.tape import diff as compared

STYLES = {"-": "red", "+": "green"}


async def diff(args: Namespace, out: Output) -> int:
    """Show what two tapes share and what one alone has, a line for each entry."""
    async with existing_tape(Namespace(**{**vars(args), "tape": args.first})) as first, existing_tape(Namespace(**{**vars(args), "tape": args.second})) as second:
        found = await compared(first, Tape(first.store, second.name))
    if out.as_json:
        lists = {"removed": [entry_to_json(e) for e in found.removed], "added": [entry_to_json(e) for e in found.added]}
        out.json({"first": args.first, "second": args.second, "shared": found.shared, **lists})
        return 0
    out.lines(*diff_lines(found, args.first, args.second, width=out.width))
    return 0


def diff_lines(found: TapeDiff, first: str, second: str, *, width: int | None) -> Iterator[Text]:
    """Yield what two tapes share, and a line for each entry that one alone has."""
    yield Text(f"{counted(found.shared, 'entry')} shared, {found.shared and f'1 to {found.shared}' or 'none'}", style="bold")
    yield from _side("-", found.removed, first, width)
    yield from _side("+", found.added, second, width)


def _side(sign: str, entries: Sequence[TapeEntry], tape: str, width: int | None) -> Iterator[Text]:
    """Yield a line for each entry that one tape alone has."""
    yield Text(cut(f"{sign}{sign}{sign} {counted(len(entries), 'entry')} only on {tape}", width=width or VERY_WIDE), style=f"bold {STYLES[sign]}")
    for entry in entries:
        yield Text(cut(f"{sign} #{entry.id} {speaker(entry)}: {entry_words(entry)}", width=width or VERY_WIDE), style=STYLES[sign])
