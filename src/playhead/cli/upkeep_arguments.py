"""The arguments of the commands that look after a store. Nothing of the library is imported here."""

from __future__ import annotations

from playhead.cli.arguments import Command, Parser, filled


def _add_nothing(parser: Parser) -> None:
    """Add nothing: it has only the arguments all commands have."""


def _add_backup(parser: Parser) -> None:
    parser.add_argument("target", metavar="TARGET", type=filled, help="where the copy goes: a new file for SQLite, a new directory for files; nothing is overwritten")


UPKEEP_COMMANDS = (
    Command(name="verify", about="prove a store and say what is amiss in it", module="upkeep", function="verify", add=_add_nothing),
    Command(name="salvage", about="keep what can be read of a damaged store", module="upkeep", function="salvage", add=_add_nothing),
    Command(name="backup", about="copy a store while it is in use", module="upkeep", function="backup", add=_add_backup),
)
