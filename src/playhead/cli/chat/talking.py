"""The command that talks: at a terminal, or through a pipe."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace

from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.piping import Piped
from playhead.cli.chat.talk import Talk, opened_talk
from playhead.cli.output import Output
from playhead.errors import InvalidInput, MissingExtra

EXTRA = "chat"


async def chat(args: Namespace, out: Output) -> int:
    """Talk with a model on a tape."""
    # What the library logs of failures, the chat says itself.
    logging.getLogger("playhead").addHandler(logging.NullHandler())
    is_typed = out.is_terminal and sys.stdin is not None and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"
    if is_typed and args.json:
        raise InvalidInput("A chat at a terminal prints no JSON; give it lines through a pipe, or ask once with `playhead run --json`.")
    approvals = Approvals(approves_all=args.yes)
    if is_typed:
        _check_installed()
    async with opened_talk(args, approve=approvals) as talk:
        return await (_typed(talk, args=args, out=out, approvals=approvals) if is_typed else Piped(talk, out=out, approvals=approvals).run())


def _check_installed() -> None:
    try:
        import prompt_toolkit  # noqa: F401, PLC0415 - an extra, which only a chat at a terminal needs
    except ImportError as exc:
        raise MissingExtra(EXTRA, "A chat at a terminal") from exc


async def _typed(talk: Talk, *, args: Namespace, out: Output, approvals: Approvals) -> int:
    from playhead.cli.chat.keyboard import Keyboard  # noqa: PLC0415 - as above

    return await Keyboard(talk, args=args, out=out, approvals=approvals).run()
