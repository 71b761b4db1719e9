"""The tables of a PostgreSQL store: made, and brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

import psycopg
from psycopg import sql

from playhead.errors import StoreDamaged, StoreUnavailable
from playhead.store.postgres.failures import outdated
from playhead.store.postgres.server import Server
from playhead.store.rows.statements import numbered, script, statements

FOLDER = "postgres"

_TRIES = 8
_MADE_MEANWHILE = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable, psycopg.errors.DuplicateSchema)


def bring_up_to_date(connection: psycopg.Connection[Any], server: Server, *, has_schema: bool, is_begun: bool) -> None:
    """Make the schema and apply the migrations it lacks, each in a transaction; others may do the same at the same time.

    Raises StoreOutdated where a newer version made it, StoreDamaged where an applied migration is not the one we know,
    StoreUnavailable where it is not there and nothing may be written.
    """
    applied = _applied(connection, server) if is_begun else 0
    if applied == len(migrations()):
        return
    if server.read_only:
        found = f"was made by an older version (schema {applied}, this one reads {len(migrations())})" if applied else "holds no store"
        raise StoreUnavailable(f"The schema '{server.schema}' at {server.label} {found}; open it once without read_only.", store=server.label)
    if not has_schema:
        with suppress(*_MADE_MEANWHILE):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(server.schema)))
    if not is_begun:
        with suppress(*_MADE_MEANWHILE):
            connection.execute(statements("postgres/connection")["create_schema_version"])
    _migrate(connection, server)


def tables_of(connection: psycopg.Connection[Any]) -> int:
    """Return the number under which the server keeps the tables: another one once they were dropped and made anew."""
    ((number,),) = connection.execute(statements("postgres/connection")["tables"]).fetchall()
    return int(number)


def migrations() -> tuple[str, ...]:
    """Return the names of the migrations, in order."""
    return numbered(FOLDER)


def _migrate(connection: psycopg.Connection[Any], server: Server) -> None:
    for _ in range(_TRIES):
        applied = _applied(connection, server)
        try:
            for version, name in enumerate(migrations()[applied:], applied + 1):
                with _transaction(connection):
                    connection.execute(statements("postgres/connection")["record_migration"], {"version": version, "checksum": _checksum(name)})
                    connection.execute(script(name), prepare=False)
        except _MADE_MEANWHILE as exc:
            failure = exc
            continue
        return
    raise StoreUnavailable(f"The schema '{server.schema}' at {server.label} holds tables of another program ({failure}); choose another one.", store=server.label) from failure


@contextmanager
def _transaction(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Commit what is done inside the block, or undo it: without the driver's own, which warns of a connection that was lost."""
    ends = statements("postgres/connection")
    connection.execute(ends["begin"])
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):
            connection.execute(ends["rollback"])
        raise
    connection.execute(ends["commit"])


def _applied(connection: psycopg.Connection[Any], server: Server) -> int:
    """Return how many migrations the schema has had, after comparing them with ours."""
    found = connection.execute(statements("postgres/connection")["migrations"]).fetchall()
    ours = [(version, _checksum(name)) for version, name in enumerate(migrations(), 1)]
    if len(found) > len(ours):
        raise outdated(server.label, len(found), len(ours))
    if found != ours[: len(found)]:
        raise StoreDamaged(f"The schema '{server.schema}' at {server.label} is not one that playhead made; restore a backup.", store=server.label)
    return len(found)


def _checksum(migration: str) -> str:
    return sha256(script(migration).encode()).hexdigest()
