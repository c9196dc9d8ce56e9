"""The direct transport: which connections requests use, and which connections it closes afterwards."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from ssl import SSLSocket
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field
from botocore.awsrequest import AWSHTTPConnectionPool, AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError, HTTPClientError, ReadTimeoutError
from urllib3 import PoolManager

from kinesis_core.aws.fast.direct_transport import DirectTransport, first_lines
from support.waiting import PATIENCE_S

URL = "http://kinesis.example.com/"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
HEADERS = {"X-Amz-Target": b"Kinesis_20131202.GetRecords", "Content-Length": "4"}
REQUEST = AWSPreparedRequest("POST", URL, HEADERS, b"body", stream_output=False)  # type: ignore[arg-type] # any mapping does


@define
class Session:
    """The parts of botocore's HTTP session that the transport uses. The test holds the far end of its connection."""

    proxy_url: str | None = None
    received: list[bytes] = field(factory=list)
    far_end: socket.socket = field(init=False)
    _manager: PoolManager = field(factory=PoolManager)

    def __attrs_post_init__(self) -> None:
        self._manager.pool_classes_by_scheme = {"http": AWSHTTPConnectionPool}

    @property
    def _proxy_config(self) -> Any:
        return SimpleNamespace(proxy_url_for=lambda _: self.proxy_url)

    @property
    def pool(self) -> Any:
        return self._manager.connection_from_url(URL)

    def open(self) -> None:
        """Put an open connection into the pool."""
        connection = self.pool._get_conn()
        connection.sock, self.far_end = socket.socketpair()
        connection.sock.settimeout(PATIENCE_S)
        self.pool._put_conn(connection)

    @property
    def is_open(self) -> bool:
        connection = self.pool._get_conn()
        self.pool._put_conn(connection)
        return connection.sock is not None

    def wrap(self, kind: type[socket.socket]) -> None:
        """Make the socket of the open connection one of another *kind*."""
        connection = self.pool._get_conn()
        connection.sock = kind(fileno=connection.sock.detach())
        self.pool._put_conn(connection)

    def serve(self, response: bytes, then: Callable[[socket.socket], object]) -> None:
        self.received.append(self.far_end.recv(1000))
        self.far_end.sendall(response)
        then(self.far_end)


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    made.open()
    yield made
    made.far_end.close()
    made._manager.clear()


def exchange(
    session: Session,
    response: bytes,
    then: Callable[[socket.socket], object] = id,
    *,
    transport: DirectTransport | None = None,
    request: AWSPreparedRequest = REQUEST,
) -> Any:
    """Return the result of a request that a server receives, responds to with *response*, and after which it does *then*."""
    server = threading.Thread(target=session.serve, args=(response, then))
    server.start()
    try:
        return (transport or DirectTransport(session)).exchange(request, is_changed=request is not REQUEST)
    finally:
        server.join()


def test_a_request_goes_over_the_wire_as_http(session: Session) -> None:
    """Request line, headers and body are sent in one piece, and the connection is kept for the next request."""
    for _ in range(2):
        response = exchange(session, GOOD)
        assert (response.status, response.headers, response.body) == (200, {"content-length": "2"}, b"{}")
        assert session.is_open
    assert session.received == 2 * [
        b"POST / HTTP/1.1\r\nHost: kinesis.example.com\r\nAccept-Encoding: identity\r\n"
        b"X-Amz-Target: Kinesis_20131202.GetRecords\r\nContent-Length: 4\r\n\r\nbody"
    ]


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://[::1]:443", "POST / HTTP/1.1\r\nHost: [::1]\r\n"),
        ("http://Localhost:80/a/b?c=d", "POST /a/b?c=d HTTP/1.1\r\nHost: localhost\r\n"),
        ("https://name:word@example.com:80/", "POST / HTTP/1.1\r\nHost: example.com:80\r\n"),
    ],
)
def test_first_lines(url: str, line: str) -> None:
    """The Host header has no default port and no credentials."""
    assert first_lines("POST", url).decode().startswith(line)


@pytest.mark.parametrize(
    "response", [GOOD.replace(b"Content", b"Connection: Upgrade, Close\r\nContent"), GOOD + b"HTTP/1"]
)
def test_a_connection_is_closed_after_its_last_response(session: Session, response: bytes) -> None:
    """The connection is closed if the server announces that, or if bytes follow the response."""
    assert exchange(session, response).body == b"{}"
    assert not session.is_open


@pytest.mark.parametrize(
    "response",
    [
        GOOD[:-1],
        GOOD.replace(b" 2\r", b" 100000000000\r"),
        GOOD.replace(b"200", b"20"),
        GOOD.replace(b"1.1", b"1.0")[:-1],
        b"\r\n" + GOOD,
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
    ],
)
def test_an_invalid_response_closes_the_connection(session: Session, response: bytes) -> None:
    """A response that is cut short, too large or not HTTP closes the connection, because later bytes are ambiguous."""
    with pytest.raises(ConnectionClosedError):
        exchange(session, response, socket.socket.close)
    assert not session.is_open


def test_silence_closes_the_connection(session: Session) -> None:
    """After a read timeout the connection is closed: a late response would be read as the next one."""
    connection = session.pool._get_conn()
    connection.sock.settimeout(0.05)
    session.pool._put_conn(connection)
    with pytest.raises(ReadTimeoutError):
        exchange(session, GOOD[:-1])
    assert not session.is_open


class Decrypted(SSLSocket):
    """A TLS socket with *left* bytes after the response that are decrypted already."""

    left = 0
    _sslobj = None

    def __init__(self, fileno: int) -> None:
        socket.socket.__init__(self, fileno=fileno)
        self.settimeout(PATIENCE_S)

    def pending(self) -> int:
        return self.left


class DecryptedMore(Decrypted):
    left = 1


@pytest.mark.parametrize(("kind", "is_open"), [(Decrypted, True), (DecryptedMore, False)])
def test_bytes_that_tls_has_decrypted_close_the_connection(
    session: Session, kind: type[Decrypted], is_open: bool
) -> None:
    """Decrypted bytes after a response close the connection. The socket no longer shows them, and they would be read as the next response."""
    session.wrap(kind)
    assert exchange(session, GOOD).body == b"{}"
    assert session.is_open == is_open


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_an_early_refusal_is_read(session: Session, error: type[OSError]) -> None:
    """
    A server may refuse a request before all of it is sent. Its response is read although the connection breaks.

    The connection is closed, because the server would read the next request as the rest of this one: RFC 9112, 9.3 and 9.5.
    """

    class Broken(socket.socket):
        def sendall(self, *_: Any) -> None:
            session.far_end.sendall(GOOD.replace(b"200", b"413"))
            raise error

    session.wrap(Broken)
    response = DirectTransport(session).exchange(REQUEST)
    assert response is not None
    assert response.status == 413
    assert not session.is_open


def close_the_pool(session: Session) -> None:
    session.pool.close()


def close_the_connection(session: Session) -> None:
    session.far_end.close()


def be_another_class(session: Session) -> None:
    """Replace the connection by an object of another class, as libraries do that record and replay calls."""
    connection = session.pool._get_conn()
    members = {"sock": connection.sock, "close": connection.close, "is_connected": True}
    session.pool._put_conn(type("Recorder", (), members)())


def set_a_proxy(session: Session) -> None:
    session.proxy_url = "http://proxy.example.com"


@pytest.mark.parametrize("do", [close_the_pool, close_the_connection, be_another_class, set_a_proxy])
def test_without_a_connection_nothing_is_sent(session: Session, do: Callable[[Session], None]) -> None:
    """Without a usable connection the transport sends nothing. The caller then uses the session, which connects and handles proxies."""
    do(session)
    assert DirectTransport(session).exchange(REQUEST) is None
    assert session.received == []


def test_a_new_pool_of_the_session_is_used(session: Session) -> None:
    """The session drops pools when it has too many. The transport then uses the pool that the session opens next."""
    connections = DirectTransport(session)
    session.far_end.close()
    assert connections.exchange(REQUEST) is None
    session._manager.clear()
    session.open()
    assert exchange(session, GOOD, transport=connections) is not None


def test_the_session_makes_the_connections(session: Session) -> None:
    """Only the session opens connections, because it knows the trusted certificates. The transport leaves no connection of its own in the pool."""
    session.far_end.close()
    pool = session.pool
    for _ in range(2):
        assert DirectTransport(session).exchange(REQUEST) is None
    assert set(pool.pool.queue) == {None}


def test_the_session_closes_its_connections(session: Session) -> None:
    """A closed client leaves no connection open, however many calls used it."""
    connections = DirectTransport(session)
    assert exchange(session, GOOD, transport=connections) is not None
    session._manager.clear()
    session.far_end.settimeout(PATIENCE_S)
    assert session.far_end.recv(1) == b""


def test_a_session_of_another_botocore_is_not_used() -> None:
    """If botocore lacks the attributes that the transport uses, every request goes through the session."""
    assert DirectTransport(SimpleNamespace()).exchange(REQUEST) is None


SPLIT = "a\r\nContent-Length: 0\r\n\r\nPOST /other HTTP/1.1\r\nX-Rest: "


def exchange_changed(session: Session, url: str, headers: dict[str, Any], body: bytes = b"body") -> object:
    """Return the response to a request that a hook has changed, or None if it is left to botocore. No server responds."""
    request = AWSPreparedRequest("POST", url, headers, body, stream_output=False)  # type: ignore[arg-type] # any mapping does
    try:
        return DirectTransport(session).exchange(request, is_changed=True)
    except HTTPClientError as error:
        return error


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Trace", SPLIT),
        ("X-Trace", SPLIT.encode()),
        ("X-Trace", "a\nX-Other: b"),
        ("X-Trace", "a\rX-Other: b"),
        ("X-Trace", "a\0b"),
        ("X-Trace", "a\r\n b"),
        ("X-Trace: a\r\nX-Other", "b"),
        ("X-Trace", "\u2192"),
        ("Host", "other.example.com"),
        ("accept-encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "3"),
    ],
)
def test_a_header_that_would_split_a_request_goes_to_botocore(
    session: Session, name: str, value: str | bytes
) -> None:
    """A header set by a before-send hook that would split the request is not sent directly. botocore refuses, replaces or quotes it."""
    session.far_end.settimeout(0)
    headers = {"X-Amz-Target": b"Kinesis_20131202.GetRecords", "Content-Length": "4", name: value}
    assert exchange_changed(session, URL, headers) is None
    with pytest.raises(BlockingIOError):
        session.far_end.recv(1)


@pytest.mark.parametrize("path", ["a b", "a HTTP/1.1\vX", "\u00e9", "\x7f", "a\x0b"])
def test_a_target_that_would_split_a_request_goes_to_botocore(session: Session, path: str) -> None:
    """A URL changed by a hook is left to botocore, which quotes it."""
    assert exchange_changed(session, URL + path, {"Content-Length": "4"}) is None


@pytest.mark.parametrize("length", ["3", "5", "abc", None])
def test_a_body_of_another_length_goes_to_botocore(session: Session, length: str | None) -> None:
    """A hook may have changed the body: surplus bytes would be the next request on the connection."""
    headers = {} if length is None else {"Content-Length": length}
    assert exchange_changed(session, URL, headers) is None


def test_a_request_that_a_hook_left_well_formed_is_sent(session: Session) -> None:
    """A valid header from a hook, such as a trace header, is sent directly."""
    headers = {**HEADERS, "X-Trace": "abc def"}
    request = AWSPreparedRequest("POST", URL, headers, b"body", stream_output=False)  # type: ignore[arg-type] # any mapping does
    assert exchange(session, GOOD, request=request) is not None
    assert b"X-Trace: abc def\r\n" in session.received[0]
