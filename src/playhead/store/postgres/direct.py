"""A statement that is sent by itself, without the driver's cursor, which would cost more than the wire: for what is asked most often."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from playhead.store.postgres.failures import Silence

_PLACE = re.compile(r"%\((\w+)\)b")
_KNOWN: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    bool: (16, lambda value: b"\1" if value else b"\0"),
    bytes: (17, bytes),
    int: (20, Struct("!q").pack),
    UUID: (2950, lambda value: value.bytes),
}
"""The number of the type that each value is sent as, and how."""


class Socket:
    """The socket of a connection, to wait at."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(fd, select.POLLIN)

    def brings(self, seconds: float) -> bool:
        """Wait until something comes, be it the end; False where nothing did for so many seconds."""
        if self._poll is None:
            return bool(select.select([self._fd], [], [], seconds)[0])
        return bool(self._poll.poll(seconds * 1000))

    def takes(self, seconds: float) -> bool:
        """Wait until it takes something, or something comes; False where neither was for so many seconds."""
        if self._poll is None:
            return any(select.select([self._fd], [self._fd], [], seconds))
        self._poll.modify(self._fd, select.POLLIN | select.POLLOUT)
        try:
            return bool(self._poll.poll(seconds * 1000))
        finally:
            self._poll.modify(self._fd, select.POLLIN)


class DirectStatement:
    """A statement of one connection, prepared when it is first sent; it returns a whole number, or nothing.

    It takes bytes, whole numbers, truth values and UUIDs, each always of the same type, all in binary.
    """

    def __init__(self, connection: psycopg.Connection[Any], statement: str, *, name: str, socket: Socket, patience: float) -> None:
        self._server = connection.pgconn
        self._socket = socket
        self._name = name.encode()
        self._patience = patience
        self._wanted = list(dict.fromkeys(_PLACE.findall(statement)))
        self._text = _PLACE.sub(lambda found: f"${self._wanted.index(found[1]) + 1}", statement).encode()
        self._encode: list[Callable[[Any], bytes]] = []
        self._formats = [Format.BINARY] * len(self._wanted)

    def send(self, values: Mapping[str, Any]) -> None:
        """Send it with its values; `number` waits for what comes of it. Raises psycopg.Error."""
        given = [values[name] for name in self._wanted]
        if not self._encode:
            self._prepare(given)
        self._server.send_query_prepared(self._name, [encode(value) for encode, value in zip(self._encode, given, strict=True)], self._formats, Format.BINARY)
        self._server.flush()

    def number(self) -> int | None:
        """Return the first value of the first row, None where no row came. Raises psycopg.Error, Silence where the server says nothing for too long."""
        result = self._result()
        value = result.get_value(0, 0) if result.ntuples else None
        return None if value is None else int.from_bytes(value, "big", signed=True)

    def _prepare(self, given: list[Any]) -> None:
        known = [_KNOWN[type(value)] for value in given]
        self._server.send_prepare(self._name, self._text, [oid for oid, _ in known])
        self._result()
        self._encode = [encode for _, encode in known]

    def _result(self) -> PGresult:
        """Wait for all that the server answers and return the first result; the server is heard also while it has not taken everything yet."""
        server, results = self._server, list[PGresult]()
        while server.flush():
            self._wait(self._socket.takes)
            server.consume_input()
        while True:
            while server.is_busy():
                self._wait(self._socket.brings)
                server.consume_input()
            result = server.get_result()
            if result is None:
                break
            results.append(result)
        if results[0].status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise psycopg.errors.error_from_result(results[0])
        return results[0]

    def _wait(self, something: Callable[[float], bool]) -> None:
        if not something(self._patience):
            raise Silence(f"the server did not answer for {self._patience:g} seconds")
