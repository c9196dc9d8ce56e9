"""HTTP/1.1 on one connection: one request after the other, kept alive."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from contextlib import closing
from io import BufferedIOBase
from itertools import chain

from kinesis_emulator.endings import end_after, reset
from kinesis_emulator.errors import AwsError
from kinesis_emulator.exchange import MAX_BODY_BYTES, Exchange, HttpRequest, HttpResponse, body_too_large
from kinesis_emulator.faults import CutConnectionError
from kinesis_emulator.service import EventStream

_MAX_LINE_BYTES = 65_536
_REASONS = {
    200: "OK",
    400: "Bad Request",
    413: "Content Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_HTTP2_LINE = "PRI * HTTP/2.0"
"""The first line of an HTTP/2 connection, chosen so that HTTP/1.1 reads it as a request."""


class Http1Connection:
    """
    One client's connection.

    Attributes:
        calls: How many requests it has had.

    Args:
        connection: The socket.
        reader: What reads from it.
        exchange: Makes the responses.
        has_left: Returns whether the client has closed the connection, and takes nothing from *reader*.
    """

    protocol = "HTTP/1.1"

    def __init__(
        self,
        connection: socket.socket,
        reader: BufferedIOBase,
        exchange: Exchange,
        has_left: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._exchange = exchange
        self._has_left = has_left
        self.calls = 0

    def serve(self) -> bool:
        """Serve requests until the connection must be closed. Return whether the client continues in HTTP/2 after its first line."""
        head = read_head(self._reader)
        while head is not None:
            line, headers = head
            if line == _HTTP2_LINE:
                return True
            if not self._serve_one(line, headers):
                return False
            head = read_head(self._reader)
        return False

    def _serve_one(self, line: str, headers: dict[str, str]) -> bool:
        """Serve one request. Return False when the connection must be closed."""
        self.calls += 1
        method, path, version = [*line.split(" "), "", ""][:3]
        try:
            body = self._read_body(headers)
        except AwsError as error:
            self._send(self._exchange.refusal(error, headers), keep_alive=False)
            end_after(self._connection)
            return False
        if body is None:
            return False
        response = self._exchange.response(HttpRequest(method, path, headers, body))
        if response.body is None:
            if response.fault.reset:
                reset(self._connection)
            return False
        keep_alive = headers.get("connection", "").lower() != "close" and version == "HTTP/1.1"
        if isinstance(response.body, bytes):
            return self._send(response, keep_alive=keep_alive) and keep_alive
        return self._send_events(response, response.body, keep_alive=keep_alive) and keep_alive

    def _read_body(self, headers: dict[str, str]) -> bytes | None:
        """
        Return the body of a request; None if the client closes the connection in the middle.

        Raises:
            AwsError: The body is malformed or too large.
        """
        coding = headers.get("transfer-encoding", "").lower()
        size = headers.get("content-length", "0")
        if coding not in ("", "chunked") or not size.isdecimal():
            raise AwsError(
                "SerializationException", "The emulator needs a Content-Length, or a body in chunks."
            )
        if not coding and int(size) > MAX_BODY_BYTES:
            raise body_too_large()
        if headers.get("expect", "").lower() == "100-continue":
            self._connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if coding:
            return read_chunks(self._reader)
        body = self._reader.read(int(size))
        return body if len(body) == int(size) else None

    def _send(self, response: HttpResponse, *, keep_alive: bool) -> bool:
        """Send one body. Return False when a fault cuts it."""
        body = response.body if isinstance(response.body, bytes) else b""
        fault = response.fault
        head = _head(response, f"Content-Length: {len(body)}", keep_alive=keep_alive)
        if fault.cut_response or fault.stall_s:
            half = len(body) // 2
            self._connection.sendall(head + body[:half])
            time.sleep(fault.stall_s)
            if fault.cut_response:
                return False
            head, body = b"", body[half:]
        if len(body) < 65536:
            self._connection.sendall(head + body)
        else:
            self._connection.sendall(head)
            self._connection.sendall(body)
        return True

    def _send_events(self, response: HttpResponse, events: EventStream, *, keep_alive: bool) -> bool:
        """Send each frame in a separate chunk. Return False when the event stream did not end normally."""
        head = _head(response, "Transfer-Encoding: chunked", keep_alive=keep_alive)
        with closing(events.frames()) as frames:
            first = next(frames)  # the subscription is open before its client gets the head
            self._connection.sendall(head)
            try:
                for frame in chain([first], frames):
                    if frame:
                        self._connection.sendall(b"%x\r\n%b\r\n" % (len(frame), frame))
                    elif self._has_left():
                        return False
            except CutConnectionError as cut:
                size = len(cut.frame)
                self._connection.sendall(b"%x\r\n%b" % (size, cut.frame[: size // 2]))
                return False
        self._connection.sendall(b"0\r\n\r\n")
        return True


def _head(response: HttpResponse, length: str, *, keep_alive: bool) -> bytes:
    headers = "".join(f"{name}: {value}\r\n" for name, value in response.headers)
    return (
        f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Status')}\r\n"
        f"{headers}"
        f"{length}\r\n"
        f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n\r\n"
    ).encode("latin-1")


def read_head(stream: BufferedIOBase) -> tuple[str, dict[str, str]] | None:
    """Return the request line, and the headers by lower-case name; None at the end of the connection."""
    line = stream.readline(_MAX_LINE_BYTES).decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    return line, _read_headers(stream)


def _read_headers(stream: BufferedIOBase) -> dict[str, str]:
    headers: dict[str, str] = {}
    while True:
        header = stream.readline(_MAX_LINE_BYTES).decode("latin-1").rstrip("\r\n")
        if not header:
            return headers
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()


def read_chunks(stream: BufferedIOBase) -> bytes | None:
    """
    Return a body that comes in chunks; None if the client closes the connection in the middle. Trailers are ignored.

    Raises:
        AwsError: The chunks are malformed, or the body is too large.

    Source: RFC 9112, section 7.1.
    """
    chunks: list[bytes] = []
    left = MAX_BODY_BYTES
    while line := stream.readline(_MAX_LINE_BYTES):
        digits = line.partition(b";")[0].strip()  # extensions follow
        if not _CHUNK_SIZE.fullmatch(digits):
            raise AwsError("SerializationException", "The body is malformed: a chunk has no size.")
        size = int(digits, 16)
        if size > left:
            raise body_too_large()
        if not size:
            _read_headers(stream)
            return b"".join(chunks)
        chunks.append(stream.read(size))
        end = stream.readline(2)
        if not end:
            return None
        if end != b"\r\n":
            raise AwsError(
                "SerializationException", "The body is malformed: a chunk is longer than its size."
            )
        left -= size
    return None
