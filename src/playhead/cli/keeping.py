"""The command that archives: older entries of a tape are compressed, and stay where every read finds them."""

from __future__ import annotations

from argparse import Namespace

from playhead.cli.output import Output, counted
from playhead.cli.plain import one_line
from playhead.cli.store_choice import SERVERS, existing_tape, named_url
from playhead.store.retention import ArchiveReport, archiving


async def archive(args: Namespace, out: Output) -> int:
    """Archive the entries of a tape up to an anchor, an entry or an age, and those of its sidecars by then."""
    async with existing_tape(args) as tape:
        below = int(args.below) if args.below is not None and args.below.isascii() and args.below.isdigit() else args.below
        report = await tape.archive(below=below, older_than=args.older_than)
        if not (args.keep_room or named_url(args).startswith(SERVERS)):  # who else uses the server would wait
            await archiving(tape.store).compact()
    if out.as_json:
        out.json({**_facts(report), "sidecars": [_facts(side) for side in report.sidecars]})
        return 0
    for one in (report, *(side for side in report.sidecars if side.entries)):
        out.write(one_line(_said(one)))
    return 0


def _facts(report: ArchiveReport) -> dict[str, object]:
    return {"tape": report.tape, "upto": report.upto, "entries": report.entries, "before": report.before, "after": report.after}


def _said(report: ArchiveReport) -> str:
    if not report.entries:
        return f"'{report.tape}': nothing more to archive" + (f"; it is archived up to entry {report.upto}" if report.upto else "")
    return f"archived {counted(report.entries, 'entry')} of '{report.tape}', up to entry {report.upto}: {counted(report.before, 'byte')} take {report.after:,} now"
