"""The commands that say what memory may not fold, and what it is to tell anew: pin, unpin, pins, forget."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playhead.cli.arguments import DIGITS
from playhead.cli.fold_arguments import EXTRACTIVE
from playhead.cli.folding import entries_told
from playhead.cli.grove import pin_facts
from playhead.cli.hints import command
from playhead.cli.output import Output, listed
from playhead.cli.parser import MEMORY
from playhead.cli.plain import one_line, short_name
from playhead.cli.store_choice import existing_tape
from playhead.cli.tree import pins_table
from playhead.cli.words import speaker
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, SummaryNotFound
from playhead.fold.forest import Pin
from playhead.fold.ledger.memory import FoldMemory
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.manager.stored import ROWS
from playhead.tape.tape import Tape


async def pin(args: Namespace, out: Output) -> int:
    """Keep entries raw, whatever is folded around them."""
    async with existing_tape(args) as tape, _managed(tape, args) as manager:
        first, last = await pinned_ends(tape, args.first, args.last)
        id = await manager.mark_document(first.uid, name=args.name) if args.document else await manager.pin_range(first.uid, last.uid, name=args.name)
        made = next(pin for pin in await manager.list_pins() if pin.id == id)
    if out.as_json:
        out.json({"tape": args.tape, "namespace": args.namespace, "pin": pin_facts(made)})
    else:
        out.write(one_line(f"{made.id} keeps {entries_told(made.first, made.last)} of tape '{args.tape}' raw{_called(made)}"))
    return 0


async def unpin(args: Namespace, out: Output) -> int:
    """Let pinned entries be folded again."""
    async with existing_tape(args) as tape, _managed(tape, args) as manager:
        found = next((pin for pin in await manager.list_pins() if pin.id == args.pin), None)
        if found is None:
            raise InvalidInput(f"Tape '{args.tape}' has no pin '{args.pin}'; {command('pins', args, carries=MEMORY)} lists those there are.")
        await manager.unpin(found.id)
    if out.as_json:
        out.json({"tape": args.tape, "namespace": args.namespace, "pin": pin_facts(found)})
    else:
        where = entries_told(found.first, found.last) if found.first and found.last else "what is not"
        out.write(one_line(f"{found.id} is gone{_called(found)}; {where} of tape '{args.tape}' may be folded"))
    return 0


async def pins(args: Namespace, out: Output) -> int:
    """List what is pinned of a tape."""
    async with existing_tape(args) as tape, _managed(tape, args) as manager:
        found = await manager.list_pins()
    if out.as_json:
        out.json({"tape": args.tape, "namespace": args.namespace, "pins": [pin_facts(pin) for pin in found]})
    elif found:
        out.lines(*pins_table(found, width=out.width))
    else:
        out.note(f"Nothing of tape '{args.tape}' is pinned; {command('pin', args, 'FIRST', 'LAST', carries=MEMORY)} keeps entries raw.")
    return 0


async def forget(args: Namespace, out: Output) -> int:
    """Take back a summary and those above it, so that what they told is told anew."""
    async with existing_tape(args) as tape, _managed(tape, args) as manager:
        memory = FoldMemory(tape, namespace=args.namespace)
        node = await memory.node(args.summary)
        above = None if node is None else await memory.above(node)
        if node is None or above is None:
            raise SummaryNotFound(args.summary)
        await manager.forget_summary(node.id, reason=args.reason)
    gone = [node.id, *(each.id for each in above)]
    if out.as_json:
        out.json({"tape": args.tape, "namespace": args.namespace, "forgotten": gone, "first": node.first, "last": node.last})
        return 0
    what = f"{node.id} is taken back" if not above else f"{node.id} is taken back, and {listed(gone[1:])} above it"
    raw = f"{entries_told(node.first, node.last)} are raw again" if not node.children else "what it was merged from stands alone again"
    out.write(one_line(f"{what}; {raw}"))
    out.note(f"{command('fold', args, '--summarizer', EXTRACTIVE, carries=MEMORY)}, or with a model, writes it anew")
    return 0


@asynccontextmanager
async def _managed(tape: Tape, args: Namespace) -> AsyncIterator[ContextManager]:
    async with ContextManager.open(store=tape.store, tape=tape.name, namespace=args.namespace) as manager:
        yield manager


async def pinned_ends(tape: Tape, one: str, other: str | None) -> tuple[TapeEntry, TapeEntry]:
    """Return the first and the last message from one entry to another, each named by its id or uid.

    Raises InvalidInput where there is none.
    """
    first = await _entry(tape, one)
    last = first if other is None else await _entry(tape, other)
    first, last = sorted((first, last), key=lambda entry: entry.id)
    rows = tape.query().kinds(*ROWS).after(first.id - 1).up_to(last.id)
    found, newest = await rows.limit(1).all(), await rows.newest_first().limit(1).all()
    if not found or not newest:
        what = f"Entry {first.id} of tape '{tape.name}' is {speaker(first)}" if first.id == last.id else f"Entries {first.id}-{last.id} of tape '{tape.name}' hold no message"
        raise InvalidInput(f"{what}: only messages, calls and results are folded, so only they are pinned.")
    return found[0], newest[0]


async def _entry(tape: Tape, named: str) -> TapeEntry:
    """Return the entry that an id or a uid names. Raises InvalidInput where there is none."""
    if named.isascii() and named.isdigit() and len(named) <= DIGITS:
        found = await tape.query().after(int(named) - 1).limit(1).all() if int(named) else []
        entry: TapeEntry | None = found[0] if found else None
    else:
        entry = (await tape.store.find(tape.name, uids=[named])).get(named)
    if entry is None:
        raise InvalidInput(f"Tape '{tape.name}' has no entry {short_name(named)}; it ends at entry {(await tape.head()).id}.")
    return entry


def _called(pin: Pin) -> str:
    return f", as {pin.kind} '{short_name(pin.name)}'" if pin.name else ""
