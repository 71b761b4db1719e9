"""A server that answers as it was told, byte by byte: what a provider's SDK meets on a network."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 400: "Bad Request", 413: "Content Too Large", 429: "Too Many Requests", 529: "Overloaded"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says: pieces that leave it one by one.

    `drops` breaks the connection behind the last piece; `waits` holds the answer behind its first piece until the server closes or
    the event is set.
    """

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str | None = "text/event-stream; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    drops: bool = False
    waits: threading.Event | None = None


def cut(body: bytes, size: int) -> tuple[bytes, ...]:
    """Return a body in pieces of a size, wherever that cuts it."""
    return tuple(body[i : i + size] for i in range(0, len(body), size))


def told(body: object, *, status: int, **headers: str) -> Answer:
    """Return an answer that is no stream but one JSON value."""
    return Answer(pieces=(json.dumps(body).encode(),), status=status, content_type="application/json", headers=headers)


class ProviderServer:
    """Listens on loopback, gives the answers in order, and keeps the requests; past the last answer it says 599."""

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.answers = deque(answers)
        self.requests: list[Request] = []
        self.hung_up = threading.Event()
        self._closing = threading.Event()
        server = self

        class Conversation(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                server.converse(self.request)

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._listener = Listener(("127.0.0.1", 0), Conversation)
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    def __enter__(self) -> ProviderServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()

    def converse(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        try:
            with connection.makefile("rb") as incoming:
                while (request := _read(incoming)) is not None:
                    self.requests.append(request)
                    answer = self.answers.popleft() if self.answers else Answer(status=599)
                    if not self._send(connection, answer):
                        return
        except OSError:
            self.hung_up.set()

    def _send(self, connection: socket.socket, answer: Answer) -> bool:
        """Send an answer in chunks; return whether the connection stays."""
        form = {"Content-Type": answer.content_type} if answer.content_type else {}
        headers = {**form, "Transfer-Encoding": "chunked", **answer.headers}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Whatever')}\r\n{head}\r\n".encode())
        for at, piece in enumerate(answer.pieces):
            if at == 1 and answer.waits is not None:
                self._wait(connection, answer.waits)
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.drops:
            connection.shutdown(socket.SHUT_RDWR)
            return False
        connection.sendall(b"0\r\n\r\n")
        return True

    def _wait(self, connection: socket.socket, event: threading.Event) -> None:
        """Wait for the event, and notice meanwhile when the client hangs up."""
        connection.settimeout(0.02)
        while not event.is_set() and not self._closing.is_set():
            try:
                if connection.recv(1, socket.MSG_PEEK) == b"":
                    raise ConnectionResetError
            except TimeoutError:
                continue
        connection.settimeout(30)


def _read(incoming: Any) -> Request | None:
    first = incoming.readline().split()
    if len(first) < 2:
        return None
    headers: dict[str, str] = {}
    while line := incoming.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    raw = incoming.read(int(headers.get("content-length", 0)))
    return Request(path=first[1].decode(), headers=headers, raw=raw)
