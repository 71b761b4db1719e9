"""Commands that are named in what a command says: whole, so that they can be typed as they stand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from playhead.cli.parser import Options

NOTHING: Options = {}
PROGRAM = "playhead"
_PASSWORD = re.compile(r"(://[^/@:]*:)[^/@]*@")


def program() -> str:
    """Return how the program is called here: by its name where the shell finds it, else as it was called."""
    called = Path(sys.argv[0] or PROGRAM)
    if called.name == "__main__.py":
        return f"python -m {PROGRAM}"
    if called.stem != PROGRAM or shutil.which(PROGRAM):
        return PROGRAM
    near = os.path.relpath(called)
    return shlex.quote(str(called) if near.startswith(os.pardir) else near)


def command(name: str, args: Namespace, *words: str, carries: Options = NOTHING) -> str:
    """Return a command of the same tape and store, in backticks, with those of the options that it `carries` that were given."""
    said = [name, *words]
    if getattr(args, "tape", None) is not None:
        said += ["--tape", args.tape] if not args.tape.startswith("-") else [f"--tape={args.tape}"]
    for dest, (option, default) in carries.items():
        value = getattr(args, dest, None)
        if value not in (None, default):
            said += [word for one in (value if isinstance(value, list) else [value]) for word in (option, str(one))]
    if args.store:
        said += ["--store", masked(args.store)]
    return f"`{program()} {shlex.join(said)}`"


def masked(url: str) -> str:
    """Return a store's URL as it may be shown: without a password."""
    return _PASSWORD.sub(r"\1***@", url)
