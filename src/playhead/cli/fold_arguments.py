"""The arguments of memory that folds: its commands, and the options that others have of it. Nothing of the library is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from playhead.cli.arguments import Command, Parser, filled, number, spoken

FOLDING = ("autobiographical", "knowledge")
"""The strategies that fold."""

EXTRACTIVE = "extractive"

FOLD_ONLY = {"namespace": "--namespace", "summarizer": "--summarizer", "recent": "--recent", "head": "--head", "settings": "--set"}
"""The options that mean something to strategies that fold alone."""


def add_settings(parser: Parser, *, summarizer: str) -> None:
    """Add the options of a strategy that folds; `summarizer` says what naming one does."""
    add_namespace(parser)
    add_folding(parser, summarizer=summarizer)


def add_folding(parser: Parser, *, summarizer: str) -> None:
    """Add the options of how a strategy folds, but not whose summaries are meant."""
    parser.add_argument("--summarizer", metavar=f"{EXTRACTIVE}|MODEL", type=spoken, help=summarizer)
    parser.add_argument("--recent", metavar="N", type=number(least=0), help="the newest tokens that always stay raw (default: 30000, or a quarter of the room where that is less)")
    parser.add_argument("--head", metavar="N", type=number(least=0), help="the first tokens that always stay raw (default: 0)")
    parser.add_argument(
        "--set", metavar="OPTION=VALUE", dest="settings", action="append", default=[], type=_setting, help="any option of AutobiographicalConfig, such as merge_threshold=4; may be repeated"
    )


def add_namespace(parser: Parser) -> None:
    """Add the option that says whose summaries are meant."""
    parser.add_argument("--namespace", metavar="NAME", type=_namespace, help="whose memory: agents/NAME for that of an agent (default: the tape's own)")


def fold_fault(args: argparse.Namespace) -> str | None:
    """Return what is wrong with the options of a strategy that folds, beside those of how the tape is read."""
    given = [option for name, option in FOLD_ONLY.items() if getattr(args, name) not in (None, [])]
    if given and args.strategy not in FOLDING:
        return f"{_listed(given)} {'goes' if len(given) == 1 else 'go'} with --strategy {_listed(FOLDING, 'or')}"
    past = next((option for name, option in (("at", "--at"), ("until", "--until"), ("read_only", "--read-only")) if getattr(args, name, None)), None)
    return f"--summarizer writes beside the tape, so it does not go with {past}" if args.summarizer is not None and past else None


def _setting(text: str) -> str:
    name, sign, _ = spoken(text).partition("=")
    if not name or not sign:
        raise argparse.ArgumentTypeError(f"an option is set as OPTION=VALUE, such as merge_threshold=4, not '{text}'")
    return text


def _namespace(text: str) -> str:
    if not spoken(text):
        raise argparse.ArgumentTypeError("a namespace is a text such as agents/bot, not an empty one; leave the option out for the tape's own memory")
    return text


def _listed(words: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _tape(parser: Parser) -> None:
    parser.add_argument("--tape", metavar="NAME", required=True, type=spoken, help="the tape; any text is a name")


def _add_fold(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("--strategy", choices=FOLDING, default=FOLDING[0], help=f"how the tape is cut into what one summary tells (default: {FOLDING[0]})")
    add_settings(parser, summarizer=f"who writes: a model as PROVIDER:MODEL, or {EXTRACTIVE}, which picks from what was said, offline; needed but for --dry-run")
    parser.add_argument("--anchor", metavar="last|none|NAME", type=spoken, help="fold what stands behind the newest anchor, the whole tape, or behind the newest anchor NAME (default: none)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="write one summary at most")
    how.add_argument("--dry-run", action="store_true", help="write nothing and ask nobody: say what it would take")
    parser.add_argument("--retry", action="store_true", help="try again what could not be summarised and was given up")


def _fold_fault(args: argparse.Namespace) -> str | None:
    if args.summarizer is None and not args.dry_run:
        return f"--summarizer says who writes the summaries: {EXTRACTIVE}, or a model as PROVIDER:MODEL"
    return "--retry goes without --dry-run, which writes nothing" if args.retry and args.dry_run else None


def _add_tree(parser: Parser) -> None:
    _tape(parser)
    add_namespace(parser)
    parser.add_argument("--depth", metavar="N", type=number(least=1), help="only the first N levels of the tree, from its roots (default: all)")
    parser.add_argument("--markdown", metavar="FILE", nargs="?", const="-", type=filled, help="write all summaries whole, as a Markdown document, to this file (default: standard output)")


def _tree_fault(args: argparse.Namespace) -> str | None:
    return "--depth goes without --markdown, which writes all of it" if args.depth and args.markdown else None


def _add_pin(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("first", metavar="FIRST", type=spoken, help="the first entry to keep raw, by its id or uid")
    parser.add_argument("last", metavar="LAST", nargs="?", type=spoken, help="the last one (default: FIRST)")
    parser.add_argument("--name", metavar="NAME", type=spoken, help="what the pin is called")
    parser.add_argument("--document", action="store_true", help="mark FIRST as a document, not a range of the conversation")
    add_namespace(parser)


def _pin_fault(args: argparse.Namespace) -> str | None:
    return "--document marks one entry; leave out LAST" if args.document and args.last is not None else None


def _add_unpin(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("pin", metavar="PIN", type=spoken, help="the pin, such as pin-1")
    add_namespace(parser)


def _add_pins(parser: Parser) -> None:
    _tape(parser)
    add_namespace(parser)


def _add_forget(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("summary", metavar="SUMMARY", type=spoken, help="the summary, such as L1-3")
    parser.add_argument("--reason", metavar="TEXT", default="", type=spoken, help="why, kept beside the tape")
    add_namespace(parser)


FOLD_COMMANDS = (
    Command(name="fold", about="write the summaries of a tape that are due", module="folding", function="fold", add=_add_fold, fault=_fold_fault),
    Command(name="tree", about="show the summaries of a tape as a tree", module="tree", function="tree", add=_add_tree, fault=_tree_fault, reads=True),
    Command(name="pin", about="keep entries raw, whatever is folded", module="pinning", function="pin", add=_add_pin, fault=_pin_fault),
    Command(name="unpin", about="let pinned entries be folded again", module="pinning", function="unpin", add=_add_unpin),
    Command(name="pins", about="list what is pinned of a tape", module="pinning", function="pins", add=_add_pins, reads=True),
    Command(name="forget", about="take back a summary, so that it is written anew", module="pinning", function="forget", add=_add_forget),
)
