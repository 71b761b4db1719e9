"""What went wrong below: SQLite's and the system's errors as ours, with what to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from playhead.errors import InvalidInput, PlayheadError, StoreBusy, StoreDamaged, StoreError, StoreUnavailable

_PRIMARY = 0xFF


def typed(error: BaseException, *, path: str) -> PlayheadError:
    """Return our error for one that SQLite or the system raised; ours are returned as they are."""
    match error:
        case PlayheadError():
            return error
        case sqlite3.Error():
            return _from_sqlite(error, path)
        case OSError():
            return StoreUnavailable(f"The store '{path}' cannot be used: {error.strerror or error}; check the path, its rights and the free space.", path=path)
        case MemoryError() | OverflowError():
            return InvalidInput(f"An entry is larger than this machine can keep in '{path}' ({error}); store it in parts or by reference.", path=path)
    return StoreError(f"The store '{path}' failed: {type(error).__name__}: {error}.", path=path)


def _from_sqlite(error: sqlite3.Error, path: str) -> PlayheadError:
    code = getattr(error, "sqlite_errorcode", None)
    make = _BY_CODE.get(code & _PRIMARY) if isinstance(code, int) else None
    if make is not None:
        return make(path, str(error))
    if isinstance(error, sqlite3.DataError):
        return _too_big(path, str(error))
    if code is None and "decode to UTF-8" in str(error):  # raised by Python, not by SQLite
        return _damaged(path, str(error).encode("ascii", "backslashreplace").decode())
    return StoreError(f"SQLite refused a statement on '{path}': {error}.", path=path)


def busy(path: str, why: str = "another process holds its lock") -> StoreBusy:
    """Return the error of a lock that was not had in time."""
    return StoreBusy(f"The store '{path}' is busy ({why}); try again, or end the process that holds it.", path=path)


def _full(path: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"There is no room left for the store '{path}' ({why}); nothing was written; free some space and try again.", path=path)


def _read_only(path: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The store '{path}' cannot be written ({why}); check the rights of the file and of its folder.", path=path)


def _damaged(path: str, why: str) -> StoreDamaged:
    return StoreDamaged(f"The store '{path}' is damaged ({why}); restore a backup, or keep what can be read with playhead.salvage({path!r}).", path=path)


def _no_database(path: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"'{path}' is no SQLite database, or its first page is damaged ({why}); choose another file, restore a backup, or keep what can be read with playhead.salvage({path!r}).", path=path
    )


def _closed_to_us(path: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The store '{path}' cannot be opened ({why}); check the path, its rights and the free space.", path=path)


def _disk(path: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The disk failed under the store '{path}' ({why}); check the disk and the free space, then open the store again.", path=path)


def _too_big(path: str, why: str) -> InvalidInput:
    return InvalidInput(f"An entry is larger than SQLite can keep in '{path}' ({why}); store it in parts or by reference.", path=path)


_BY_CODE: dict[int, Callable[[str, str], PlayheadError]] = {
    sqlite3.SQLITE_BUSY: busy,
    sqlite3.SQLITE_LOCKED: busy,
    sqlite3.SQLITE_NOMEM: _too_big,
    sqlite3.SQLITE_READONLY: _read_only,
    sqlite3.SQLITE_PERM: _read_only,
    sqlite3.SQLITE_AUTH: _read_only,
    sqlite3.SQLITE_IOERR: _disk,
    sqlite3.SQLITE_CORRUPT: _damaged,
    sqlite3.SQLITE_CONSTRAINT: _damaged,
    sqlite3.SQLITE_FULL: _full,
    sqlite3.SQLITE_CANTOPEN: _closed_to_us,
    sqlite3.SQLITE_TOOBIG: _too_big,
    sqlite3.SQLITE_NOTADB: _no_database,
}
