"""The program: reads the command line, runs one command, and turns every failure into one line and an exit code."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Coroutine, Sequence
from importlib import import_module

from playhead.cli.arguments import UsageError
from playhead.cli.parser import COMMANDS, build_parser, parse

GRACE = 0.5
"""How many seconds a thread that is still there at the end of a program has to end."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit code; nothing is raised."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = None
    try:
        args = parse(words)
        if args.command is None:
            return _say(_version() if args.version else build_parser().format_help().rstrip())
        return _run(args)
    except SystemExit as done:
        # argparse has printed its help.
        return done.code if isinstance(done.code, int) else 0
    except BaseException as failure:  # noqa: BLE001 - the last place where a failure can be told
        return _failed(failure, args, as_json="--json" in words)


def _run(args: Namespace) -> int:
    # The library is loaded only now: help and usage errors do without it.
    import anyio  # noqa: PLC0415

    from playhead.cli.output import Output  # noqa: PLC0415

    command, out = COMMANDS[args.command], Output(as_json=args.json)
    run = getattr(import_module(f"playhead.cli.{command.module}"), command.function)
    try:
        # What a command reads from standard input it reads before the loop runs, where an interrupt ends it at once.
        code: int = anyio.run(_awaited, run(args, out))
    finally:
        out.flush()
    if command.runs_tools:
        _leave_threads(code)
    return code


def _leave_threads(code: int) -> None:
    """End the program though the thread of a tool hangs: everything is written by now, and nobody waits for what it returns."""
    import os  # noqa: PLC0415 - commands that run no tools do without these
    import threading  # noqa: PLC0415

    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    for thread in others:
        thread.join(GRACE)
    if any(thread.is_alive() for thread in others):
        sys.stderr.flush()
        os._exit(code)


async def _awaited(command: Coroutine[object, object, int]) -> int:
    return await command


def _failed(failure: BaseException, args: Namespace | None, *, as_json: bool) -> int:
    from playhead.cli.failures import report  # noqa: PLC0415
    from playhead.cli.output import Output  # noqa: PLC0415

    return report(failure, Output(as_json=as_json), args)


def _say(text: str) -> int:
    if sys.stdout is None:
        raise UsageError("standard output is closed, there is nowhere to print to", command="playhead")
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    return 0


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return f"playhead {version('playhead')}"
