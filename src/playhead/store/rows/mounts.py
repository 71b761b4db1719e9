"""What kind of file system a path is on."""

from __future__ import annotations

import os
import re
from contextlib import suppress

MOUNTS = "/proc/self/mounts"
"""Where Linux tells what is mounted."""

_SHARED = frozenset({"afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "pvfs2", "smb3", "smbfs"})
_SHARED_BY_PROGRAM = re.compile(r"fuse\.(ceph|curlftpfs|davfs|gcsfuse|glusterfs|goofys|httpfs|juicefs|rclone|s3fs|smbnetfs|sshfs)")
_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: str, *, mounts: str = MOUNTS) -> str | None:
    """Return the kind of network file system that a path is on, such as "nfs4"; None for a local one, or where the system does not say.

    Source: the table of mounts of Linux, fstab(5) and proc_pid_mounts(5).
    """
    kind, depth = "", -1
    real = os.path.join(os.path.realpath(path), "")
    with suppress(OSError), open(mounts, encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            _, place, its_kind, *_ = line.split(" ")
            point = os.path.join(_ESCAPE.sub(lambda m: chr(int(m[1], 8)), place), "")
            if len(point) >= depth and real.startswith(point):
                kind, depth = its_kind, len(point)
    return kind if kind in _SHARED or _SHARED_BY_PROGRAM.fullmatch(kind) else None
