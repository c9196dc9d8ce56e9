"""
HTTP/1.1 on connections that botocore has opened: a request out, its answer in.

urllib3 and http.client take 0.2 ms of CPU a call for that, most of it for headers: twice as much as all else of a small
call. How connections are opened, through which proxy, whom they trust, and which one is used again, stays theirs.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from http.client import HTTPException, HTTPResponse
from ssl import SSLSocket
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from attrs import define, field, frozen
from botocore.awsrequest import AWSHTTPConnection, AWSHTTPSConnection, AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from urllib3.exceptions import ClosedPoolError

from kinesis_core.aws.signing import DEFAULT_PORTS

Received = TypeVar("Received", bytes, int)

_BLANK_LINE = b"\r\n\r\n"
_PIECE = 64 * 1024
_LONGEST_HEAD = 64 * 1024
_LARGEST_BODY = 64 * 1024 * 1024
"""Far more than Kinesis answers: 10 MiB of records, in base64."""


@frozen
class HttpResponse:
    """
    An answer with its body; headers go by their lower-case names.

    Attributes:
        is_last: Whether its connection ends with it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray
    is_last: bool = False


@define
class OpenConnections:
    """Those of a botocore HTTP session that lead straight to where requests go. Safe in threads."""

    session: Any
    _pools: WeakValueDictionary[str, Any] = field(factory=WeakValueDictionary, init=False)
    """Urllib3's, by URL. They are the session's, which drops those that it has too many of."""

    def exchange(self, request: AWSPreparedRequest) -> HttpResponse | None:
        """
        Return the answer to *request*; None, before anything was sent, when there is no connection.

        Raises:
            botocore.exceptions.HTTPClientError: It broke off, nothing came in time, or what came is no HTTP.
        """
        pool = self._pools.get(request.url) or self._find_pool(request.url)
        connection = _take_open(pool)
        if connection is None:
            return None
        response = None
        try:
            response = _exchange(connection.sock, request)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        except (OSError, HTTPException, ValueError) as error:
            raise ConnectionClosedError(endpoint_url=request.url, error=error) from error
        finally:
            if response is None or response.is_last or _has_more(connection.sock):
                connection.close()
            pool._put_conn(connection)
        return response

    def _find_pool(self, url: str) -> Any:
        """Return the pool for *url*; None where a proxy is in between."""
        try:
            if self.session._proxy_config.proxy_url_for(url):
                return None
            pool = self._pools[url] = self.session._manager.connection_from_url(url)
        except AttributeError:  # none of these names is documented
            return None
        return pool


def _take_open(pool: Any) -> Any:
    """Return a connection of *pool* that is open, to be put back; None where there is none."""
    if pool is None:
        return None
    try:
        connection = pool._get_conn()
    except ClosedPoolError:
        return None
    # Of another class it is of somebody who answers in the service's place.
    if connection.sock is None or type(connection) not in (AWSHTTPConnection, AWSHTTPSConnection):
        connection.close()
        pool._put_conn(None)  # the session makes one, with the certificates that it trusts
        return None
    return connection


def _has_more(sock: Any) -> bool:
    """Return whether something came behind the answer that nobody would see any more, since TLS has decrypted it."""
    return isinstance(sock, SSLSocket) and sock.pending() > 0


def _exchange(sock: Any, request: AWSPreparedRequest) -> HttpResponse:
    body: Any = request.body  # of bytes: `signed_requests` made it
    with suppress(BrokenPipeError, ConnectionResetError):  # whoever refuses a request before its end says why
        head = first_lines(request.method, request.url) + _header_lines(request)
        for part in (head + body,) if len(body) < _PIECE else (head, body):
            sock.sendall(part)
    return receive(sock)


@lru_cache(maxsize=64)
def first_lines(method: str, url: str) -> bytes:
    """Return what a request begins with, before the headers that were signed."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (parts.query and f"?{parts.query}")
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(DEFAULT_PORTS[parts.scheme])
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\n".encode()


def _header_lines(request: AWSPreparedRequest) -> bytes:
    headers = [
        f"{name}: {value if isinstance(value, str) else value.decode('latin-1')}"
        for name, value in request.headers.items()
    ]
    return "\r\n".join([*headers, "\r\n"]).encode("latin-1")


def receive(sock: Any) -> HttpResponse:
    """
    Return the answer to a POST that comes on *sock*.

    Raises:
        OSError: The connection broke off, or nothing came in time.
        ValueError, http.client.HTTPException: What came is no HTTP.
    """
    head, rest = _receive_head(sock, b"")
    while head.startswith(b"HTTP/1.1 1"):  # 100 Continue and the like: not the answer yet
        head, rest = _receive_head(sock, rest)
    first, *lines = head[: -len(_BLANK_LINE)].decode("latin-1").split("\r\n")
    headers = _headers(lines)
    length = headers.get("content-length", "")
    if first[:9] != "HTTP/1.1 " or "transfer-encoding" in headers or not length.isdecimal():
        return _receive_otherwise(_Resumed(head + rest, sock))
    status = int(first[9:12])
    if status < 200:
        raise ValueError(f"the answer has the status {first[9:12]!r}")
    body = _receive_body(sock, rest, int(length))
    is_last = "close" in headers.get("connection", "").lower() or len(rest) > len(body)
    return HttpResponse(status, headers, body, is_last)


def _headers(lines: Sequence[str]) -> dict[str, str]:
    """Return headers by their lower-case names; of those that come twice the last, if it is not about the length."""
    pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    headers = dict(pairs)
    if len(headers) < len(pairs):
        lengths = dict.fromkeys(value for name, value in pairs if name == "content-length")
        if len(lengths) > 1:
            raise ValueError(f"the answer has the lengths {' and '.join(lengths)}")
    return headers


def _receive_head(sock: Any, received: bytes) -> tuple[bytes, bytes]:
    """Return a head with its blank line, and what came behind it."""
    while (stop := received.find(_BLANK_LINE)) < 0:
        if len(received) > _LONGEST_HEAD:
            raise ValueError("the head of the answer does not end")
        received += _more(sock.recv(_PIECE))
    stop += len(_BLANK_LINE)
    return received[:stop], received[stop:]


def _receive_body(sock: Any, started: bytes, length: int) -> bytes | bytearray:
    """Return the body, read into the memory that it needs."""
    if len(started) >= length:
        return started[:length]
    if length > _LARGEST_BODY:
        raise ValueError(f"the answer has {length} bytes")
    body, filled = bytearray(length), len(started)
    body[:filled] = started
    room = memoryview(body)
    while filled < length:
        filled += _more(sock.recv_into(room[filled:]))
    return body


def _more(received: Received) -> Received:
    if not received:
        raise ConnectionError("it was closed before its answer had ended")
    return received


class _Resumed(io.RawIOBase):
    """A socket, as http.client reads it, of which something has been *received*."""

    def __init__(self, received: bytes, sock: Any) -> None:
        self.received = received
        self.sock = sock

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self.received:
            return int(self.sock.recv_into(room))
        count = min(len(room), len(self.received))
        room[:count], self.received = self.received[:count], self.received[count:]
        return count


def _receive_otherwise(resumed: Any) -> HttpResponse:
    """Return an answer in pieces, or up to the end of its connection: rare, and http.client knows how."""
    response = HTTPResponse(resumed, method="POST")
    response.begin()
    body = response.read(_LARGEST_BODY)
    if response.length or len(body) == _LARGEST_BODY:
        raise ValueError("the answer is cut short, or larger than any")
    headers = {name.lower(): value for name, value in response.getheaders()}
    return HttpResponse(response.status, headers, body, response.will_close or not response.isclosed())
