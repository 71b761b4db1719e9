"""What went wrong below: PostgreSQL's errors as ours, with what to do next, and which of them pass."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg

from playhead.errors import InvalidInput, PlayheadError, StoreBusy, StoreDamaged, StoreError, StoreOutdated, StoreUnavailable
from playhead.store.postgres.server import Server

_LOST = "08"
_ENDED = frozenset({"57P01", "57P02", "57P03", "25P03"})
_CROWDED = ("too many clients", "too many connections", "connection slots")
_LIMITED = {"for role": "ALTER ROLE", "for database": "ALTER DATABASE"}
_WRONG_WORD = re.compile(r"invalid \w+ (value|number)|bad value for")
_FORGOTTEN = frozenset({"26000", "0A000"})
_PASSING = _ENDED | _FORGOTTEN | {"40001", "40P01", "53300"}


class Silence(psycopg.OperationalError):
    """Nothing came from the server for too long."""


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone with the error."""
    state = error.sqlstate
    return isinstance(error, Silence) or (state is None and isinstance(error, psycopg.OperationalError)) or (state is not None and (state.startswith(_LOST) or state in _ENDED))


def is_crowded(error: psycopg.Error) -> bool:
    """Return whether the server has no connection left for us; its driver only hands on the words of it."""
    return error.sqlstate == "53300" or (error.sqlstate is None and any(words in str(error) for words in _CROWDED))


def is_misnamed(error: psycopg.Error) -> bool:
    """Return whether a word of the address is one that PostgreSQL's library does not take, which no other try changes."""
    return error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.ProgrammingError) and _WRONG_WORD.search(str(error)) is not None


def needs_another_session(error: psycopg.Error) -> bool:
    """Return whether the connection is of no more use: it is gone, or its prepared statements are."""
    return is_lost(error) or error.sqlstate in _FORGOTTEN


def is_passing(error: psycopg.Error) -> bool:
    """Return whether the same thing may succeed when it is tried again."""
    return (is_lost(error) and not is_misnamed(error)) or error.sqlstate in _PASSING


def typed(error: BaseException, *, server: Server) -> PlayheadError:
    """Return our error for one that PostgreSQL, its driver or the system raised; ours are returned as they are."""
    if isinstance(error, PlayheadError):
        return error
    if isinstance(error, psycopg.Error):
        return _from_postgres(error, server.label)
    if isinstance(error, MemoryError | OverflowError):
        return _too_big(server.label, str(error))
    return StoreError(f"The store at {server.label} failed: {type(error).__name__}: {error}.", store=server.label)


def _from_postgres(error: psycopg.Error, label: str) -> PlayheadError:
    why = " ".join(str(error).split()).rstrip(".")
    state = error.sqlstate
    if is_crowded(error):
        return _crowded(label, why)
    if is_misnamed(error):
        return InvalidInput(f"A word of the address {label} cannot be ({why}); correct it.", store=label)
    if is_lost(error):
        return _unreached(label, why)
    for beginning, make in _BY_STATE.items():
        if state is not None and state.startswith(beginning):
            return make(label, why)
    if isinstance(error, psycopg.DataError):
        return _too_big(label, why)
    return StoreError(f"PostgreSQL refused a statement at {label}: {why}.", store=label, sqlstate=state)


def busy(label: str, why: str) -> StoreBusy:
    """Return the error of what was not had in time."""
    return StoreBusy(f"The store at {label} is busy ({why}); try again, or give it more time with timeout=SECONDS.", store=label)


def _crowded(label: str, why: str) -> StoreBusy:
    """Return the error of a server that has no connection left for us, and whose limit that is."""
    limit = next((f"the CONNECTION LIMIT, with {alter}" for words, alter in _LIMITED.items() if f"too many connections {words}" in why), "max_connections of the server")
    return StoreBusy(f"No connection is left at {label} ({why}); raise {limit}, or open fewer stores, each with fewer connections=N.", store=label)


def _unreached(label: str, why: str) -> StoreUnavailable:
    """Return the error of a connection that could not be made or was lost; why it was not, its driver only hands on in words."""
    missing = re.search(r'(database|role) "[^"]*" does not exist', why)
    if missing:
        return (_no_database if missing[1] == "database" else _refused)(label, why)
    return next((make for words, make in _BY_WORDS.items() if words in why), _away)(label, why)


def _away(label: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The server at {label} cannot be reached ({why}); check that it runs, its address and the network.", store=label)


def _no_database(label: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"There is no such database at {label} ({why}); create it with ENCODING 'UTF8', or name another one.", store=label)


def _no_encryption(label: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The server at {label} is not spoken to as sslmode asks ({why}); name another sslmode, or have the server's certificate and settings changed.", store=label)


def rights(label: str, why: str) -> StoreUnavailable:
    """Return the error of a role that may not do what it must."""
    return StoreUnavailable(f"The role that uses {label} lacks a right ({why}); grant it, or have the owner of the database make the schema once.", store=label)


def _refused(label: str, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"The server at {label} does not let us in ({why}); check the user, the password and the database.", store=label)


def _full(label: str, why: str) -> PlayheadError:
    return StoreUnavailable(f"The server at {label} has no room left ({why}); nothing was written; free some and try again.", store=label)


def _read_only(label: str, why: str) -> PlayheadError:
    return StoreUnavailable(f"The server at {label} only reads ({why}); name the primary, or open the store with read_only.", store=label)


def _damaged(label: str, why: str) -> PlayheadError:
    return StoreDamaged(f"The database at {label} is damaged ({why}); restore a backup, or keep what can be read with playhead.export_store().", store=label)


def _altered(label: str, why: str) -> PlayheadError:
    return StoreUnavailable(f"The tables at {label} are not those that playhead made ({why}); choose another schema, or restore a backup.", store=label)


def _too_big(label: str, why: str) -> PlayheadError:
    return InvalidInput(f"An entry is larger than PostgreSQL can keep at {label} ({why}); store it in parts or by reference.", store=label)


def outdated(label: str, found: int, known: int) -> StoreOutdated:
    """Return the error of a schema that a newer version made."""
    return StoreOutdated(f"The schema at {label} was made by a newer version (schema {found}, this one knows {known}); upgrade playhead to use it.", store=label)


_BY_STATE = {
    "55P03": busy,
    "57014": busy,
    "40": busy,
    "53": _full,
    "42501": rights,
    "28": _refused,
    "3D000": _no_database,
    "25006": _read_only,
    "XX": _damaged,
    "3F000": _altered,
    "42P01": _altered,
    "42703": _altered,
    "54": _too_big,
}
_BY_WORDS: dict[str, Callable[[str, str], StoreUnavailable]] = {
    "authentication failed": _refused,
    "no password supplied": _refused,
    "pg_hba.conf": _refused,
    "is not permitted to log in": _refused,
    "SSL was required": _no_encryption,
    "certificate": _no_encryption,
}
