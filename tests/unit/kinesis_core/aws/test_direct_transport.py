"""Which connections requests go over, and what becomes of them afterwards."""

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

from kinesis_core.aws.direct_transport import DirectTransport, first_lines

URL = "http://kinesis.example.com/"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
HEADERS = {"X-Amz-Target": b"Kinesis_20131202.GetRecords", "Content-Length": "4"}
REQUEST = AWSPreparedRequest("POST", URL, HEADERS, b"body", stream_output=False)  # type: ignore[arg-type] # any mapping does


@define
class Session:
    """What is used of botocore's HTTP session; a test is at the far end of its connections."""

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
        """Have an open connection in the pool."""
        connection = self.pool._get_conn()
        connection.sock, self.far_end = socket.socketpair()
        connection.sock.settimeout(30)
        self.pool._put_conn(connection)

    @property
    def is_open(self) -> bool:
        connection = self.pool._get_conn()
        self.pool._put_conn(connection)
        return connection.sock is not None

    def wrap(self, kind: type[socket.socket]) -> None:
        """Have the open connection's socket be of another *kind*."""
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


def exchange(session: Session, response: bytes, then: Callable[[socket.socket], object] = id) -> Any:
    """Return what comes of a request that somebody takes, gives *answer* to, and *then* does something else."""
    server = threading.Thread(target=session.serve, args=(response, then))
    server.start()
    try:
        return DirectTransport(session).exchange(REQUEST)
    finally:
        server.join()


def test_a_request_goes_over_the_wire_as_http(session: Session) -> None:
    """Line, headers and body leave together, and the connection is good for the next one."""
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
    """The host goes without a default port, and without what was to stay secret."""
    assert first_lines("POST", url).decode().startswith(line)


@pytest.mark.parametrize(
    "response", [GOOD.replace(b"Content", b"Connection: Upgrade, Close\r\nContent"), GOOD + b"HTTP/1"]
)
def test_a_connection_is_closed_behind_its_last_response(session: Session, response: bytes) -> None:
    """The server says that it is the last one, or something came that is no part of it."""
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
def test_what_is_no_response_closes_the_connection(session: Session, response: bytes) -> None:
    """It is cut short, larger than any, or no HTTP; nobody reads what may follow."""
    with pytest.raises(ConnectionClosedError):
        exchange(session, response, socket.socket.close)
    assert not session.is_open


def test_silence_closes_the_connection(session: Session) -> None:
    """What comes after all would be taken for the next one's answer."""
    connection = session.pool._get_conn()
    connection.sock.settimeout(0.05)
    session.pool._put_conn(connection)
    with pytest.raises(ReadTimeoutError):
        exchange(session, GOOD[:-1])
    assert not session.is_open


class Decrypted(SSLSocket):
    """A socket of TLS, as far as a test needs one: so many bytes behind the answer are decrypted by now."""

    left = 0
    _sslobj = None

    def __init__(self, fileno: int) -> None:
        socket.socket.__init__(self, fileno=fileno)
        self.settimeout(30)

    def pending(self) -> int:
        return self.left


class DecryptedMore(Decrypted):
    left = 1


@pytest.mark.parametrize(("kind", "is_open"), [(Decrypted, True), (DecryptedMore, False)])
def test_what_tls_holds_back_closes_the_connection(
    session: Session, kind: type[Decrypted], is_open: bool
) -> None:
    """Nobody would see it before it is taken for the next one's answer: it has left the network."""
    session.wrap(kind)
    assert exchange(session, GOOD).body == b"{}"
    assert session.is_open == is_open


def test_two_lengths_are_none(session: Session) -> None:
    """Where headers contradict each other nobody knows which bytes are the answer's; said twice they are one length."""
    twice = GOOD.replace(b"Content", b"Content-Length: 2\r\nContent")
    assert exchange(session, twice).body == b"{}"
    with pytest.raises(ConnectionClosedError) as caught:
        exchange(session, twice.replace(b"h: 2\r\n\r\n", b"h: 1\r\n\r\n"))
    assert "2 and 1" in str(caught.value.__cause__)
    assert not session.is_open


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_an_early_refusal_is_read(session: Session, error: type[OSError]) -> None:
    """A server that refuses a request before it has been sent says why, and its connection breaks."""

    class Broken(socket.socket):
        def sendall(self, *_: Any) -> None:
            session.far_end.sendall(GOOD.replace(b"200", b"413"))
            raise error

    session.wrap(Broken)
    response = DirectTransport(session).exchange(REQUEST)
    assert response is not None
    assert response.status == 413


def close_the_pool(session: Session) -> None:
    session.pool.close()


def close_the_connection(session: Session) -> None:
    session.far_end.close()


def be_another_class(session: Session) -> None:
    """Be what is put in the place of botocore's connections to record calls, or to play them."""
    connection = session.pool._get_conn()
    members = {"sock": connection.sock, "close": connection.close, "is_connected": True}
    session.pool._put_conn(type("Recorder", (), members)())


def set_a_proxy(session: Session) -> None:
    session.proxy_url = "http://proxy.example.com"


@pytest.mark.parametrize("do", [close_the_pool, close_the_connection, be_another_class, set_a_proxy])
def test_without_a_connection_nothing_is_sent(session: Session, do: Callable[[Session], None]) -> None:
    """Whoever asks goes by the session then, which opens one, and knows proxies."""
    do(session)
    assert DirectTransport(session).exchange(REQUEST) is None
    assert session.received == []


def test_a_pool_that_the_session_dropped_is_not_asked_again(session: Session) -> None:
    """It drops those that it has too many of; what it opens then is found."""
    connections = DirectTransport(session)
    session.far_end.close()
    assert connections.exchange(REQUEST) is None
    session._manager.clear()
    session.open()
    server = threading.Thread(target=session.serve, args=(GOOD, id))
    server.start()
    assert connections.exchange(REQUEST) is not None
    server.join()


def test_the_session_makes_the_connections(session: Session) -> None:
    """Only it knows which certificates they trust, so that none of ours is left for it."""
    session.far_end.close()
    pool = session.pool
    for _ in range(2):
        assert DirectTransport(session).exchange(REQUEST) is None
    assert set(pool.pool.queue) == {None}


def test_the_session_closes_its_connections(session: Session) -> None:
    """A client that is closed has none left, however many calls went over them."""
    connections = DirectTransport(session)
    server = threading.Thread(target=session.serve, args=(GOOD, id))
    server.start()
    assert connections.exchange(REQUEST) is not None
    server.join()
    session._manager.clear()
    session.far_end.settimeout(5)
    assert session.far_end.recv(1) == b""


def test_a_session_of_another_botocore_has_none() -> None:
    """Where the names that are used are missing, every request goes by the session."""
    assert DirectTransport(SimpleNamespace()).exchange(REQUEST) is None


SPLIT = "a\r\nContent-Length: 0\r\n\r\nPOST /other HTTP/1.1\r\nX-Rest: "


def exchange_changed(session: Session, url: str, headers: dict[str, Any]) -> object:
    """Return the response to a request that a hook has changed, None if it is left to botocore; nobody responds here."""
    request = AWSPreparedRequest("POST", url, headers, b"body", stream_output=False)  # type: ignore[arg-type] # any mapping does
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
    """botocore refuses, replaces or quotes what a hook (before-send) has set; nothing is sent past it."""
    session.far_end.settimeout(0)
    headers = {"X-Amz-Target": b"Kinesis_20131202.GetRecords", "Content-Length": "4", name: value}
    assert exchange_changed(session, URL, headers) is None
    with pytest.raises(BlockingIOError):
        session.far_end.recv(1)


@pytest.mark.parametrize("path", ["a b", "a HTTP/1.1\vX", "\u00e9", "\x7f", "a\x0b"])
def test_a_target_that_would_split_a_request_goes_to_botocore(session: Session, path: str) -> None:
    """A hook may have changed the URL, which botocore quotes."""
    assert exchange_changed(session, URL + path, {"Content-Length": "4"}) is None


def test_a_request_that_a_hook_left_well_formed_is_sent(session: Session) -> None:
    """A header of a trace, for example, costs no detour."""
    headers = {**HEADERS, "X-Trace": "abc def"}
    request = AWSPreparedRequest("POST", URL, headers, b"body", stream_output=False)  # type: ignore[arg-type] # any mapping does
    server = threading.Thread(target=session.serve, args=(GOOD, id))
    server.start()
    response = DirectTransport(session).exchange(request, is_changed=True)
    server.join()
    assert response is not None
    assert b"X-Trace: abc def\r\n" in session.received[0]


def test_a_connection_that_took_half_a_request_ends(session: Session) -> None:
    """The server would take the next request for the rest of this one: RFC 9112, 9.3 and 9.5."""

    class Broken(socket.socket):
        def sendall(self, *_: Any) -> None:
            session.far_end.sendall(b"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n")
            raise BrokenPipeError

    session.wrap(Broken)
    response = DirectTransport(session).exchange(REQUEST)
    assert response is not None
    assert response.status == 413
    assert not session.is_open
