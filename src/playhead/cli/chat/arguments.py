"""The arguments of the commands that talk with a model: chat and run. Nothing of the library is imported here."""

from __future__ import annotations

import argparse

from playhead.cli.arguments import Command, Parser, number, spoken
from playhead.cli.fold_arguments import FOLDING, add_folding

STRATEGIES = ("passthrough", "windowed", *FOLDING)
MODEL_VARIABLE = "PLAYHEAD_MODEL"
RESERVE = 16_384


def _add_chat(parser: Parser) -> None:
    _add_asking(parser)


def _add_run(parser: Parser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", type=spoken, help="what is asked; - reads it from standard input")
    _add_asking(parser)


def _add_asking(parser: Parser) -> None:
    """Add the options of who is asked, on which tape, and what goes along."""
    parser.add_argument("--tape", metavar="NAME", type=spoken, help="the tape; any text is a name (default: one for this folder, chat/PATH)")
    parser.add_argument("--model", metavar="SPEC", type=spoken, help=f"who answers, as PROVIDER:MODEL (default: whom the tape was switched to, else ${MODEL_VARIABLE}); offline: echo:, scripted:FILE")
    parser.add_argument("--system", metavar="TEXT", type=spoken, help="the system prompt (default: the one that the tape was last run with)")
    parser.add_argument("--max-tokens", metavar="N", type=number(least=1), help="the model's whole window (default: what is known of the model, else no limit)")
    parser.add_argument("--reserve", metavar="M", type=number(least=0), help=f"what of it is kept for the answer (default: {RESERVE}, of a small window a quarter)")
    parser.add_argument("--max-steps", metavar="N", type=number(least=1), help="how often the model may be asked in one turn (default: no limit)")
    parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="how the tape is made to fit (default: passthrough)")
    add_folding(parser, summarizer="who writes the summaries of a strategy that folds: a model as PROVIDER:MODEL, or extractive, which picks from what was said, offline")
    parser.add_argument("--tools", metavar="MODULE:NAME", action="append", default=[], type=_tools, help="a tool of yours, a function or a list of these; may be repeated")
    parser.add_argument("--bare", action="store_true", help="without the tools for the tape and for large results that a model is otherwise offered")
    parser.add_argument("--yes", action="store_true", help="approve every call of a tool that needs it")


def _tools(text: str) -> str:
    module, sign, name = spoken(text).partition(":")
    if not module or not sign or not name:
        raise argparse.ArgumentTypeError(f"tools are named as MODULE:NAME, such as mytools:ping, not '{text}'")
    return text


def _fault(args: argparse.Namespace) -> str | None:
    """Return what is wrong with options that do not go together."""
    given = [option for name, option in (("summarizer", "--summarizer"), ("recent", "--recent"), ("head", "--head"), ("settings", "--set")) if getattr(args, name) not in (None, [])]
    if given and args.strategy not in FOLDING:
        return f"{' and '.join(given)} {'goes' if len(given) == 1 else 'go'} with --strategy {' or '.join(FOLDING)}"
    if args.strategy in FOLDING and args.summarizer is None:
        return f"--strategy {args.strategy} tells older parts in summaries, and --summarizer says who writes them: extractive, or a model as PROVIDER:MODEL"
    if args.reserve is not None and args.max_tokens is None:
        return "--reserve goes with --max-tokens"
    return None


CHAT_COMMANDS = (
    Command(name="chat", about="talk with a model on a tape", module="chat.talking", function="chat", add=_add_chat, fault=_fault, runs_tools=True),
    Command(name="run", about="ask a model once, on a tape", module="chat.running", function="run", add=_add_run, fault=_fault, runs_tools=True),
)
"""The commands that talk with a model."""
