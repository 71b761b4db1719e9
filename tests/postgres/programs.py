"""Where PostgreSQL's programs are, and as whom they run."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

OLDEST = 15
WANTED = ("initdb", "pg_ctl", "postgres")
ABSENT = f"no PostgreSQL {OLDEST} or newer is here: install it (Debian, Ubuntu: apt-get install postgresql), or name a server's URL in PLAYHEAD_POSTGRES_URL"


@cache
def found() -> Path | None:
    """Return the folder of the newest server's programs on this machine, or None."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    for pattern in ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin", "opt/homebrew/opt/postgresql*/bin"):
        folders += Path("/").glob(pattern)
    return newest(folders)


def newest(folders: Iterable[Path]) -> Path | None:
    """Return that of some folders which has all programs of the newest server that a store takes, or None."""
    complete = [place for place in folders if all(os.access(place / name, os.X_OK) for name in WANTED)]
    return max((place for place in complete if version(place) >= OLDEST), key=version, default=None)


def is_required() -> bool:
    """Return whether a server has to be here: then tests that have none fail instead of being skipped."""
    return os.environ.get("PLAYHEAD_POSTGRES") == "require" and not os.environ.get("PLAYHEAD_POSTGRES_URL")


def absent() -> NoReturn:
    """Skip the test, as there is no server. Raises RuntimeError where one is required."""
    if is_required():
        raise RuntimeError(ABSENT)
    pytest.skip(ABSENT)


def folder() -> Path:
    """Return the folder of the newest server's programs; skip the test where there is none."""
    return found() or absent()


@cache
def version(place: Path) -> int:
    """Return the major version of a folder's server."""
    said = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"\d+", said)[0])


@cache
def account() -> pwd.struct_passwd | None:
    """Return the account a server runs under where the tests run as root, which PostgreSQL refuses; None: one's own."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def called(name: str, *arguments: object, cwd: Path) -> None:
    """Run one of the programs to its end; raise with what it said where it failed."""
    user = account()
    who: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    with open(cwd / "programs.log", "a+b") as log:
        done = subprocess.run([folder() / name, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd, check=False, **who)
        if done.returncode:
            log.seek(0)
            raise RuntimeError(f"{name} failed: {log.read().decode(errors='replace')[-2000:]}")
