"""What a command that failed says: one line on standard error that tells what to do, and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from argparse import Namespace
from collections.abc import Mapping

from playhead.cli.arguments import UsageError
from playhead.cli.damage import with_commands
from playhead.cli.hints import command
from playhead.cli.output import Output
from playhead.cli.parser import MEMORY
from playhead.cli.plain import plain_json
from playhead.entry import codec
from playhead.errors import (
    AnchorNotFound,
    BadReply,
    BranchNotFound,
    Conflict,
    InvalidInput,
    InvalidOption,
    OverBudgetError,
    PlayheadError,
    StepLimitReached,
    StoreUnavailable,
    SummaryNotFound,
    UnreadableFile,
)

DONE, FAILED, MISUSED, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""The exit codes; 130 and 141 are what shells give for a program ended by SIGINT, or by SIGPIPE."""

FOLLOW = "follow"
"""The command that an interrupt is the usual end of."""

TRACEBACK = "PLAYHEAD_TRACEBACK"
SPOKEN: Mapping[type[PlayheadError], tuple[tuple[str, str], ...]] = {
    UnreadableFile: ((" with format=", " with --format"),),
    OverBudgetError: (
        ("call tick() or drain(), which write the summaries it lacks, then compile again", "have the summaries it lacks written with --summarizer extractive, or a MODEL"),
        ("set head_window_tokens and recent_window_tokens lower", "set --head and --recent lower"),
        ("unpin some", "`unpin` some"),
        ("max_tokens", "--max-tokens"),
        ("lower the reserve", "lower --reserve"),
    ),
    BadReply: (("What had come is in `partial`; ask again", "What had come stands on the tape"),),
    Conflict: (("merge with policy='append'", "merge with --policy append"),),
    StepLimitReached: (("max_steps_reached=", "The turn took as many steps as it may, and what it did stands on the tape: ask again to go on from there, or give it more than --max-steps "),),
    SummaryNotFound: (("; search_summaries() lists those that stand", ""),),
    BranchNotFound: (("fork one with tape.fork(), or list those that are there with tape.branches()", "`playhead branches` lists those there are"),),
    InvalidOption: (("AutobiographicalStrategy(hierarchical=False)", "--strategy autobiographical"),),
    InvalidInput: (("max_tokens", "--max-tokens"), ("reserve_for_response", "--reserve")),
}
"""What the library calls its arguments, and what they are called on the command line."""


def report(failure: BaseException, out: Output, args: Namespace | None = None) -> int:
    """Say on standard error why a command failed and return its exit code; `args` are its arguments where they were read."""
    failure = _innermost(failure)
    if isinstance(failure, BrokenPipeError):
        let_go_of_stdout()
        return UNREAD
    if isinstance(failure, KeyboardInterrupt):
        if args is None or args.command != FOLLOW:
            _say("interrupted", "Interrupted; what was written so far is kept.", {}, out)
        return INTERRUPTED
    if isinstance(failure, UsageError):
        _say("usage", f"{failure}; see {failure.command} --help", {"command": failure.command}, out)
        return MISUSED
    error = as_error(failure)
    if os.environ.get(TRACEBACK, "0") != "0":
        traceback.print_exception(failure)
    message = with_commands(spoken(error.message, kind=type(error)), args or Namespace(store=None))
    _say(error.kind, message + _advice(error, args), error.details, out)
    return FAILED


def _say(kind: str, message: str, details: dict[str, object], out: Output) -> None:
    if out.as_json:
        facts = {key: value if isinstance(value, (str, int, float, bool, type(None))) else str(value) for key, value in details.items()}
        out.note(plain_json(codec.encode({"error": {"kind": kind, "message": message, "details": facts}})).decode())
    else:
        out.note(f"error: {message}")


def spoken(message: str, *, kind: type[PlayheadError]) -> str:
    """Return what an error of a kind says, with the options' names for the library's arguments."""
    for called, option in next((words for known, words in SPOKEN.items() if issubclass(kind, known)), ()):
        # Not inside a longer name, such as compression_max_tokens.
        message = re.sub(("(?<!\\w)" if called[0].isalnum() else "") + re.escape(called), option, message)
    return message


def _advice(error: PlayheadError, args: Namespace | None) -> str:
    """Return what to do on the command line about an error whose message does not say it."""
    if args is not None and isinstance(error, AnchorNotFound):
        return f" {command('anchors', args)} lists those there are{'; --anchor none reads the whole tape' if hasattr(args, 'anchor') else ''}."
    if args is not None and isinstance(error, SummaryNotFound):
        return f" {command('tree', args, carries=MEMORY)} shows those that stand."
    return ""


def _innermost(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure


def as_error(failure: BaseException) -> PlayheadError:
    """Return a failure as an error that says what to do."""
    if isinstance(failure, PlayheadError):
        return failure
    if isinstance(failure, OSError) and failure.filename:
        return StoreUnavailable(f"Cannot read or write '{failure.filename}': {failure.strerror or failure}; check the path, its rights and the free space.")
    if isinstance(failure, OSError):
        return StoreUnavailable(f"Reading or writing failed: {failure.strerror or failure}; check where the output goes, and the free space.")
    if isinstance(failure, MemoryError):
        return PlayheadError("memory", "There is not enough memory for this; read less at once, or free some.")
    return PlayheadError("internal", f"Unexpected {type(failure).__name__}: {failure}; this is a defect, please report it with this line; {TRACEBACK}=1 shows where it happened.")


def let_go_of_stdout() -> None:
    """Point standard output at nothing, so that what is still held back is dropped without a word at exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return
