"""The arguments of the commands for branches and for whole tapes. Nothing of the library is imported here."""

from __future__ import annotations

import argparse

from playhead.cli.arguments import Command, Parser, filled, number, span, spoken
from playhead.cli.transfer_arguments import add_crossing, crossing_fault

POLICIES = ("append", "fast-forward", "squash")
WAYS = ("merge", "keep", "discard")
KEPT_FOR = "7d"
"""How long `gc` leaves closed branches alone where nothing says otherwise, as its help says it."""

GRACE = "1d"
"""How long `gc --blobs` leaves blobs alone where nothing says otherwise, as its help says it."""


class _Named(argparse.Action):
    """Takes the name of the tape, which stands by itself or behind `--tape`; two names are refused."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        if getattr(namespace, self.dest, None) not in (None, values):
            parser.error(f"TAPE and --tape name two tapes, '{getattr(namespace, self.dest)}' and '{values}'; give one of them")
        setattr(namespace, self.dest, values)


def _tape(parser: Parser, *, help: str = "the tape, or a branch of one") -> None:
    """Add the tape, by itself or behind `--tape` as for the other commands."""
    parser.add_argument("tape", metavar="TAPE", type=spoken, nargs="?", default=argparse.SUPPRESS, action=_Named, help=help)
    parser.add_argument("--tape", metavar="NAME", type=spoken, default=None, action=_Named, help="the same as TAPE")


def _tape_fault(args: argparse.Namespace) -> str | None:
    return "name the tape, as TAPE or with --tape NAME" if args.tape is None else None


def _branch(parser: Parser) -> None:
    parser.add_argument("branch", metavar="BRANCH", type=spoken, help="the branch by its whole name, such as support/42__branch__trial")


def _add_branches(parser: Parser) -> None:
    _tape(parser, help="only the branches of this tape (default: of every tape)")
    parser.add_argument("--all", action="store_true", help="those that were merged or discarded, too")


def _add_fork(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("--at", metavar="ID", type=number(least=0), help="the last entry that the branch shares (default: as the tape ends now); 0 shares none")
    parser.add_argument("--name", metavar="LABEL", type=spoken, help="what the branch is called in the tape's family (default: a new label)")


def _add_merge(parser: Parser) -> None:
    _branch(parser)
    parser.add_argument(
        "--policy", choices=POLICIES, default=POLICIES[0], help="append: behind what came since (default); fast-forward: only where nothing did; squash: --summary in place of the entries"
    )
    parser.add_argument("--summary", metavar="TEXT", type=spoken, help="what stands for the branch with --policy squash; - reads it from standard input")


def _merge_fault(args: argparse.Namespace) -> str | None:
    if (args.policy == "squash") == (args.summary is not None):
        return None
    return "--summary TEXT says what stands for the branch with --policy squash" if args.summary is None else "--summary goes with --policy squash"


def _add_discard(parser: Parser) -> None:
    _branch(parser)


def _add_diff(parser: Parser) -> None:
    parser.add_argument("first", metavar="A", type=spoken, help="a tape or branch")
    parser.add_argument("second", metavar="B", type=spoken, help="another one, such as a branch of it")


def _add_rename(parser: Parser) -> None:
    parser.add_argument("tape", metavar="OLD", type=spoken, help="the tape, whose branches and sidecars go with it; or a branch by its whole name")
    parser.add_argument("name", metavar="NEW", type=spoken, help="its new name; for a branch a new label will do")


def _add_copy(parser: Parser) -> None:
    parser.add_argument("tape", metavar="TAPE", type=spoken, nargs="?", help="the tape, or a branch of one")
    parser.add_argument("name", metavar="NAME", nargs="?", type=spoken, help="what the copy is called")
    parser.add_argument("--to", metavar="URL", type=spoken, help="another store to copy it to; with no TAPE, all that is in the store goes there")
    add_crossing(parser)


def _add_gc(parser: Parser) -> None:
    _tape(parser, help="only branches of this tape, or that branch (default: of every tape)")
    parser.add_argument("--older-than", metavar="TIME", type=span, help=f"only those closed longer ago than this, such as 12h or 0s (default: {KEPT_FOR})")
    parser.add_argument("--blobs", action="store_true", help="remove the blobs that nothing names any more instead")
    parser.add_argument("--grace", metavar="TIME", type=span, help=f"with --blobs: leave alone what was put or named within this time (default: {GRACE})")
    parser.add_argument("--archive", metavar="PATH", dest="archives", action="append", type=filled, help="with --blobs: keep what this file names, or a file below this directory")
    parser.add_argument("--dry-run", action="store_true", help="with --blobs: say what would be removed, and remove nothing")


def _gc_fault(args: argparse.Namespace) -> str | None:
    if args.blobs:
        return "--blobs looks through all tapes, so neither TAPE nor --older-than goes with it" if args.tape is not None or args.older_than is not None else None
    return "--grace, --archive and --dry-run go with --blobs" if args.grace is not None or args.archives or args.dry_run else None


def _add_recover(parser: Parser) -> None:
    _tape(parser, help="only branches of this tape (default: of every tape)")
    parser.add_argument("--how", choices=WAYS, default=WAYS[0], help="merge what they had written (default), keep them open, or discard them")


def _add_follow(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("--consumer", metavar="NAME", type=spoken, help="go on where this reader was, and remember how far it came")
    parser.add_argument("--after", metavar="ID", type=number(least=0), help="begin behind this entry (default: with the next one that comes)")
    parser.add_argument("--count", metavar="N", type=number(least=1), help="end after N entries")


BRANCH_COMMANDS = (
    Command(name="branches", about="show the branches of a tape as a tree", module="branching", function="branches", add=_add_branches, reads=True),
    Command(name="fork", about="make a branch of a tape", module="branching", function="fork", add=_add_fork, fault=_tape_fault),
    Command(name="merge", about="bring what a branch added back to its parent", module="branching", function="merge", add=_add_merge, fault=_merge_fault),
    Command(name="discard", about="close a branch so that nothing of it comes back", module="branching", function="discard", add=_add_discard),
    Command(name="diff", about="show what two tapes share and what one alone has", module="comparing", function="diff", add=_add_diff, reads=True),
    Command(name="recover", about="deal with branches whose driver died", module="branching", function="recover", add=_add_recover),
    Command(name="gc", about="remove what is left of closed branches, or blobs that nothing names", module="branching", function="gc", add=_add_gc, fault=_gc_fault),
    Command(name="rename", about="give a tape or branch another name", module="moving", function="rename", add=_add_rename),
    Command(name="copy", about="copy a tape, here or to another store; or whole tapes from store to store", module="moving", function="copy", add=_add_copy, fault=crossing_fault),
    Command(name="follow", about="print entries as they come", module="following", function="follow", add=_add_follow, fault=_tape_fault),
)
