"""The commands that look after a store: verify, salvage, backup."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

from anyio import to_thread

from playhead.cli.damage import loss_facts, loss_line, rescue
from playhead.cli.layout import Column, table
from playhead.cli.output import Output, counted
from playhead.cli.plain import one_line
from playhead.cli.store_choice import named_url, own_file, shown_url
from playhead.errors import InvalidInput
from playhead.store import upkeep
from playhead.store.condition.flaws import Flaw

NAMED = 30
"""How many flaws or losses are printed; --json has more."""

STYLES = {"damage": "bold red", "fault": "red", "remnant": "dim"}
COLUMNS = (Column(heading="how bad"), Column(heading="what is amiss"))


async def verify(args: Namespace, out: Output) -> int:
    """Prove the whole store; the exit code is 1 where it is not sound."""
    report = await to_thread.run_sync(upkeep.verify, _url(args))
    if out.as_json:
        counts = {"tapes": report.tapes, "entries": report.entries, "is_sound": report.is_sound}
        out.json({"store": shown_url(args), **counts, "flaws": [_facts(flaw) for flaw in report.flaws], "more": report.more})
        return int(not report.is_sound)
    out.write(one_line(f"{shown_url(args)}: {counted(report.tapes, 'tape')}, {counted(report.entries, 'entry')}, {'sound' if report.is_sound else 'not sound'}"))
    shown = sorted(report.flaws, key=lambda flaw: tuple(STYLES).index(flaw.severity))[:NAMED]
    if shown:
        out.lines(*table(COLUMNS, [(flaw.severity, f"{flaw.where}: {flaw.what}") for flaw in shown], width=out.width, styles=[STYLES[flaw.severity] for flaw in shown]))
    _tell_rest(len(report.flaws) + report.more - len(shown), "flaw", out)
    if not report.is_sound:
        out.note(f"Restore a backup, or keep what can be read with {rescue(args)}.")
    return int(not report.is_sound)


async def salvage(args: Namespace, out: Output) -> int:
    """Keep what can be read of a damaged store."""
    report = await to_thread.run_sync(upkeep.salvage, _url(args))
    if out.as_json:
        out.json(
            {
                "store": shown_url(args),
                "path": str(report.path),
                "kept": report.kept,
                "lost": [loss_facts(loss) for loss in report.lost],
                "original": None if report.original is None else str(report.original),
                "files": [{"path": str(found.path), "original": str(found.original)} for found in report.files],
            }
        )
        return 0
    if report.is_sound:
        out.write(one_line(f"{shown_url(args)} is sound: {counted(report.kept, 'entry')}; nothing was changed"))
        return 0
    out.write(one_line(f"kept {counted(report.kept, 'entry')} in {report.path}" + (f"; {report.original} is as it was" if report.original else "")))
    for found in report.files[:NAMED]:
        out.write(one_line(f"{found.path} was made anew; the damaged file is {found.original}"))
    for loss in report.lost[:NAMED]:
        out.write(one_line(loss_line(loss)))
    _tell_rest(len(report.lost) - NAMED, "loss", out)
    return 0


async def backup(args: Namespace, out: Output) -> int:
    """Copy the store while it is in use."""
    made = await to_thread.run_sync(partial(upkeep.backup, _url(args), args.target))
    if out.as_json:
        out.json({"store": shown_url(args), "target": str(made)})
    else:
        out.write(one_line(f"copied {shown_url(args)} to {made}"))
    return 0


def _url(args: Namespace) -> str:
    """Return the path or URL of the command's store."""
    url = named_url(args)
    if url == "memory:":
        raise InvalidInput("A store in memory ends with the command; name a file, such as --store sqlite:///tapes.db.")
    return url or str(own_file())


def _facts(flaw: Flaw) -> dict[str, Any]:
    return {"severity": flaw.severity, "where": flaw.where, "what": flaw.what, "tape": flaw.tape, "entry": flaw.id}


def _tell_rest(count: int, thing: str, out: Output) -> None:
    if count > 0:
        out.note(f"{count:,} more {thing if count == 1 else 'losses' if thing == 'loss' else f'{thing}s'}; --json has them.")
