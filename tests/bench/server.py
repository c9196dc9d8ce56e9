"""A server on 127.0.0.1 in a process of its own, so that its time does not count. It does as little as possible."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from tests.support.certificates import HOST, make_certificate

TlsFiles = tuple[Path, Path]
"""A certificate and its key."""
_PIECE = 64 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Responses(Protocol):
    """What a server sends."""

    @property
    def calls(self) -> Mapping[str, int]:
        """How often each action was called, if it counts them."""
        ...

    def respond(self, head: bytes, body: bytes) -> Sequence[bytes]:
        """Return the parts of the whole response to a request."""
        ...


@frozen
class Server:
    """A running server."""

    endpoint_url: str
    pid: int
    _pipe: Connection

    @property
    def port(self) -> int:
        return int(self.endpoint_url.rpartition(":")[2])

    def calls(self) -> dict[str, int]:
        """Return how often each action was called so far. The counts are approximate when calls overlap."""
        self._pipe.send(None)
        calls: dict[str, int] = self._pipe.recv()
        return calls


@contextmanager
def trusted_certificate() -> Iterator[TlsFiles]:
    """Yield a new certificate. Clients of AWS that start in the block trust it, also in other processes."""
    with tempfile.TemporaryDirectory() as folder:
        files = make_certificate(Path(folder))
        os.environ["AWS_CA_BUNDLE"] = str(files[0])
        try:
            yield files
        finally:
            del os.environ["AWS_CA_BUNDLE"]


@contextmanager
def serving(
    make: Callable[..., Responses], *arguments: object, tls: TlsFiles | None = None
) -> Iterator[Server]:
    """Serve the responses that *make* makes of *arguments* in the other process. With *tls* over HTTPS."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_serve, args=(its, tls, make, arguments), daemon=True)
    process.start()
    try:
        yield Server(ours.recv(), process.pid or 0, ours)
    finally:
        process.terminate()
        process.join()
        process.close()


def response(
    *body: bytes, content_type: str = "application/x-amz-json-1.1", more: bytes = b""
) -> tuple[bytes, ...]:
    """Return a response with status 200 whose *body* has these parts. *more* are further headers, each with the end of its line."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n"
    return head % (content_type.encode(), more, sum(map(len, body))), *body


def _serve(
    parent: Connection, files: TlsFiles | None, make: Callable[..., Responses], arguments: Any
) -> None:
    tls = None
    if files is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*files)
    responses = make(*arguments)
    listener = socket.create_server((HOST, 0), backlog=1024)
    threading.Thread(target=_accept, args=(listener, tls, responses), daemon=True).start()
    parent.send(f"{'https' if tls else 'http'}://{HOST}:{listener.getsockname()[1]}")
    with contextlib.suppress(EOFError):  # the parent has ended
        while True:
            parent.recv()
            parent.send(responses.calls)


def _accept(listener: socket.socket, tls: ssl.SSLContext | None, responses: Responses) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # else a client waits for the end of a response
        threading.Thread(target=_serve_one, args=(connection, tls, responses), daemon=True).start()


def _serve_one(connection: socket.socket, tls: ssl.SSLContext | None, responses: Responses) -> None:
    with (
        contextlib.suppress(OSError),
        connection if tls is None else tls.wrap_socket(connection, server_side=True) as secured,
    ):
        received = b""
        while (request := _receive(secured, received)) is not None:
            head, body, received = request
            _send(secured, responses.respond(head, body))


def _send(connection: socket.socket, parts: Sequence[bytes]) -> None:
    """Send *parts*, without a copy of what is large: while one thread copies, no other sends."""
    if sum(map(len, parts)) <= _PIECE:
        parts = [b"".join(parts)]
    for part in parts:
        connection.sendall(part)


def _receive(connection: socket.socket, received: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return head and body of the next request, and the bytes after it; None when the client has closed the connection."""
    while True:
        head, end, rest = received.partition(b"\r\n\r\n")
        if end:
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if len(rest) >= size:
                return head, rest[:size], rest[size:]
        more = connection.recv(_PIECE)
        if not more:
            return None
        received += more
