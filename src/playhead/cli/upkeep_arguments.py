"""The arguments of the commands that look after a store. Nothing of the library is imported here."""

from __future__ import annotations

from playhead.cli.arguments import Command, Parser, filled, span, spoken


def _add_nothing(parser: Parser) -> None:
    """Add nothing: it has only the arguments all commands have."""


def _add_backup(parser: Parser) -> None:
    parser.add_argument("target", metavar="TARGET", type=filled, help="where the copy goes: a new file for SQLite, a new directory for files; nothing is overwritten")


def _add_archive(parser: Parser) -> None:
    parser.add_argument("--tape", metavar="NAME", required=True, type=spoken, help="the tape, or a branch or sidecar by its whole name; the sidecars beside it are archived with it")
    edge = parser.add_mutually_exclusive_group(required=True)
    edge.add_argument("--below", metavar="ANCHOR|ID", type=spoken, help="what stands before the newest anchor of that name, or before that entry; a whole number is an entry")
    edge.add_argument("--below-anchor", metavar="NAME", type=spoken, help="what stands before the newest anchor of that name, which may be a number")
    edge.add_argument("--older-than", metavar="TIME", type=span, help="what stands before the first entry that is younger than this, such as 30d or 12h")
    parser.add_argument("--keep-room", action="store_true", help="do not give the room that is freed back to the disk; later entries take it, as they always do on a server")


UPKEEP_COMMANDS = (
    Command(name="archive", about="compress the older entries of a tape, where every read still finds them", module="keeping", function="archive", add=_add_archive),
    Command(name="verify", about="prove a store and say what is amiss in it", module="upkeep", function="verify", add=_add_nothing),
    Command(name="salvage", about="keep what can be read of a damaged store", module="upkeep", function="salvage", add=_add_nothing),
    Command(name="backup", about="copy a store while it is in use", module="upkeep", function="backup", add=_add_backup),
)
