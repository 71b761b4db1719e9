"""How a chat is gone on with: the words of its command that say what the tape does not remember."""

from __future__ import annotations

from argparse import Namespace

from playhead.cli.chat.session import Session
from playhead.cli.hints import masked

OPTIONS = {
    "system": "--system",
    "max_tokens": "--max-tokens",
    "reserve": "--reserve",
    "max_steps": "--max-steps",
    "summarizer": "--summarizer",
    "recent": "--recent",
    "head": "--head",
    "settings": "--set",
    "tools": "--tools",
    "bare": "--bare",
    "yes": "--yes",
}
"""What an argument is called, and its option."""

STRATEGY = "passthrough"


def still_waiting(session: Session) -> str:
    """Return what is said of lines that nobody has answered when a chat is left, "" where there are none."""
    count = len(session.waiting)
    told = "1 line waits" if count == 1 else f"{count:,} lines wait"
    return f"{told} to be answered: the next chat on this tape has it done, at an empty line or with what is said then." if count else ""


def given(args: Namespace, *, tape: str | None, model: str) -> list[str]:
    """Return the options that make a chat what it is: on a tape, None for that of the folder, with a model, unless the tape remembers that it was switched to."""
    words = [] if tape is None else _option("--tape", tape)
    if args.model == model:
        words += _option("--model", model)
    if args.strategy != STRATEGY:
        words += _option("--strategy", args.strategy)
    for name, option in OPTIONS.items():
        value = getattr(args, name)
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [word for one in (value if isinstance(value, list) else [value]) for word in _option(option, str(one))]
    return [*words, *(_option("--store", masked(args.store)) if args.store else [])]


def _option(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]
