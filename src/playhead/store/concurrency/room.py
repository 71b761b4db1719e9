"""Where a process runs: containers of one machine may have one name, and each counts its processes from 1.

A driver shows a sign, a name in the abstract namespace of unix(7) sockets, which ends with its process; who shares its network sees
it, whatever processes it sees. Everything here is Linux; elsewhere a room is unknown, and all processes of a machine are in one.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

UNKNOWN = "-"
_MOUNTS = "/proc/self/mountinfo"
_shown: list[int] = []


class Room(NamedTuple):
    """A container, or the machine outside of all: which processes it sees, which network it uses, and what its disk is laid over."""

    processes: str
    network: str
    disk: str

    def __str__(self) -> str:
        return ".".join(self)


def here() -> Room:
    """Return the room of this process."""
    return Room(_namespace("pid"), _namespace("net"), _layer())


def read(text: str) -> Room:
    """Return a room from what it is written as; an unknown one where that is none."""
    parts = text.split(".")
    return Room(*parts) if len(parts) == len(Room._fields) else Room(UNKNOWN, UNKNOWN, UNKNOWN)


def show_sign(name: str) -> bool:
    """Show a sign until this process ends; one process shows one. False where the system has no such names."""
    if _shown:
        return True
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sign:
            sign.bind(_address(name))
            _shown.append(sign.detach())
    except OSError as exc:
        return exc.errno == errno.EADDRINUSE
    except AttributeError:
        return False
    os.register_at_fork(after_in_child=_take_down)
    return True


def has_left(room: Room, sign: str) -> bool:
    """Return whether a process in another room of this machine, which showed a sign, is surely no more.

    Where the network is the same the sign tells. Where it is not, it was a container that has been started again since: two never run on one disk.
    """
    ours = here()
    if room.network == ours.network:
        return not _is_shown(sign)
    return room.disk != UNKNOWN and room.disk == ours.disk


def _take_down() -> None:
    while _shown:
        os.close(_shown.pop())


def _is_shown(name: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(_address(name))
        except OSError as exc:
            return exc.errno != errno.ECONNREFUSED
    return True


def _address(name: str) -> bytes:
    return b"\0playhead." + sha256(name.encode()).hexdigest()[:40].encode()


def _namespace(kind: str) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/self/ns/{kind}").partition("[")[2].rstrip("]") or UNKNOWN
    return UNKNOWN


def _layer() -> str:
    """Return what tells the disk of a container from others: the layer that takes its changes, as proc_pid_mountinfo(5) names it."""
    with suppress(OSError), open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            mount, _, system = line.partition(" - ")
            if mount.split(" ")[4] == "/":
                layer = next((option for option in system.split(" ")[-1].split(",") if option.startswith("upperdir=")), "")
                return sha256(layer.encode("utf-8", "surrogateescape")).hexdigest()[:16] if layer else UNKNOWN
    return UNKNOWN
