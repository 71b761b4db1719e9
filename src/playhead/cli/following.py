"""The command that follows: entries are printed as they come."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio

from playhead.cli.output import Output
from playhead.cli.store_choice import existing_tape
from playhead.cli.transcript import entry_lines
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import entry_to_json


async def follow(args: Namespace, out: Output) -> int:
    """Print entries as they come, until the program is interrupted or `--count` were printed."""
    left = args.count
    async with existing_tape(args) as tape, aclosing(tape.follow(args.consumer, after=args.after)) as entries:  # type: ignore[type-var]
        async for entry in entries:
            if out.as_json:
                out.json(entry_to_json(entry))
            else:
                out.lines(*entry_lines(entry, width=out.width))
            out.flush()
            left = None if left is None else left - 1
            if left == 0:
                await _acknowledge(entries)
                break
    return 0


async def _acknowledge(entries: AsyncIterator[TapeEntry]) -> None:
    """Ask for more without waiting for it, which is how a reader says that it is done with what it got."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anext(entries, None)
