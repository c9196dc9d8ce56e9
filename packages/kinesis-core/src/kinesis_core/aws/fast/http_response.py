"""
Reads one HTTP/1.1 response from a socket.

Another reader of the same bytes, such as a proxy, must not understand them in another way. So every form that RFC 9112 calls
invalid is refused: two lengths, a length beside an encoding, folded or bare lines, odd chunk sizes, control characters.

Source: https://www.rfc-editor.org/rfc/rfc9112
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from attrs import define

from kinesis_core.aws.transport import HttpResponse
from kinesis_core.budget import admit

_NAME = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
"""Bytes of a header name, in lower case."""
_TEXT = bytes([9, *range(32, 127), *range(128, 256)])
"""Bytes of a line; the rest are control characters."""
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_BLANK_LINE = b"\r\n\r\n"
_PIECE = 64 * 1024
_LONGEST_HEAD = 64 * 1024
_LARGEST_BODY = 64 * 1024 * 1024
"""Far more than Kinesis returns: 10 MiB of records, in base64."""
_MOST_HEADS = 8
"""Interim responses (100 Continue) that may come before the response, and the response."""
_CLOSED = "the connection was closed before the response had ended"
_SWITCHED, _NO_CONTENT, _NOT_MODIFIED = 101, 204, 304


def receive(sock: Any) -> HttpResponse:
    """
    Return the response to a POST that comes on *sock*.

    Raises:
        OSError: The connection broke off, or nothing came in time.
        ValueError: The response is malformed or ambiguous.
    """
    reader = _Reader(sock)
    version, status, headers, closes = reader.head()
    connection = headers.get("connection", "").lower()
    closes = closes or (version == "0" and "keep-alive" not in connection)
    if status in (_NO_CONTENT, _NOT_MODIFIED):
        return HttpResponse(status, headers, b"", closes or reader.has_more)
    length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
    if encoding is not None:
        if encoding.lower() != "chunked" or length is not None:
            raise ValueError(f"the response has the encoding {encoding!r} and the length {length!r}")
        body = reader.chunks()
        # A proxy of HTTP/1.0 may not have understood the chunks: RFC 9112, 6.1.
        return HttpResponse(status, headers, body, closes or version == "0" or reader.has_more)
    if length is None:
        return HttpResponse(status, headers, reader.rest(), is_last=True)
    if not _LENGTH.fullmatch(length):
        raise ValueError(f"the response has the length {length!r}")
    return HttpResponse(status, headers, reader.take(int(length)), closes or reader.has_more)


def read_fields(lines: Sequence[str]) -> tuple[dict[str, str], bool]:
    """
    Return header *lines* by lower-case names, and whether they close the connection. The last value of a repeated one counts.

    Raises:
        ValueError: A line is malformed, or two lines contradict each other.
    """
    pairs = []
    for line in lines:
        name, value = line.split(":", 1)
        pairs.append((name.lower(), value.strip(" \t")))
    headers = dict(pairs)
    if "" in headers or "".join(headers).encode("latin-1").translate(None, _NAME):
        raise ValueError("the response has a malformed header name")
    connection = headers.get("connection", "")
    if len(headers) < len(pairs):
        lengths = dict.fromkeys(value for name, value in pairs if name == "content-length")
        if len(lengths) > 1:
            raise ValueError(f"the response has the lengths {' and '.join(lengths)}")
        if sum(name == "transfer-encoding" for name, _ in pairs) > 1:
            raise ValueError("the response has two transfer encodings")
        connection = ",".join(value for name, value in pairs if name == "connection")
    return headers, "close" in connection.lower()


def read_lines(head: bytes) -> list[str]:
    """Return the lines of *head*, which ends with a blank line; ValueError if one has a control character or a bare end."""
    lines = head[: -len(_BLANK_LINE)].decode("latin-1").split("\r\n")
    if head.translate(None, _TEXT) != b"\r\n" * (len(lines) + 1):
        raise ValueError(f"the response has a malformed head: {head[:40]!r}")
    return lines


@define
class _Reader:
    """A socket, and the bytes that were received and not yet read."""

    sock: Any
    received: bytes = b""

    @property
    def has_more(self) -> bool:
        """Whether something came after the response; it must not become the next one."""
        return bool(self.received)

    def head(self) -> tuple[str, int, dict[str, str], bool]:
        """Return the minor version, status and headers of the final response, and whether it closes the connection."""
        for _ in range(_MOST_HEADS):
            first, *lines = read_lines(self._until(_BLANK_LINE))
            match = _STATUS_LINE.fullmatch(first)
            if match is None:
                raise ValueError(f"the response has the status line {first[:40]!r}")
            headers, closes = read_fields(lines)
            status = int(match[2])
            if status >= 200:
                return match[1], status, headers, closes
            if status == _SWITCHED:
                raise ValueError("the response has the status 101, which was not asked for")
        raise ValueError("interim responses come without end")

    def take(self, count: int) -> bytes:
        """Return the next *count* bytes, read straight into their memory."""
        started, self.received = self.received[:count], self.received[count:]
        if len(started) == count:
            return started
        if count > _LARGEST_BODY:
            raise ValueError(f"the response has {count} bytes")
        if count > _PIECE:
            admit(count)
        # A buffer of one byte: the reader lets all bytes come straight into its result, whose memory nobody fills with zeros first.
        body = io.BufferedReader(_Incoming(self.sock, started), buffer_size=1).read(count)
        if len(body) < count:
            raise ConnectionError(_CLOSED)
        return body

    def chunks(self) -> bytearray:
        """Return a body in chunks, and drop its trailers."""
        body = bytearray()
        while size := self._chunk_size():
            if len(body) + size > _LARGEST_BODY:
                raise ValueError("the response is too large")
            if len(body) + size > _PIECE:
                admit(len(body) + size)
            body += self.take(size)
            if self.take(2) != b"\r\n":
                raise ValueError("a chunk is longer than its size")
        trailers = 0
        while (line := self._until(b"\n")) != b"\r\n":
            trailers += len(line)
            if trailers > _LONGEST_HEAD:
                raise ValueError("the trailers of the response are too long")
            read_fields(read_lines(line + b"\r\n"))
        return body

    def _chunk_size(self) -> int:
        line = self._until(b"\n")
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise ValueError(f"a chunk has the size {line[:20]!r}")
        return int(size[1], 16)

    def rest(self) -> bytes:
        """Return everything up to the end of the connection."""
        admit(None)
        body = bytearray(self.received)
        while piece := self.sock.recv(_PIECE):
            body += piece
            if len(body) > _LARGEST_BODY:
                raise ValueError("the response is too large")
        self.received = b""
        return bytes(body)

    def _until(self, mark: bytes) -> bytes:
        """Return the bytes up to *mark*, and with it."""
        searched = 0
        while (stop := self.received.find(mark, searched)) < 0:
            if len(self.received) > _LONGEST_HEAD:
                raise ValueError("a head or a line of the response does not end")
            searched = max(0, len(self.received) - len(mark) + 1)
            self.received += _some(self.sock.recv(_PIECE))
        stop += len(mark)
        found, self.received = self.received[:stop], self.received[stop:]
        return found


class _Incoming(io.RawIOBase):
    """The bytes that were *received* already, and those that come on *sock* after them."""

    def __init__(self, sock: Any, received: bytes) -> None:
        self._sock = sock
        self._received = received

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._received:
            try:
                return int(self._sock.recv_into(room))
            except BaseException:
                del room  # the traceback keeps what is here, and the memory is freed
                raise
        count = min(len(room), len(self._received))
        room[:count], self._received = self._received[:count], self._received[count:]
        return count


def _some(received: bytes) -> bytes:
    if not received:
        raise ConnectionError(_CLOSED)
    return received
