"""Empty databases for tests, made from a template that has the store's tables already, and used again where little was written."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlencode, urlsplit, urlunsplit

import anyio
import psycopg
from psycopg import sql

from tests.postgres import programs
from tests.postgres.server import Server, joined

GIVEN = "PLAYHEAD_POSTGRES_URL"
FEW = 2_000
FORGET = """
SELECT format('DELETE FROM %s', oid::regclass) FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'playhead'::regnamespace AND relname <> 'schema_version'
"""


class Databases:
    """Databases on one server, for the tests of one process."""

    def __init__(self, server: Server | None, *, given: str = "") -> None:
        self.server = server
        self._given = given
        self._prefix = f"playhead_test_{os.getpid()}"
        self._made = 0
        self._template: str | None = None
        self._clean: list[str] = []
        self._admin = psycopg.connect(self.url("postgres") if server else given, autocommit=True)
        atexit.register(self._close)

    def url(self, name: str) -> str:
        """Return the URL of a database: through the Unix socket of a server of our own."""
        if self.server:
            return self.server.socket_url(name)
        return urlunsplit(urlsplit(self._given)._replace(path=f"/{name}"))

    @property
    def address(self) -> tuple[str, int]:
        """Where the server listens."""
        parts = urlsplit(self.server.url() if self.server else self._given)
        return parts.hostname or "127.0.0.1", parts.port or 5432

    def through(self, url: str, *, port: int) -> str:
        """Return the URL of a database by way of another port of this machine, unencrypted, so that what stands there can read along."""
        parts = urlsplit(self.server.url() if self.server else self._given)
        return urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}", path=urlsplit(url).path, query="sslmode=disable&gssencmode=disable"))

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Yield the URL of a database without any table, which is dropped afterwards."""
        name = self._create()
        try:
            yield self.url(name)
        finally:
            self._drop(name)

    @contextmanager
    def database(self, *, fresh: bool = False) -> Iterator[str]:
        """Yield the URL of a database whose tables are empty; `fresh` gives one that was never used and is dropped afterwards."""
        name = self._clean.pop() if self._clean and not fresh else self._create(self._with_tables())
        kept = False
        try:
            yield self.url(name)
            kept = not fresh and self._emptied(name)
        finally:
            if kept:
                self._clean.append(name)
            else:
                self._drop(name)

    @contextmanager
    def copy(self, url: str) -> Iterator[str]:
        """Yield the URL of a copy of a database that nobody uses, which is dropped afterwards."""
        self.end_sessions(url)
        name = self._create(urlsplit(url).path[1:])
        try:
            yield self.url(name)
        finally:
            self._drop(name)

    def end_sessions(self, url: str) -> int:
        """End all sessions of a database, wait until they are gone, and return how many there were."""
        name = urlsplit(url).path[1:]
        return len(self._admin.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s", [name]).fetchall())

    def _emptied(self, name: str) -> bool:
        """Remove all rows; return False where there were so many that the next test would feel it, or somebody is still in there."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").fetchall():
                return False
            statements = [row[0] for row in connection.execute(FORGET)]
            return sum(connection.execute(statement).rowcount for statement in statements) < FEW

    def _with_tables(self) -> str:
        if self._template is None:
            name = self._create()
            with ThreadPoolExecutor(1) as beside:  # here a loop may run already
                beside.submit(anyio.run, _make_tables, self.url(name)).result()
            self._template = name
        return self._template

    def _create(self, template: str = "template0") -> str:
        self._made += 1
        name = f"{self._prefix}_{self._made}"
        self._admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def _drop(self, name: str) -> None:
        self._admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _close(self) -> None:
        """Leave nothing behind on a server that goes on."""
        if self.server is None:
            for name in [*self._clean, *([self._template] if self._template else [])]:
                self._drop(name)
        self._admin.close()


async def _make_tables(url: str) -> None:
    from playhead.store.postgres.store import PostgresTapeStore

    async with PostgresTapeStore(url) as store:
        await store.list_tapes()


def with_words(url: str, **words: object) -> str:
    """Return a URL with more words behind its `?`."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(words)}"


@cache
def known() -> Databases | None:
    """Return the databases of this process, or None where there is no server and none can be started. Raises RuntimeError where one is required."""
    given = os.environ.get(GIVEN)
    if given:
        return Databases(None, given=given)
    if programs.found() is None:
        if programs.is_required():
            raise RuntimeError(programs.ABSENT)
        return None
    server, users = joined(os.environ.get("PYTEST_XDIST_TESTRUNUID"))
    atexit.register(users.close)
    return Databases(server)


def databases() -> Databases:
    """Return the databases of this process; skip the test where there is no server."""
    return known() or programs.absent()
