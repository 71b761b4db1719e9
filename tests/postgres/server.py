"""A PostgreSQL server of one's own, which can be killed and started again, and is gone when the last process that uses it is."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO
from urllib.parse import quote

from tests.postgres import programs

USER = "playhead"
SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "max_connections": 200,
    "shared_buffers": "'64MB'",
    "max_locks_per_transaction": 512,
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "max_wal_size": "'1GB'",
    "checkpoint_timeout": "'1h'",
    "autovacuum": "off",
    "log_min_messages": "warning",
}
NOT_SAFE = {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a server that was started here is."""

    folder: str
    port: int
    password: str

    def url(self, database: str = "postgres", *, port: int | None = None) -> str:
        """Return the URL of a database through the loopback, by another port where something stands in between."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{port or self.port}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        """Return the URL of a database through the server's Unix socket."""
        return f"postgresql://{USER}@/{database}?host={quote(self.folder, safe='')}&port={self.port}"

    @property
    def data(self) -> Path:
        """The cluster's folder."""
        return Path(self.folder) / "data"

    def start(self) -> None:
        """Start it and wait until it answers."""
        programs.called("pg_ctl", "-D", self.data, "-w", "-t", 60, "-l", Path(self.folder) / "server.log", "start", cwd=Path(self.folder))

    def stop(self, mode: str = "fast") -> None:
        """Stop it: "smart" waits for its clients, "fast" ends their sessions, "immediate" leaves recovery to the next start."""
        programs.called("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop", cwd=Path(self.folder))

    def kill(self) -> None:
        """Kill all of its processes, as a crash of its machine would end them, and return when they are gone."""
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        ended = [os.pidfd_open(main)]
        os.kill(main, signal.SIGSTOP)
        for pid in _children(main):
            with suppress(ProcessLookupError):
                ended.append(os.pidfd_open(pid))
                os.kill(pid, signal.SIGKILL)
        os.kill(main, signal.SIGKILL)
        for handle in ended:
            select.select([handle], [], [], 60)
            os.close(handle)
        # Nothing lives any more, but who adopted the dead may not have buried them yet: a start would take them for alive.
        (self.data / "postmaster.pid").unlink()
        Path(self.folder, f".s.PGSQL.{self.port}.lock").unlink()


@contextmanager
def private_server(*, fsync: bool = False, **settings: object) -> Iterator[Server]:
    """Start a server that nobody else uses, and remove it at the end; skip the test where that cannot be.

    With `fsync` it keeps what it promised when its machine loses power; settings are as in postgresql.conf.
    """
    programs.folder()
    server, users = _started(fsync=fsync, settings=settings)
    with users:
        yield server


def joined(run: str | None) -> tuple[Server, IO[bytes]]:
    """Return the server of a run of several processes, started by the first of them, and the file whose lock keeps it alive."""
    if run is None:
        return _started(fsync=False)
    pointer = Path(tempfile.gettempdir()) / f"playhead-tests-{os.getuid()}-{run}"
    with open(os.open(pointer, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        text = known.read()
        if text:
            server = Server(**json.loads(text))
            with suppress(OSError):
                users = _users(Path(server.folder))
                # Whoever started it may have been killed, and what would have ended it with them.
                _reap(Path(server.folder), pointer)
                return server, users
        server, users = _started(fsync=False, also=[pointer])
        known.seek(0)
        known.truncate()
        json.dump(asdict(server), known)
        return server, users


def _started(*, fsync: bool, settings: Mapping[str, object] = MappingProxyType({}), also: Sequence[Path] = ()) -> tuple[Server, IO[bytes]]:
    """Make a cluster and start its server; the files `also` go with it."""
    folder = Path(tempfile.mkdtemp(prefix="ph-pg-"))
    (folder / "users").touch()
    users = _users(folder)
    who = _reap(folder, *also)
    password = secrets.token_hex(16)
    (folder / "password").write_text(password)
    for place in (folder, folder / "password"):
        os.chown(place, *who)
    rights = ("--auth-local=trust", "--auth-host=password", f"--pwfile={folder / 'password'}")
    programs.called("initdb", "-D", folder / "data", "-U", USER, "-E", "UTF8", "--no-locale", "--no-sync", *rights, cwd=folder)
    chosen = SETTINGS | {"unix_socket_directories": f"'{folder}'"} | ({} if fsync else NOT_SAFE) | dict(settings)
    return _listening(folder, password, chosen), users


def _reap(folder: Path, *also: Path) -> tuple[int, int]:
    """Have a server's folder removed when its last user is gone; return the user and group that it runs under."""
    user = programs.account()
    who = (user.pw_uid, user.pw_gid) if user else (os.getuid(), os.getgid())
    reaper = [sys.executable, *map(str, (Path(__file__).with_name("reaper.py"), folder, programs.folder() / "pg_ctl", *who, *also))]
    subprocess.run(reaper, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return who


def _listening(folder: Path, password: str, settings: Mapping[str, object]) -> Server:
    """Start the server of a cluster at a port that is free; somebody may take it in between, so a few are tried."""
    configuration = folder / "data" / "postgresql.conf"
    first = configuration.read_text()
    for left in (2, 1, 0):
        server = Server(folder=str(folder), port=_free_port(), password=password)
        configuration.write_text("\n".join([first, *(f"{name} = {value}" for name, value in settings.items()), f"port = {server.port}", ""]))
        try:
            server.start()
            break
        except RuntimeError:
            if not left:
                raise
    return server


def _users(folder: Path) -> IO[bytes]:
    """Return the file whose shared lock says that its holder uses the server; raises OSError where the server is about to end."""
    users = (folder / "users").open("rb")
    try:
        fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        users.close()
        raise
    return users


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
            found += [pid] if int(rest[1]) == parent else []
    return found
