"""A connection to the store's file: opened, set up, and its schema brought up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from playhead import clock
from playhead.errors import StoreDamaged, StoreError, StoreOutdated, StoreUnavailable
from playhead.store.concurrency.lock import FileLock
from playhead.store.condition.failures import typed
from playhead.store.parting import INLINE
from playhead.store.rows.mounts import MOUNTS, network_file_system
from playhead.store.rows.row import microseconds
from playhead.store.rows.statements import numbered, script, statements

Durability = Literal["disk", "process"]
Network = Literal["refuse", "allow"]
SearchBy = Literal["index", "scan"]

_SET_UP = {
    "disk": ("sync_disk", "flush_disk", "no_autocheckpoint", "short_log", "foreign_keys", "no_mmap"),
    "process": ("sync_process", "no_autocheckpoint", "short_log", "foreign_keys", "no_mmap"),
}
_OURS = {"schema_version", "tape_names"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a store is, how safe an acknowledged append must be, how many seconds it waits for others, whether it may be on a network, and how it is searched.

    `inline_limit` is how many bytes of JSON a payload may have that is kept in one piece.
    """

    path: str
    durability: Durability
    timeout: float
    network: Network = "refuse"
    search: SearchBy = "index"
    mounts: str = MOUNTS
    inline_limit: int | None = INLINE

    def lock(self) -> FileLock:
        """Return the lock that all users of the file share, whatever name they know it by."""
        return FileLock(f"{os.path.realpath(self.path)}.lock", timeout=self.timeout)


def connect(place: Place, *, lock: FileLock) -> sqlite3.Connection:
    """Return a connection that is ready to use; creates the file, its folders and its tables where they are missing.

    Raises StoreUnavailable, StoreBusy, StoreDamaged or StoreOutdated.
    """
    _check_network(place)
    try:
        if _is_empty(place.path):
            Path(place.path).parent.mkdir(parents=True, exist_ok=True)
        else:
            connection = _attached(place)
            if _up_to_date(connection, place.path):
                return connection
            connection.close()
        with lock:
            return _prepared(place)
    except (sqlite3.Error, OSError) as exc:
        raise typed(exc, path=place.path) from exc


def connect_to_read(place: Place) -> sqlite3.Connection:
    """Return a connection that only reads, without a lock or a file of its own where no log stands beside the file.

    Raises StoreUnavailable, StoreDamaged or StoreOutdated.
    """
    _check_network(place)
    log = log_of(place.path)
    try:
        connection = sqlite3.connect(f"{Path(place.path).as_uri()}?mode=ro{'' if log else '&immutable=1'}", timeout=place.timeout, isolation_level=None, uri=True)
        try:
            connection.execute(statements("connection")["no_mmap"]).close()
            _check_readable(connection, place.path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as exc:
        if log and getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
            raise StoreUnavailable(
                f"What was last written to '{place.path}' stands in its log, '{place.path}-wal', which SQLite reads only in a folder that can be written; copy both files to one.",
                path=place.path,
            ) from exc
        raise typed(exc, path=place.path) from exc
    return connection


def log_of(path: str) -> tuple[int, int, int] | None:
    """Return the device, number and size of the log beside a file, None where there is none or nothing is in it."""
    try:
        found = os.stat(f"{os.path.realpath(path)}-wal")
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size) if found.st_size else None


def disconnect(connection: sqlite3.Connection | None, *, lock: FileLock) -> None:
    """Close a connection, if there is one, and the lock; the last one to close empties the log into the file, hence under the lock."""
    if connection is not None:
        try:
            with lock:
                connection.close()
        except StoreError:
            connection.close()
    lock.close()


def _check_network(place: Place) -> None:
    kind = None if place.network == "allow" else network_file_system(place.path, mounts=place.mounts)
    if kind is not None:
        raise StoreUnavailable(
            f"'{place.path}' is on a network file system ({kind}), where SQLite's log does not work between machines; choose a path on a local disk, "
            f"or say network='allow' (in a URL ?network=allow) if only this machine uses the file.",
            path=place.path,
        )


def _is_empty(path: str) -> bool:
    try:
        return Path(path).stat().st_size == 0
    except FileNotFoundError:
        return True


def _attached(place: Place) -> sqlite3.Connection:
    connection = sqlite3.connect(place.path, timeout=place.timeout, isolation_level=None)
    sql = statements("connection")
    try:
        for name in _SET_UP[place.durability]:
            connection.execute(sql[name]).close()
    except BaseException:
        connection.close()
        raise
    return connection


def _prepared(place: Place) -> sqlite3.Connection:
    """Return a connection to a file that is made or brought up to date; runs under the lock."""
    connection = _attached(place)
    try:
        _log_ahead(connection, place.path)
        migrate(connection, path=place.path)
    except BaseException:
        connection.close()
        raise
    return connection


def _log_ahead(connection: sqlite3.Connection, path: str) -> None:
    (journal,) = connection.execute(statements("connection")["log_ahead"]).fetchone()
    if journal != "wal":
        raise StoreUnavailable(f"SQLite cannot keep a write-ahead log at '{path}'; choose a file on a local disk.", path=path)


def migrate(connection: sqlite3.Connection, *, path: str) -> None:
    """Apply the migrations that the file lacks, each in one transaction.

    Raises StoreOutdated where a newer version wrote the file, StoreDamaged where an applied migration is not the one we know,
    StoreUnavailable where the database belongs to another program.
    """
    sql = statements("connection")
    connection.execute(statements("write")["begin"])
    try:
        applied = _applied(connection, path)
        if not applied and not _tables(connection):
            connection.execute(sql["create_schema_version"])
        for version, name in enumerate(numbered()[len(applied) :], len(applied) + 1):
            for statement in _split(script(name)):
                connection.execute(statement)
            connection.execute(sql["record_migration"], (version, microseconds(clock.now()), _checksum(name)))
        connection.execute(statements("write")["commit"])
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute(statements("write")["rollback"])
        raise


def _up_to_date(connection: sqlite3.Connection, path: str) -> bool:
    try:
        (journal,) = connection.execute(statements("connection")["journal"]).fetchone()
        return len(_applied(connection, path)) == len(numbered()) and journal == "wal"
    except BaseException:
        connection.close()
        raise


def _check_readable(connection: sqlite3.Connection, path: str) -> None:
    applied = len(_applied(connection, path))
    if applied < len(numbered()):
        found = f"was written by an older version (schema {applied}, this one reads {len(numbered())})" if applied else "holds no store"
        raise StoreUnavailable(f"'{path}' {found}; open it once without read_only to bring it up to date.", path=path)


def _applied(connection: sqlite3.Connection, path: str) -> list[tuple[int, str]]:
    """Return the migrations that the file has had, after comparing them with ours."""
    tables = _tables(connection)
    if not tables:
        return []
    if not tables >= _OURS:
        raise StoreUnavailable(f"'{path}' is the database of another program; choose another file.", path=path)
    applied = connection.execute(statements("connection")["migrations"]).fetchall()
    ours = [(version, _checksum(name)) for version, name in enumerate(numbered(), 1)]
    if len(applied) > len(ours):
        raise StoreOutdated(f"'{path}' was written by a newer version (schema {len(applied)}, this one knows {len(ours)}); upgrade playhead to use it.", path=path)
    if applied != ours[: len(applied)]:
        raise StoreDamaged(f"The schema of '{path}' is not one that playhead made; restore a backup.", path=path)
    return applied


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute(statements("connection")["tables"])}


def _checksum(migration: str) -> str:
    return sha256(script(migration).encode()).hexdigest()


def _split(text: str) -> Iterator[str]:
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
