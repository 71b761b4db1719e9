"""A line to a PostgreSQL server that can be cut before or after a request got through, or keep the reply to itself.

It reads what clients send as far as to tell one request from the next: messages of a type and a length, a request ends with Sync or is a simple query.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

LOST = "lost"
"""The request never reaches the server, and the connection breaks."""
TORN = "torn"
"""Half of the request reaches the server, and the connection breaks."""
UNHEARD = "unheard"
"""The server does what was asked, and the connection breaks before it can say so."""
SWALLOWED = "swallowed"
"""The server does what was asked, but nothing is heard of it: the connection stays open and silent."""
TERMINATED = "terminated"
"""An administrator ends the session just before the request reaches the server."""
ALL = (LOST, TORN, UNHEARD, SWALLOWED, TERMINATED)

_ENDS = (b"S", b"Q")
_NOTICE = re.compile(rb"playhead_[0-9a-f]{24}")
"""The channel that notices go by: they are sent whenever there is time, so a request that is one would make the numbers of the others a matter of chance."""


@dataclass(eq=False)
class Line:
    """One connection through the wire."""

    client: socket.socket
    server: socket.socket
    silent: bool = False
    cut_at_reply: bool = False
    threads: list[threading.Thread] = field(default_factory=list)

    def cut(self) -> None:
        """Break both sides at once, as when a machine between them goes."""
        for end in (self.client, self.server):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)


class Wire:
    """Passes connections on to a server, from a port of its own on the loopback."""

    def __init__(self, address: tuple[str, int], *, terminate: Callable[[], object]) -> None:
        self._target = address
        self._terminate = terminate
        self._lock = threading.Lock()
        self._armed: tuple[int, str] | None = None
        self._lines: set[Line] = set()
        self._holding = b""
        self._down = self._then_down = False
        self.requests = 0
        """How many requests came that it counts, since it was armed or set back."""
        self.sprung = False
        """Whether the fault that was armed has happened."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="wire")
        self._thread.start()

    def arm(self, how: str, *, at: int = 1, holding: bytes = b"", then_down: bool = False) -> None:
        """Let the request of a number, counted from 1 among those that hold some bytes, meet a fault; `then_down` cuts all other lines and lets none begin from then on."""
        with self._lock:
            self.requests, self.sprung, self._armed, self._holding, self._then_down = 0, False, (at, how), holding, then_down

    def disarm(self) -> None:
        """Let everything through again, but for connections that are silent."""
        with self._lock:
            self._armed, self._down, self.requests = None, False, 0

    def cut_all(self, *, then_down: bool = False) -> None:
        """Cut every connection."""
        with self._lock:
            self._down = then_down
            for line in self._lines:
                line.cut()

    def close(self) -> None:
        """Cut everything and wait for the threads."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self.cut_all(then_down=True)
        for line in list(self._lines):
            for thread in line.threads:
                thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                down = self._down
            try:
                server = None if down else socket.create_connection(self._target)
            except OSError:
                server = None
            if server is None:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(client, server)
            line.threads = [threading.Thread(target=pump, args=[line], name="wire") for pump in (self._ask, self._answer)]
            with self._lock:
                self._lines.add(line)
            for thread in line.threads:
                thread.start()

    def _ask(self, line: Line) -> None:
        """Pass requests on, whole ones only."""
        with suppress(OSError):
            for request in _requests(line.client):
                how = self._fault(request, line)
                if how == TERMINATED:
                    self._terminate()
                if how == TORN:
                    line.server.sendall(request[: len(request) // 2])
                if how in (LOST, TORN):
                    line.cut()
                    return
                line.silent |= how == SWALLOWED
                line.cut_at_reply |= how == UNHEARD
                line.server.sendall(request)
        if not line.silent:
            line.cut()

    def _answer(self, line: Line) -> None:
        with suppress(OSError):
            while reply := line.server.recv(1 << 16):
                if line.cut_at_reply:
                    break
                if not line.silent:
                    line.client.sendall(reply)
        if line.silent:
            with suppress(OSError):
                select.select([line.client], [], [])
        line.cut()
        with self._lock:
            self._lines.discard(line)
        for end in (line.client, line.server):
            end.close()

    def _fault(self, request: bytes, line: Line) -> str | None:
        with self._lock:
            if self._holding not in request or _NOTICE.search(request):
                return None
            self.requests += 1
            if self._armed is None or self.requests != self._armed[0]:
                return None
            how, self._armed, self.sprung, self._down = self._armed[1], None, True, self._then_down
            if self._down:
                for other in self._lines - {line}:
                    other.cut()
            return how


@contextmanager
def wire(address: tuple[str, int], *, terminate: Callable[[], object] = lambda: None) -> Iterator[Wire]:
    """Yield a wire to a server."""
    made = Wire(address, terminate=terminate)
    try:
        yield made
    finally:
        made.close()


def _requests(client: socket.socket) -> Iterator[bytes]:
    """Yield what a client sends, one request after another; a start, which has no type, is one, too."""
    stream = client.makefile("rb")
    with stream:
        started = False
        pending = b""
        while True:
            kind = b"" if not started else stream.read(1)
            length = stream.read(4)
            if len(length) < 4 or (started and not kind):
                return
            message = kind + length + stream.read(struct.unpack("!i", length)[0] - 4)
            if not started:
                # A wish for encryption is followed by the start itself.
                started = struct.unpack("!i", message[4:8])[0] not in (80877103, 80877104)
                yield message
                continue
            pending += message
            if kind in (b"p", b"X", b"H", *_ENDS):
                yield pending
                pending = b""
