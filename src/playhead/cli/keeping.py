"""The command that archives: older entries of a tape are compressed, and stay where every read finds them."""

from __future__ import annotations

from argparse import Namespace

from playhead.cli.output import Output, counted
from playhead.cli.plain import one_line
from playhead.cli.store_choice import SERVERS, existing_tape, named_url
from playhead.cli.transcript import moment
from playhead.entry.entry import TapeEntry
from playhead.store.archiving.age import ago
from playhead.store.archiving.retention import ArchiveReport, archiving
from playhead.tape.keeping import first_younger


async def archive(args: Namespace, out: Output) -> int:
    """Archive the entries of a tape up to an anchor, an entry or an age, and those of its sidecars by then."""
    async with existing_tape(args) as tape:
        report = await tape.archive(below=_below(args), older_than=args.older_than)
        younger = None if args.older_than is None else await first_younger(tape.store, tape.name, ago(args.older_than, what="An age"))
        if not (args.keep_room or named_url(args).startswith(SERVERS)):  # who else uses the server would wait
            await archiving(tape.store).compact()
    if out.as_json:
        out.json({**_facts(report), "younger": None if younger is None else younger.id, "sidecars": [_facts(side) for side in report.sidecars]})
        return 0
    for one in (report, *(side for side in report.sidecars if side.entries)):
        out.write(one_line(_said(one) if one.entries else _nothing(one, args, younger)))
    return 0


def _below(args: Namespace) -> str | int | None:
    """Return the anchor or the entry that an option names: with `--below` a whole number is an entry."""
    named: str | None = args.below if args.below is not None else args.below_anchor
    is_entry = args.below is not None and args.below.isascii() and args.below.isdigit()
    return int(args.below) if is_entry else named


def _facts(report: ArchiveReport) -> dict[str, object]:
    return {"tape": report.tape, "upto": report.upto, "entries": report.entries, "before": report.before, "after": report.after}


def _said(report: ArchiveReport) -> str:
    return f"archived {counted(report.entries, 'entry')} of '{report.tape}', up to entry {report.upto}: {counted(report.before, 'byte')} take {report.after:,} now"


def _nothing(report: ArchiveReport, args: Namespace, younger: TapeEntry | None) -> str:
    """Return why nothing of a tape was archived."""
    said = f"'{report.tape}': nothing more to archive" + (f"; it is archived up to entry {report.upto}" if report.upto else "")
    if younger is not None:
        return f"{said}; entry {younger.id}, of {moment(younger.date)}, is the first that is younger than --older-than says, and only what stands before it is archived"
    return said if report.upto else f"{said}; nothing of its own that can be archived stands before {'its end' if args.older_than is not None else 'that'}"
