"""The command that shows: the entries of a tape, or those of them that a model is shown something of."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Sequence

from playhead.cli.hints import command
from playhead.cli.output import Output, counted, listed
from playhead.cli.parser import SHOWN
from playhead.cli.store_choice import existing_tape, tape_until
from playhead.cli.transcript import entry_lines, whole_entry_lines
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import entry_to_json
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape

READ_FIRST, READ_MOST = 16_000, 4_000_000
"""How much of a view is read to tell what it shows, in tokens from its end: at first, and at most for the line below."""


async def show(args: Namespace, out: Output) -> int:
    """Print the entries of a tape."""
    async with existing_tape(args) as tape:
        tape = await tape_until(tape, args.until)
        entries = _asked(tape, args, last=_last(args, out))
        if out.as_json:
            await out.json_with_list({"tape": args.tape}, key="entries", items=(entry_to_json(e) async for e in entries))
            return 0
        printed, lines = list[int](), whole_entry_lines if args.full else entry_lines
        async for entry in entries:
            printed.append(entry.id)
            if args.raw:
                out.json(entry_to_json(entry))
            else:
                out.lines(*lines(entry, width=out.width))
        if not printed:
            out.note(_nothing(args))
        elif not args.raw:
            out.flush()
            for remark in [*await _before(tape, args, printed), *await _hidden(tape, args, printed)]:
                out.note(remark)
    return 0


def _last(args: Namespace, out: Output) -> int | None:
    """Return with how many entries from the end a tape is shown: for a reader the last few, unless the arguments say which."""
    is_text = not (out.as_json or args.raw)
    return SHOWN if is_text and args.last is None and not (args.all or args.first or args.after) else args.last


async def _asked(tape: Tape, args: Namespace, *, last: int | None) -> AsyncIterator[TapeEntry]:
    query = tape.query().kinds(*args.kinds).after(args.after)
    shown = ShownEntries(tape) if args.shown else None
    if last is None:
        async for entry in _some(query, shown, count=args.first):
            yield entry
        return
    for entry in reversed([entry async for entry in _some(query.newest_first(), shown, count=last)]):
        yield entry


async def _some(query: TapeQuery, shown: ShownEntries | None, *, count: int | None) -> AsyncIterator[TapeEntry]:
    """Yield the first `count` entries of a query, all where it is None, that a model is shown where that is asked for."""
    if shown is None:
        async for entry in query if count is None else query.limit(count):
            yield entry
        return
    async for entry in query:
        if await shown.reach(entry.id) and entry.id in shown.ids:
            yield entry
            count = None if count is None else count - 1
            if count == 0:
                return


class ShownEntries:
    """The entries that a model is shown something of, in a tape's view; read no further back than it is asked about."""

    def __init__(self, tape: Tape) -> None:
        self.ids: frozenset[int] = frozenset()
        self._tape = tape
        self._tail = 0
        self._unread: tuple[range, ...] = ()

    async def reach(self, id: int, *, most: int | None = None) -> bool:
        """Read on until it is known of entry `id` and all behind it; returns whether `most` tokens were enough."""
        while not self._tail or any(id in run for run in self._unread):
            if most is not None and self._tail >= most:
                return False
            self._tail = max(READ_FIRST, 4 * self._tail)
            units = await self._tape.read(tail_tokens=self._tail)
            note = [units.before.id] if units.before is not None and any(u.kind == "note" for u in units) else []
            self.ids = frozenset([*note, *(i for u in units for i in u.ids)])
            self._unread = tuple(range(gap.first, gap.last + 1) for gap in units.gaps)
        return True


def _nothing(args: Namespace) -> str:
    of = f" of kind {listed(args.kinds)}" if args.kinds else ""
    behind = f" behind entry {args.after}" if args.after else ""
    return f"Tape '{args.tape}' has no entry{of}{behind}{' that a model is shown' if args.shown else ''}."


async def _before(tape: Tape, args: Namespace, printed: Sequence[int]) -> list[str]:
    """Say how many entries stand before those printed, where nothing said to print these alone."""
    if args.shown or args.last or args.after or args.first:
        return []
    before = await tape.store.count(tape.query().kinds(*args.kinds).before(printed[0]))
    return [f"{counted(before, 'entry')} before {'this' if len(printed) == 1 else 'these'}; {_again(args, '--all')} prints all of them."] if before else []


async def _hidden(tape: Tape, args: Namespace, printed: Sequence[int]) -> list[str]:
    """Say how many of the entries printed a model is not shown, where telling it takes no long reading."""
    shown = ShownEntries(tape)
    if args.shown or not await shown.reach(printed[0], most=READ_MOST):
        return []
    hidden = sum(id not in shown.ids for id in printed)
    one = hidden == 1
    told = f"{hidden:,} of these {len(printed):,} entries" if len(printed) > 1 else "This entry"
    return [f"{told} {'is' if one else 'are'} not shown to a model; {_again(args, '--shown')} leaves {'it' if one else 'them'} out."] if hidden else []


def _again(args: Namespace, option: str) -> str:
    """Return the same command with one option more."""
    kinds = ["--kind", *args.kinds] if args.kinds else []
    until = ["--until", args.until] if args.until else []
    return command("show", args, *until, option, *kinds)
