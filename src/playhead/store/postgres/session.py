"""A connection to PostgreSQL that is ready to use, and one that is opened again where it was lost."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any

import psycopg

from playhead.errors import StoreUnavailable
from playhead.store.postgres.arrays import register
from playhead.store.postgres.direct import DirectStatement, Socket
from playhead.store.postgres.failures import Silence, rights
from playhead.store.postgres.schema import bring_up_to_date, tables_of
from playhead.store.postgres.server import Server
from playhead.store.rows.statements import statements

Row = tuple[Any, ...]
Values = Mapping[str, object]

_OLDEST = 150000
_DEFAULTS = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3", "fallback_application_name": "playhead", "client_encoding": "utf8"}


class Prepared:
    """Whether the schema was found as it must be, which is looked at by the first connection of a store."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.done = False
        self.tables = 0
        """The number of the tables that were found."""


class Session:
    """A connection, in which every statement stands by itself unless it is inside `transaction`."""

    def __init__(self, server: Server, *, prepared: Prepared, wait: float) -> None:
        self._connection = _connected(server)
        try:
            self._set_up(server, prepared, max(1, math.ceil(wait * 1000)))
        except BaseException:
            self._connection.close()
            raise
        self._cursor = self._connection.cursor(binary=True)
        self._socket = Socket(self._connection.fileno())
        self._direct: dict[str, DirectStatement] = {}

    @property
    def is_usable(self) -> bool:
        """Whether a statement can be sent, as far as is known."""
        return not self._connection.closed and not self._connection.broken

    def has_ended(self) -> bool:
        """Return whether the server has ended it, which an idle session hears of only when it is asked: so nothing is sent that nobody gets."""
        if not self.is_usable:
            return True
        if not self._socket.brings(0.0):
            return False
        with suppress(psycopg.Error):
            self._connection.pgconn.consume_input()
            return not self.is_usable or self._socket.brings(0.0)
        return True

    def rows(self, statement: str, values: Values) -> list[Row]:
        """Run a statement and return its rows."""
        return self._cursor.execute(statement, values).fetchall()

    def row(self, statement: str, values: Values) -> Row | None:
        """Run a statement and return its first row."""
        return self._cursor.execute(statement, values).fetchone()

    def direct(self, statement: str) -> DirectStatement:
        """Return a statement to send outside of a transaction and of a pipeline, one that returns a whole number."""
        found = self._direct.get(statement)
        if found is None:
            found = self._direct[statement] = DirectStatement(self._connection, statement, name=f"playhead_{len(self._direct)}", socket=self._socket, patience=self._connection.patience)
        return found

    def send(self, statement: str, values: Values | None = None) -> psycopg.Cursor[Row]:
        """Send a statement, inside `pipeline` without a wait for what comes of it."""
        return self._connection.cursor(binary=True).execute(statement, values)

    def run_for_long(self, statement: str) -> list[str]:
        """Run a statement that may take any time, outside of a transaction, and return what the server warned of."""
        connection, warnings, patience = self._connection, list[str](), self._connection.patience

        def hear(notice: psycopg.errors.Diagnostic) -> None:
            if notice.severity_nonlocalized == "WARNING":
                warnings.append(notice.message_primary or "")

        connection.patience = math.inf
        connection.add_notice_handler(hear)
        try:
            connection.execute(statement, prepare=False)
        finally:
            connection.patience = patience
            connection.remove_notice_handler(hear)
        return warnings

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send what is sent inside the block at once; outside of a transaction it is one."""
        pipeline = self._connection.pipeline()
        pipeline.__enter__()
        try:
            yield
        except BaseException:
            # What came first is what is raised. It is left also where the connection is gone: else the driver leaves it some day, and warns of that.
            with suppress(psycopg.Error):
                pipeline.__exit__(None, None, None)
            raise
        pipeline.__exit__(None, None, None)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo what was begun inside the block where it raises."""
        try:
            yield
        except BaseException:
            if self.is_usable:
                with suppress(psycopg.Error):
                    self._connection.execute(statements("postgres/connection")["rollback"])
            raise

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    @property
    def connection(self) -> psycopg.Connection[Row]:
        """The driver's connection, for what only it can do."""
        return self._connection

    def _set_up(self, server: Server, prepared: Prepared, wait: int) -> None:
        _check(self._connection, server)
        values = {
            "schema": server.schema,
            "wait": str(wait),
            "idle": str(max(10_000, math.ceil(2000 * server.timeout))),
            "sync": "on" if server.durability == "disk" else "off",
            "read_only": "on" if server.read_only else "off",
        }
        ((*_, has_schema, may_use, is_begun),) = self._connection.execute(statements("postgres/connection")["set_up"], values)
        if has_schema and not may_use:
            raise rights(server.label, f"it may not use the schema '{server.schema}'")
        with prepared.lock:
            if not prepared.done:
                bring_up_to_date(self._connection, server, has_schema=has_schema, is_begun=is_begun)
                prepared.tables = tables_of(self._connection)
                prepared.done = True


class Link:
    """A session of one thread, opened when it is needed and again where it was lost; it waits for locks for as long as the store does, or for `wait` seconds."""

    def __init__(self, server: Server, *, prepared: Prepared, wait: float | None = None) -> None:
        self.server = server
        self._prepared = prepared
        self._wait = server.timeout if wait is None else min(wait, server.timeout)
        self._session: Session | None = None

    @property
    def was_reached(self) -> bool:
        """Whether the store has had a session at all: then the server is away, else its address may be wrong."""
        return self._prepared.done

    def session(self) -> Session:
        """Return the session; raises psycopg.Error where there is none to be had."""
        if self._session is not None and self._session.has_ended():
            self.drop()
        if self._session is None:
            self._session = Session(self.server, prepared=self._prepared, wait=self._wait)
        return self._session

    def check_tables(self, session: Session) -> None:
        """Raise StoreUnavailable where the tables are not those that the store began with: somebody dropped them, and somebody made them anew."""
        if tables_of(session.connection) != self._prepared.tables:
            label = self.server.label
            raise StoreUnavailable(f"The tables at {label} were removed and made anew while the store had them open; restore them, or close the store and open it again.", store=label)

    def drop(self) -> None:
        """Let go of the session."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(psycopg.Error, OSError):
                session.close()


class _Connection(psycopg.Connection[Row]):
    """A connection that does not wait for ever."""

    patience = math.inf

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        return super().wait(_patient(gen, self.patience), *args, **kwargs)


def _patient(gen: Generator[Any, Any, Any], patience: float) -> Generator[Any, Any, Any]:
    """Wait as a generator does. Raises Silence where nothing happens for too long."""
    try:
        state = next(gen)
        last = monotonic()
        while True:
            ready = yield state
            if ready:
                last = monotonic()
            elif monotonic() - last > patience:
                raise Silence(f"the server did not answer for {patience:g} seconds")
            state = gen.send(ready)
    except StopIteration as end:
        return end.value


def _connected(server: Server) -> _Connection:
    words = psycopg.conninfo.conninfo_to_dict(server.conninfo)
    defaults: dict[str, Any] = {**_DEFAULTS, "connect_timeout": str(max(2, math.ceil(server.timeout))), "tcp_user_timeout": str(math.ceil(server.patience * 1000))}
    connection = _Connection.connect(server.conninfo, autocommit=True, prepare_threshold=0, **{word: value for word, value in defaults.items() if word not in words})
    connection.patience = server.patience
    register(connection)
    return connection


def _check(connection: psycopg.Connection[Row], server: Server) -> None:
    version, encoding = connection.info.server_version, connection.info.parameter_status("server_encoding")
    if version < _OLDEST:
        raise StoreUnavailable(f"The server at {server.label} is PostgreSQL {version // 10000}; a store needs 15 or newer.", store=server.label)
    if encoding != "UTF8":
        raise StoreUnavailable(f"The database at {server.label} is encoded as {encoding}, which cannot keep every text; create one with ENCODING 'UTF8' and TEMPLATE template0.", store=server.label)
