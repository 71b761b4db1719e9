"""The commands for whole tapes: rename, copy."""

from __future__ import annotations

from argparse import Namespace

from playhead.cli.hints import masked
from playhead.cli.output import Output, counted
from playhead.cli.store_choice import chosen_store, existing_tape, shown_url
from playhead.cli.transferring import copy_tapes


async def rename(args: Namespace, out: Output) -> int:
    """Give a tape, with its branches and sidecars, or a branch another name."""
    async with existing_tape(args) as tape:
        renamed = await tape.rename(args.name)
    if out.as_json:
        out.json({"tape": args.tape, "name": renamed.name})
    else:
        out.write(f"'{args.tape}' is called '{renamed.name}' now")
    return 0


async def copy(args: Namespace, out: Output) -> int:
    """Copy what a tape shows, and its sidecars, to a tape of its own; or bring whole tapes to another store, where none is named."""
    if args.tape is None:
        return await copy_tapes(args, out)
    target = args if args.to is None else Namespace(**{**vars(args), "store": args.to})
    async with existing_tape(args) as tape, chosen_store(target) as store:
        copied = await tape.copy(args.name, store=None if args.to is None else store)
        entries = (await copied.head()).id
    url = shown_url(args) if args.to is None else masked(args.to)
    if out.as_json:
        out.json({"tape": args.tape, "name": copied.name, "store": url, "entries": entries})
    else:
        out.write(f"copied {counted(entries, 'entry')} of '{args.tape}' to '{copied.name}'" + ("" if args.to is None else f" in {url}"))
    return 0
