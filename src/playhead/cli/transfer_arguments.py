"""The arguments with which whole tapes move: out of a store, into one, from one to the other. Nothing of the library is imported here."""

from __future__ import annotations

from argparse import Namespace

from playhead.cli.arguments import Parser, filled, spoken


def add_leaving(parser: Parser) -> None:
    """Add the arguments with which `export` writes whole tapes."""
    parser.add_argument("--from", metavar="URL", dest="source", type=spoken, help="the store that whole tapes are taken from (default: that of --store)")
    parser.add_argument("--to", metavar="DIR", dest="target", type=filled, help="write whole tapes, with all that belongs to them, to this new directory or new .tar; - is a tar on standard output")


def add_arriving(parser: Parser) -> None:
    """Add the arguments with which `import` takes whole tapes in."""
    parser.add_argument("--from", metavar="DIR", dest="source", type=filled, help="take in the whole tapes of an export, a directory or a .tar; - is a tar on standard input")
    parser.add_argument("--to", metavar="URL", dest="target", type=spoken, help="the store that whole tapes are brought into (default: that of --store)")


def leaving_fault(args: Namespace) -> str | None:
    """Return what is wrong with the arguments of `export`."""
    if args.target is not None:
        return "--as writes one tape, --to whole ones; give one of both" if args.form is not None else None
    missing = [name for name, value in (("--tape", args.tapes), ("--as", args.form)) if not value]
    if missing:
        return f"the following arguments are required: {', '.join(missing)} (or --to, for whole tapes)"
    return "--as writes one tape; name one, or write whole tapes with --to" if len(args.tapes) > 1 else None


def arriving_fault(args: Namespace) -> str | None:
    """Return what is wrong with the arguments of `import` where an export is taken in."""
    if args.files or args.tools:
        return "--from takes in an export, FILE recorded conversations; give one of both"
    return None


def tapes(parser: Parser, *, help: str) -> None:
    """Add the option that says which tapes."""
    parser.add_argument("--tape", metavar="NAME", dest="tapes", action="append", default=[], type=spoken, help=help)


def add_crossing(parser: Parser) -> None:
    """Add the arguments with which `copy` brings whole tapes from store to store."""
    parser.add_argument("--from", metavar="URL", dest="source", type=spoken, help="the store that whole tapes are taken from (default: that of --store)")
    tapes(parser, help="with no TAPE: only whole tapes of this name, or pattern such as 'support/*', again for more (default: all)")


def crossing_fault(args: Namespace) -> str | None:
    """Return what is wrong with the arguments of `copy`."""
    if args.tape is None:
        return "name a TAPE and what its copy is called, or say with --to where whole tapes go" if args.to is None else None
    if args.name is None:
        return "the following arguments are required: NAME"
    return "--from and --tape are for whole tapes; leave out TAPE and NAME" if args.source is not None or args.tapes else None
