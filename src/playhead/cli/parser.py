"""The words of the command line: commands, their arguments, and where each command lives.

Nothing of the library is imported here, so that help and usage errors are instant.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Sequence

from playhead.cli.arguments import Command, Parser, UsageError, filled, number, spoken
from playhead.cli.branch_arguments import BRANCH_COMMANDS
from playhead.cli.chat.arguments import CHAT_COMMANDS
from playhead.cli.fold_arguments import FOLD_COMMANDS, FOLDING, add_settings, fold_fault
from playhead.cli.transfer_arguments import add_arriving, add_leaving, arriving_fault, leaving_fault, tapes
from playhead.cli.upkeep_arguments import UPKEEP_COMMANDS

STRATEGIES = ("passthrough", "windowed", *FOLDING)
PROVIDERS = ("openai", "openai-responses", "anthropic")
FORMS = ("jsonl", "markdown", *PROVIDERS)
ROLES = ("user", "assistant", "system")
SHOWN = 50
"""How many entries `show` prints where nothing says which."""

MAX_TOKENS, RESERVE = 100_000, 4_000
Options = dict[str, tuple[str, object]]
"""Options by what the arguments call them, each with its name and its default."""

MEMORY: Options = {"namespace": ("--namespace", None)}
"""The option that says whose summaries are meant."""

SETTINGS: Options = {
    "strategy": ("--strategy", STRATEGIES[0]),
    **MEMORY,
    "recent": ("--recent", None),
    "head": ("--head", None),
    "settings": ("--set", []),
    "anchor": ("--anchor", None),
}
"""The options that say how a tape is folded."""

CARRIED: Options = {
    "max_tokens": ("--max-tokens", MAX_TOKENS),
    "reserve": ("--reserve", RESERVE),
    **SETTINGS,
    "model": ("--model", None),
    "until": ("--until", None),
    "at": ("--at", None),
}
"""The options that say what is compiled: a hint of another command repeats those that were given."""

STORES = """\
Tapes are kept in the store that --store names, else in $PLAYHEAD_STORE, else in
a SQLite file of your own. Exit codes: 0 done, 1 failed (one line on stderr says
why), 2 the command line was not understood, 130 interrupted."""
ABOUT = "Keep everything that happened on a tape, and compile from it what a model should see."


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="playhead", description=ABOUT, epilog=STORES, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for command in COMMANDS.values():
        sub = commands.add_parser(command.name, help=command.about, description=command.about[0].upper() + command.about[1:] + ".", allow_abbrev=False)
        command.add(sub)
        sub.add_argument("--store", metavar="URL", type=spoken, help="where tapes are kept: sqlite:///relative.db, sqlite:////absolute.db, file:DIRECTORY, postgresql://HOST/DATABASE")
        if command.reads:
            sub.add_argument("--read-only", action="store_true", help="open the store without writing, locking or mending anything, as on a read-only disk")
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of text; errors too, on stderr")
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of a command line. Raises UsageError, or SystemExit behind `--help`."""
    word = next((a for a in argv if not a.startswith("-")), None)
    if word is not None and word not in COMMANDS and argv[0] == word:
        near = difflib.get_close_matches(word, COMMANDS, n=1)
        raise UsageError(f"there is no command '{word}'" + (f" (did you mean '{near[0]}'?)" if near else ""), command="playhead")
    args, unknown = build_parser().parse_known_args(argv)
    if unknown:
        raise UsageError(f"unknown arguments: {' '.join(unknown)}", command=" ".join(filter(None, ("playhead", args.command))))
    if args.command is not None and (fault := COMMANDS[args.command].fault(args)):
        raise UsageError(fault, command=f"playhead {args.command}")
    return args


def _tape(parser: Parser) -> None:
    parser.add_argument("--tape", metavar="NAME", required=True, type=spoken, help="the tape; any text is a name")


def _kinds(parser: Parser) -> None:
    parser.add_argument(
        "--kind", metavar="K", dest="kinds", action="extend", nargs="+", default=[], type=spoken, help="only entries of these kinds: message, tool_call, tool_result, anchor, event, ..."
    )


def _add_import(parser: Parser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", type=filled, help="a recorded conversation, or a folder of such")
    tapes(parser, help="the tape; for a folder, what the names of the tapes of its files begin with (default: its own name); with --from only tapes of this name or pattern, again for more")
    parser.add_argument("--claude-code", dest="tools", action="append_const", const="claude-code", help="every session that Claude Code keeps, each onto a tape of its own")
    parser.add_argument("--codex", dest="tools", action="append_const", const="codex", help="every session that Codex keeps, each onto a tape of its own")
    parser.add_argument("--format", default="auto", type=spoken, help="what the files are: auto (default), claude-code, openai-chat, ...; a name that is none lists all")
    parser.add_argument("--strict", action="store_true", help="write nothing and exit with 1 where a line cannot be read (else it is kept raw, with a warning)")
    add_arriving(parser)


def _import_fault(args: argparse.Namespace) -> str | None:
    if args.source is not None:
        return arriving_fault(args)
    if args.target is not None:
        return "--to names the store of an export that --from takes in; the store of recorded conversations is named with --store"
    if not args.files and not args.tools:
        return "name a FILE or a folder, or give --claude-code or --codex, or --from"
    if len(args.tapes) > 1:
        return "recorded conversations go onto one --tape"
    is_named = bool(args.tapes) or all(map(os.path.isdir, args.files))
    return None if is_named else "the following arguments are required: --tape"


def _add_append(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", type=spoken, help="what was said; - or nothing reads it from standard input")
    parser.add_argument("--role", choices=ROLES, help="who said TEXT (default: user)")
    parser.add_argument("--event", metavar="NAME", type=spoken, help="append an event of that name instead of a message")
    parser.add_argument("--data", metavar="JSON", type=spoken, help="what the event holds; - reads it from standard input")
    parser.add_argument("--entry", metavar="JSON", type=spoken, help="append this entry, an object with kind and payload; - reads it from standard input")
    parser.add_argument("--key", metavar="K", type=spoken, help="append at most once: the same key again returns the entry that stands")


def _add_handoff(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", type=spoken, help="what the anchor is called")
    _tape(parser)
    parser.add_argument("--state", metavar="JSON", type=spoken, help="an object the next phase inherits; its summary is told first; - reads it from standard input")
    parser.add_argument("--key", metavar="K", type=spoken, help="hand off at most once: the same key again returns the anchor that stands")


def _add_reset(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("--archive", metavar="DIR", type=filled, help="first write all entries to a new file in this directory")
    parser.add_argument("--yes", action="store_true", help="do it; without it nothing is removed")


def _add_ls(parser: Parser) -> None:
    """Add nothing: `ls` has only the arguments all commands have."""


def _add_show(parser: Parser) -> None:
    _tape(parser)
    _kinds(parser)
    edge = parser.add_mutually_exclusive_group()
    edge.add_argument("--all", action="store_true", help=f"all of them; without it the text ends with a tape's last {SHOWN}")
    edge.add_argument("--first", metavar="N", type=number(least=1), help="only the first N")
    edge.add_argument("--last", metavar="N", type=number(least=1), help="only the last N")
    parser.add_argument("--shown", action="store_true", help="only entries that a model is shown something of, read behind the newest anchor")
    _until(parser)
    parser.add_argument("--after", metavar="ID", type=number(least=0), default=0, help="only entries behind this one")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--full", action="store_true", help="do not shorten long texts")
    length.add_argument("--raw", action="store_true", help="print each entry as stored, a line of JSON each")


def _add_anchors(parser: Parser) -> None:
    _tape(parser)
    parser.add_argument("--last", metavar="N", type=number(least=1), default=20, help="the last N anchors (default: 20)")


def _add_search(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", type=spoken, help="the words to look for, in any form and order")
    _tape(parser)
    _kinds(parser)
    parser.add_argument("--anchor", metavar="last|none|NAME", default="none", type=spoken, help="only entries behind the newest anchor, or behind the newest anchor NAME (default: none)")
    parser.add_argument("--start", metavar="DATE", type=spoken, help="only entries written then or later: 2026-03-01, or an ISO date and time")
    parser.add_argument("--end", metavar="DATE", type=spoken, help="only entries written then or earlier; a date is its whole day")
    parser.add_argument("--at", metavar="ID", type=number(least=1), help="search the tape as it was when this entry was its last")
    parser.add_argument("--limit", metavar="N", type=number(least=1), default=20, help="at most N entries, the best first (default: 20)")
    parser.add_argument("--smoothed", action="store_true", help="find also what was said just before and behind what has the words")


def _add_compile(parser: Parser) -> None:
    _reading(parser)
    parser.add_argument("--max-tokens", metavar="N", type=number(least=0), default=MAX_TOKENS, help=f"the model's whole window (default: {MAX_TOKENS})")
    parser.add_argument("--reserve", metavar="M", type=number(least=0), default=RESERVE, help=f"what of it is kept for the answer (default: {RESERVE})")
    parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="how the view is made to fit (default: passthrough)")
    add_settings(parser, summarizer="first write the summaries that are due, with a model named as PROVIDER:MODEL, or extractive, which picks from what was said, offline")
    parser.add_argument("--for", dest="provider", choices=PROVIDERS, help="print this provider's request body")
    parser.add_argument("--model", metavar="M", type=spoken, help="the model it is for: tokens are counted as it does, signed reasoning goes only to the one that made it")


def _add_explain(parser: Parser) -> None:
    _add_compile(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--why", "--entry", metavar="ID", type=number(least=1), help="say only what became of this entry, and why; with a strategy that folds also which summaries tell it")
    form.add_argument("--html", metavar="FILE", type=filled, help="write a page that shows it to this file")


def _add_export(parser: Parser) -> None:
    add_leaving(parser)
    tapes(parser, help="the tape; with --to only tapes of this name, or pattern such as 'support/*', again for more")
    parser.add_argument("--as", dest="form", choices=FORMS, help="the form to write")
    _edges(parser, anchor="none")
    parser.add_argument("--model", metavar="M", type=spoken, help="the model a provider's body is for")
    parser.add_argument("--output", metavar="FILE", type=filled, help="write to this file, whole or not at all (default: standard output)")


def _reading(parser: Parser, *, anchor: str | None = None) -> None:
    _tape(parser)
    _edges(parser, anchor=anchor)


def _edges(parser: Parser, *, anchor: str | None) -> None:
    default = anchor or f"last; none with --strategy {' or '.join(FOLDING)}"
    parser.add_argument("--anchor", metavar="last|none|NAME", default=anchor, type=spoken, help=f"read behind the newest anchor, the whole tape, or behind the newest anchor NAME (default: {default})")
    _until(parser)
    parser.add_argument("--at", metavar="ID", type=number(least=1), help="read the tape as it was when this entry was its last")


def _until(parser: Parser) -> None:
    parser.add_argument("--until", metavar="NAME", type=spoken, help="read the tape as it was before the newest anchor NAME")


def _add_info(parser: Parser) -> None:
    _tape(parser)


def _add_demo(parser: Parser) -> None:
    """Add nothing: the conversation stays in a temporary store unless `--store` names one."""


COMMANDS = {
    command.name: command
    for command in (
        Command(name="import", about="add recorded conversations to a tape, or take in whole tapes", module="importing", function="import_files", add=_add_import, fault=_import_fault),
        Command(name="append", about="add one message, event or entry to a tape", module="writing", function="append", add=_add_append),
        Command(name="handoff", about="start a new phase behind an anchor with its state", module="writing", function="handoff", add=_add_handoff),
        Command(name="ls", about="list the tapes", module="reading", function="ls", add=_add_ls, reads=True),
        Command(name="show", about="print the entries of a tape", module="showing", function="show", add=_add_show, reads=True),
        Command(name="info", about="say what a tape holds", module="reading", function="info", add=_add_info, reads=True),
        Command(name="anchors", about="list the anchors of a tape", module="reading", function="anchors", add=_add_anchors, reads=True),
        Command(name="search", about="find the entries that are most about a text", module="reading", function="search", add=_add_search, reads=True),
        Command(name="compile", about="print what a model should see of a tape within a budget", module="compiling", function="compile_tape", add=_add_compile, fault=fold_fault, reads=True),
        Command(name="explain", about="say why each part of a tape is in the prompt, or out", module="compiling", function="explain", add=_add_explain, fault=fold_fault, reads=True),
        Command(name="export", about="write a tape as JSONL, Markdown or a provider's body, or whole tapes", module="exporting", function="export", add=_add_export, fault=leaving_fault, reads=True),
        Command(name="reset", about="remove the entries of a tape, archived first if you like", module="writing", function="reset", add=_add_reset),
        *FOLD_COMMANDS,
        *BRANCH_COMMANDS,
        *UPKEEP_COMMANDS,
        *CHAT_COMMANDS,
        Command(name="demo", about="show the main job on a long conversation made for it", module="tour", function="demo", add=_add_demo),
    )
}
