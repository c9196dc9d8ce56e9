"""Kinesis' protocol, in JSON and in CBOR, over HTTP/1.1 on the loopback interface: one thread per connection, kept alive."""

from __future__ import annotations

import email.utils
import re
import socket
import socketserver
import struct
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from io import BufferedIOBase
from itertools import chain
from typing import Any

from kinesis_emulator import control
from kinesis_emulator.errors import AwsError
from kinesis_emulator.faults import CutConnectionError, Fault
from kinesis_emulator.requests import Request
from kinesis_emulator.service import EventStream, Response, error_response
from kinesis_emulator.wire_formats import EVENTS, BodyFormat, find_format

HOST = "127.0.0.1"
_REASONS = {200: "OK", 400: "Bad Request", 500: "Internal Server Error", 503: "Service Unavailable"}

Respond = Callable[[Request], Response]
_TARGET_PREFIX = "Kinesis_20131202."
_SCOPE = re.compile(r"Credential=([^/,\s]+)/\d+/([^/,\s]+)/")


class HttpServer(socketserver.ThreadingTCPServer):
    """Listens on 127.0.0.1, and sends the response of *respond* for each request."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        respond: Respond,
        clock: Callable[[], float],
        default_region: str,
        control: Callable[[str, str, bytes], tuple[int, bytes]],
    ) -> None:
        super().__init__((HOST, port), _Connection)
        self.control = control
        self.respond = respond
        self.clock = clock
        self.default_region = default_region
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._acceptor = threading.Thread(
            target=self.serve_forever, args=(0.02,), name="kinesis-emulator", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        self._acceptor.start()

    def stop(self, wake: Callable[[], None]) -> None:
        """Stop listening, cut all connections, *wake* the threads that wait for events to send, and join all threads."""
        if self._acceptor.ident is not None:
            self.shutdown()
            self._acceptor.join()
        self.server_close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client has closed it
        wake()
        for thread in connections.values():
            thread.join(timeout=5)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._lock:
            self._connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)


class _Connection(socketserver.StreamRequestHandler):
    """One client's connection. It serves one request after the other."""

    server: HttpServer
    rbufsize = 256 * 1024
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            while self._handle_one():
                pass
        except (ConnectionError, TimeoutError):
            return  # the client has closed the connection, or the server was stopped

    def _handle_one(self) -> bool:
        """Serve one request. Return False when the connection must be closed."""
        head = read_head(self.rfile)
        if head is None:
            return False
        line, headers = head
        wire_format = find_format(headers.get("content-type", ""))
        size = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not size.isdecimal():
            error = AwsError(
                "SerializationException", "The emulator needs a Content-Length, not a chunked body."
            )
            self._send(error_response(error), wire_format, keep_alive=False)
            return False
        if headers.get("expect", "").lower() == "100-continue":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.rfile.read(int(size))
        if len(body) < int(size):
            return False
        response = self._response(line, headers, body, wire_format)
        if response.body is None:
            if response.fault is not None and response.fault.reset:
                self._reset()
            return False
        keep_alive = headers.get("connection", "").lower() != "close" and line.endswith("HTTP/1.1")
        if isinstance(response.body, bytes):
            return self._send(response, wire_format, keep_alive=keep_alive) and keep_alive
        return self._send_events(response.body, keep_alive=keep_alive) and keep_alive

    def _response(self, line: str, headers: dict[str, str], body: bytes, wire_format: BodyFormat) -> Response:
        method, path = line.split(" ")[:2] if " " in line else (line, "")
        if path.startswith(control.PREFIX):
            return Response(*self.server.control(method, path, body))
        try:
            request = parse_request(line, headers, body, wire_format, self.server.default_region)
        except AwsError as error:
            return error_response(error)
        return self.server.respond(request)

    def _reset(self) -> None:
        """Close the connection with a TCP RST. The base class ignores a closed connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _send(self, response: Response, wire_format: BodyFormat, *, keep_alive: bool) -> bool:
        """Send one body. Return False when a fault cuts it."""
        body = response.body if isinstance(response.body, bytes) else b""
        fault = response.fault or Fault()
        if fault.body is None:
            body = wire_format.encode(body)
        length = f"Content-Length: {len(body)}"
        content_type = fault.content_type or wire_format.content_type
        head = self._head(response.status, content_type, length, keep_alive=keep_alive)
        if fault.cut_response or fault.stall_s:
            half = len(body) // 2
            self.connection.sendall(head + body[:half])
            time.sleep(fault.stall_s)
            if fault.cut_response:
                return False
            head, body = b"", body[half:]
        if len(body) < 65536:
            self.connection.sendall(head + body)
        else:
            self.connection.sendall(head)
            self.connection.sendall(body)
        return True

    def _send_events(self, events: EventStream, *, keep_alive: bool) -> bool:
        """Send each frame in a separate chunk. Return False when the event stream did not end normally."""
        head = self._head(200, EVENTS, "Transfer-Encoding: chunked", keep_alive=keep_alive)
        with closing(events.frames()) as frames:
            first = next(frames)  # the subscription is open before its client gets the head
            self.connection.sendall(head)
            try:
                for frame in chain([first], frames):
                    if frame:
                        self.connection.sendall(b"%x\r\n%b\r\n" % (len(frame), frame))
                    elif self._client_has_left():
                        return False
            except CutConnectionError as cut:
                size = len(cut.frame)
                self.connection.sendall(b"%x\r\n%b" % (size, cut.frame[: size // 2]))
                return False
        self.connection.sendall(b"0\r\n\r\n")
        return True

    def _client_has_left(self) -> bool:
        self.connection.setblocking(False)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self.connection.setblocking(True)

    def _head(self, status: int, content_type: str, length: str, *, keep_alive: bool) -> bytes:
        date = email.utils.formatdate(self.server.clock(), usegmt=True)
        return (
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\n"
            f"x-amzn-RequestId: {uuid.uuid4()}\r\n"
            f"Content-Type: {content_type}\r\n"
            f"{length}\r\n"
            f"Date: {date}\r\n"
            f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n\r\n"
        ).encode("latin-1")


def read_head(stream: BufferedIOBase) -> tuple[str, dict[str, str]] | None:
    """Return the request line, and the headers by lower-case name; None at the end of the connection."""
    line = stream.readline(65536).decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    headers: dict[str, str] = {}
    while True:
        header = stream.readline(65536).decode("latin-1").rstrip("\r\n")
        if not header:
            return line, headers
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()


def parse_request(
    line: str, headers: dict[str, str], body: bytes, wire_format: BodyFormat, default_region: str
) -> Request:
    """
    Return the call that a request makes.

    Raises:
        AwsError: It is not a call of Kinesis, or its body is malformed.
    """
    target = headers.get("x-amz-target", "")
    if not line.startswith("POST ") or not target.startswith(_TARGET_PREFIX):
        raise AwsError(
            "UnknownOperationException", f"This is a Kinesis emulator; got {line.split(' ')[0]} {target}."
        )
    params = wire_format.decode(body)
    scope = _SCOPE.search(headers.get("authorization", ""))
    access_key, region = scope.groups() if scope else ("", default_region)
    signed_at = headers.get("x-amz-date", "")
    return Request(
        target.removeprefix(_TARGET_PREFIX), params, region, access_key, signed_at, wire_format.name
    )
