"""Ends a server and removes its folder once nobody holds its `users` file any more, however its users ended.

Usage: reaper.py FOLDER PG_CTL UID GID [FILE]...; FILEs that name it are removed, too; several may wait for the same folder. Returns at once and goes on in the background.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from typing import Any


def reap(folder: str, pg_ctl: str, uid: str, gid: str, *files: str) -> None:
    if os.fork():
        return
    os.setsid()
    with open(os.path.join(folder, "users"), "rb") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        who: dict[str, Any] = {"user": int(uid), "group": int(gid), "extra_groups": []} if os.geteuid() == 0 else {}
        stop = [pg_ctl, "-D", os.path.join(folder, "data"), "-m", "immediate", "-w", "stop"]
        subprocess.run(stop, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, check=False, **who)
        shutil.rmtree(folder, ignore_errors=True)
        for file in files:
            with contextlib.suppress(OSError), open(file) as pointer:
                if folder in pointer.read():
                    os.remove(file)


reap(*sys.argv[1:])
