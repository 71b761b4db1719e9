"""Stores as each version of their tables kept them, made of the SQL beside this module."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import psycopg

from playhead.store.rows.statements import numbered, script, statements

HERE = Path(__file__).parent
FOLDERS = {"sqlite": "", "postgres": "postgres"}
"""Where the migrations of each kind of store are, below `sql`."""

_AFTER = re.compile(r"^-- after: (\w+)$", re.MULTILINE)


def written(kind: str) -> dict[str, str]:
    """Return by the name of a migration what was written once that was applied."""
    _, *parts = _AFTER.split((HERE / f"{kind}.sql").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def make_sqlite(path: Path, *, step: int) -> None:
    """Make a SQLite store of the first so many migrations, written to behind each."""
    sql = statements("connection")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql["create_schema_version"])
        for version, name, content in _steps("sqlite", step):
            connection.executescript(script(name))
            connection.execute(sql["record_migration"], (version, 0, sha256(script(name).encode()).hexdigest()))
            connection.executescript(content)


def make_postgres(url: str, *, step: int) -> None:
    """Make the same in an empty database."""
    sql = statements("postgres/connection")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA playhead")
        connection.execute("SET search_path = playhead")
        connection.execute(sql["create_schema_version"])
        for version, name, content in _steps("postgres", step):
            connection.execute(script(name))
            connection.execute(sql["record_migration"], {"version": version, "checksum": sha256(script(name).encode()).hexdigest()})
            connection.execute(content)


def _steps(kind: str, step: int) -> Iterator[tuple[int, str, str]]:
    """Yield the number of each migration, its name, and what was written behind it."""
    content = written(kind)
    for version, name in enumerate(numbered(FOLDERS[kind])[:step], 1):
        yield version, name, content[Path(name).name]
