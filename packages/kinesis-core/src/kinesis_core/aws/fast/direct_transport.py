"""
HTTP/1.1 on connections that botocore has opened: it writes a request and reads the response.

urllib3 and http.client take 0.2 ms of CPU for that, most of it for headers: twice as much as the rest of a small call.
botocore still opens the connections, through its proxies and with its certificates, and keeps them for the next calls.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from ssl import SSLSocket
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from attrs import define, field
from botocore.awsrequest import AWSHTTPConnection, AWSHTTPSConnection, AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from msgspec.structs import replace
from urllib3.exceptions import ClosedPoolError

from kinesis_core.aws.fast.http_response import read_fields, read_lines, receive
from kinesis_core.aws.fast.signing import DEFAULT_PORTS
from kinesis_core.aws.transport import BotocoreTransport, HttpResponse

_PIECE = 64 * 1024
_OURS = frozenset({"host", "accept-encoding", "transfer-encoding"})
"""Headers that this module writes; a request that has them already goes through botocore."""
_FIRST_LINES = re.compile(
    rb"[A-Z]+ /[\x21-\x7e]* HTTP/1\.1\r\nHost: [\x21-\x7e]+\r\nAccept-Encoding: identity\r\n"
)


@define
class DirectTransport:
    """Sends on open connections of a botocore HTTP session, else through the session itself. Safe in threads."""

    session: Any
    _fallback: BotocoreTransport = field(init=False)
    _pools: WeakValueDictionary[str, Any] = field(factory=WeakValueDictionary, init=False)
    """urllib3's pools, by URL. The session owns them, and drops some when it has too many."""

    def __attrs_post_init__(self) -> None:
        self._fallback = BotocoreTransport(self.session)

    def send(self, request: AWSPreparedRequest, *, is_changed: bool = False) -> HttpResponse:
        """Return the whole response; see `HttpTransport`."""
        return self.exchange(request, is_changed=is_changed) or self._fallback.send(request)

    def exchange(self, request: AWSPreparedRequest, *, is_changed: bool = False) -> HttpResponse | None:
        """
        Return the response. Return None before anything is sent if there is no open connection, or if a hook has changed the
        request in a way that only botocore handles.

        Raises:
            botocore.exceptions.HTTPClientError: The connection broke off, timed out, or the response is malformed.
        """
        head = _head(request, is_changed=is_changed)
        if head is None:
            return None
        pool = self._pools.get(request.url) or self._find_pool(request.url)
        connection = _take_open(pool)
        if connection is None:
            return None
        response = None
        try:
            response = _exchange(connection.sock, head, request.body)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        except (OSError, ValueError) as error:
            raise ConnectionClosedError(endpoint_url=request.url, error=error) from error
        finally:
            if response is None or response.is_last or _has_more(connection.sock):
                connection.close()
            pool._put_conn(connection)
        return response

    def _find_pool(self, url: str) -> Any:
        """Return the pool for *url*; None if a proxy is in between."""
        try:
            if self.session._proxy_config.proxy_url_for(url):
                return None
            pool = self._pools[url] = self.session._manager.connection_from_url(url)
        except AttributeError:  # these names are not documented: a newer botocore may lack them
            return None
        return pool


def _take_open(pool: Any) -> Any:
    """Return an open connection of *pool*, to be put back; None if it has none."""
    if pool is None:
        return None
    try:
        connection = pool._get_conn()
    except ClosedPoolError:
        return None
    # A connection of another class belongs to a test library that stands in for the service.
    if connection.sock is None or type(connection) not in (AWSHTTPConnection, AWSHTTPSConnection):
        connection.close()
        pool._put_conn(None)  # the session opens a new one, with the certificates that it trusts
        return None
    return connection


def _has_more(sock: Any) -> bool:
    """Return whether TLS has decrypted more bytes after the response, which the socket would not show."""
    return isinstance(sock, SSLSocket) and sock.pending() > 0


def _exchange(sock: Any, head: bytes, body: Any) -> HttpResponse:
    is_sent = False
    with suppress(BrokenPipeError, ConnectionResetError):  # a server may refuse a request early, and say why
        for part in (head + body,) if len(body) < _PIECE else (head, body):
            sock.sendall(part)
        is_sent = True
    response = receive(sock)
    # After half a request the server would take the next one for the rest of it.
    return response if is_sent else replace(response, is_last=True)


def _head(request: AWSPreparedRequest, *, is_changed: bool) -> bytes | None:
    """Return everything before the body; None if the request has to go through botocore."""
    headers = [
        f"{name}: {value if isinstance(value, str) else value.decode('latin-1')}"
        for name, value in request.headers.items()
    ]
    try:
        lines = "\r\n".join([*headers, "\r\n"]).encode("latin-1")
        first = first_lines(request.method, request.url)
    except ValueError:
        return None
    return first + lines if not is_changed or _is_whole(request, lines) else None


def _is_whole(request: AWSPreparedRequest, lines: bytes) -> bool:
    """Return whether *lines*, which a hook may have changed, and the body are one request only."""
    try:
        fields, _ = read_fields(read_lines(lines))
    except ValueError:
        return False
    return (
        len(fields) == len(request.headers)
        and not fields.keys() & _OURS
        and isinstance(request.body, bytes)
        and fields.get("content-length") == str(len(request.body))
    )


@lru_cache(maxsize=64)
def first_lines(method: str, url: str) -> bytes:
    """Return the first lines of a request, before the signed headers."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (parts.query and f"?{parts.query}")
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(DEFAULT_PORTS[parts.scheme])
    first = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\n".encode()
    if not _FIRST_LINES.fullmatch(first):
        raise ValueError(f"{url!r} cannot be sent to")
    return first
