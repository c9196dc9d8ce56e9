"""A minimal HTTP server: a thread per connection finds two headers and sends a canned response."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
import time
from email.utils import formatdate

from kinesis_emulator.canned.responses import Responses
from kinesis_emulator.server import HOST
from kinesis_emulator.wire_formats import CBOR, JSON, WireFormat

CALLS = "/calls"
"""A GET of this path returns how often each action was called."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"\r\nx-amz-target: *Kinesis_20131202\.(\w+)", re.IGNORECASE)
_CBOR = re.compile(rb"\r\ncontent-type: *application/(x-amz-)?cbor", re.IGNORECASE)
_RECEIVED = 64 * 1024
_UNKNOWN = b'{"__type":"UnknownOperationException","message":"This action is not canned."}'


class CannedServer:
    """
    Serves *responses* on a port of 127.0.0.1, each one after *latency_s*.

    A call takes it about 50 us, since it has no parser, router or checks. This is little beside the time of a client.
    """

    def __init__(self, responses: Responses, latency_s: float, tls: ssl.SSLContext | None) -> None:
        self._responses = responses
        self._latency_s = latency_s
        self._tls = tls
        self._listener = socket.create_server((HOST, 0), backlog=1024)

    @property
    def endpoint_url(self) -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{HOST}:{self._listener.getsockname()[1]}"

    def start(self) -> None:
        """Serve from now on, until the process ends."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(self._secure(connection)) as secured:
            received = b""
            while (request := _receive(secured, received)) is not None:
                head, body, received = request
                self._response(secured, head, body)

    def _secure(self, connection: socket.socket) -> socket.socket:
        return connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True)

    def _response(self, connection: socket.socket, head: bytes, request: bytes) -> None:
        if head.startswith(b"GET " + CALLS.encode()):
            connection.sendall(_head(200, json.dumps(self._responses.calls).encode()))
            return
        target = _TARGET.search(head)
        wire_format = CBOR if _CBOR.search(head) else JSON
        body = self._responses.response(target[1].decode(), request, wire_format) if target else None
        if self._latency_s:
            time.sleep(self._latency_s)
        if body is None:
            connection.sendall(_head(400, wire_format.encode(_UNKNOWN), wire_format))
        else:
            connection.sendall(_head(200, body, wire_format))


def _receive(connection: socket.socket, received: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return head and body of the next request, and the bytes after it; None when the client has closed the connection."""
    while True:
        head, end, rest = received.partition(b"\r\n\r\n")
        if end:
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if len(rest) >= size:
                return head, rest[:size], rest[size:]
        more = connection.recv(_RECEIVED)
        if not more:
            return None
        received += more


def _head(status: int, body: bytes, wire_format: WireFormat = JSON) -> bytes:
    return (
        b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nDate: %b\r\n"
        b"x-amzn-RequestId: 00000000-0000-0000-0000-000000000000\r\nContent-Length: %d\r\n\r\n%b"
    ) % (
        status,
        b"OK" if status == 200 else b"Bad Request",
        wire_format.content_type.encode(),
        formatdate(usegmt=True).encode(),
        len(body),
        body,
    )
