"""Who drives a branch: a piece of work in a process of this machine, and whether it is still there."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import finalize

from playhead import clock
from playhead.store.concurrency import room
from playhead.store.concurrency.room import UNKNOWN as _UNKNOWN

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_here: set[str] = set()


class Owner(NamedTuple):
    """A piece of work: the machine and its last start, the container, the process and its start, and the work itself; `-` where the system does not say."""

    machine: str
    boot: str
    room: str
    pid: str
    started: str
    work: str

    def __str__(self) -> str:
        return ":".join(self)

    @property
    def sign(self) -> str:
        """What its process shows for as long as it is there."""
        return f"{room.read(self.room).processes}:{self.pid}:{self.started}"


def new_owner(work: object) -> Owner:
    """Return an owner that is there for as long as an object of this process lives, or until it is let go."""
    owner = Owner(_machine(), _boot(), str(room.here()), str(os.getpid()), _started(os.getpid()), clock.new_uid())
    if not room.show_sign(owner.sign):
        owner = owner._replace(room=_UNKNOWN)
    _here.add(owner.work)
    finalize(work, _here.discard, owner.work)
    return owner


def let_go(owner: Owner) -> None:
    """Say that a piece of work has ended."""
    _here.discard(owner.work)


def is_gone(owner: str | None) -> bool:
    """Return whether an owner is surely no more: its process has ended, or the piece of work in this one.

    False for what stands for itself (None), and for what cannot be told from here: another machine's processes, another program's owners.
    """
    parts = (owner or "").split(":")
    if len(parts) != len(Owner._fields):
        return False
    its = Owner(*parts)
    if its.machine != _machine() or not its.pid.isdigit():
        return False
    if _differ(its.boot, _boot()):
        return True
    its_room = room.read(its.room)
    if _differ(its_room.processes, room.here().processes):
        return room.has_left(its_room, its.sign)
    if int(its.pid) == os.getpid() and not _differ(its.started, _started(os.getpid())):
        return its.work not in _here
    return not _is_running(int(its.pid)) or _differ(its.started, _started(int(its.pid)))


def _machine() -> str:
    return socket.gethostname().replace(":", "_")


def _differ(one: str, other: str) -> bool:
    return _UNKNOWN not in (one, other) and one != other


def _is_running(pid: int) -> bool:
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return _state(pid) not in ("Z", "X")


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0] if fields else _UNKNOWN


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the machine did: field 22 of proc_pid_stat(5)."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else _UNKNOWN


def _stat(pid: int) -> list[str]:
    with suppress(OSError, UnicodeDecodeError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _boot() -> str:
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return _UNKNOWN
