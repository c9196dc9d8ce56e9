"""Calls past botocore's client over real connections: their results and errors are those of calls through the client."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field, frozen

from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.errors import ServiceError, UnavailableError
from support.certificates import make_certificate
from support.fan_out_core import KEYS, Apis, connect
from support.signatures import is_signed_with
from support.waiting import PATIENCE_S, wait_until


@frozen
class Received:
    """One request."""

    headers: dict[str, str]
    """The headers by lower-case name."""
    body: bytes

    def is_signed_with(self, secret: str, scheme: str) -> bool:
        return is_signed_with(secret, self.headers, f"{scheme}://{self.headers['host']}/", self.body)


Response = Callable[[socket.socket], bool]
"""Writes a response; returns whether the connection stays open."""


def say(text: bytes, *, stay: bool = True) -> Response:
    """Return a response that sends *text* unchanged."""

    def write(connection: socket.socket) -> bool:
        connection.sendall(text)
        return stay

    return write


def good(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@define(slots=False)
class ScriptedHttp:
    """Gives each request the next of *responses*; a context manager. With *certificate* and its key it uses TLS."""

    certificate: tuple[str, str] | None = None
    responses: list[Response] = field(factory=list)
    received: list[Received] = field(factory=list)
    connections: int = 0
    _left: threading.Semaphore = field(factory=lambda: threading.Semaphore(0), init=False)
    _listener: socket.socket = field(init=False)

    def __enter__(self) -> ScriptedHttp:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def wait_until_left(self) -> None:
        """Wait until one more connection is closed."""
        assert self._left.acquire(timeout=PATIENCE_S)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(self._secure(connection)) as secured:
            while (request := _receive(secured)) is not None:
                self.received.append(request)
                if not self.responses.pop(0)(secured):
                    break
        self._left.release()

    def _secure(self, connection: socket.socket) -> socket.socket:
        if self.certificate is None:
            return connection
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*self.certificate)
        return tls.wrap_socket(connection, server_side=True)


def _receive(connection: socket.socket) -> Received | None:
    received = b""
    while True:
        head, end, body = received.partition(b"\r\n\r\n")
        if end:
            lines = [line.partition(":") for line in head.decode().split("\r\n")[1:]]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            if len(body) >= int(headers["content-length"]):
                return Received(headers, body)
        more = connection.recv(65536)
        if not more:
            return None
        received += more


SHORT_S = 0.3
"""The read timeout of a call that gets no response, or a part. One that gets a response has `PATIENCE_S`."""
PAGE = json.dumps({"Records": [], "NextShardIterator": "next" * 20_000, "MillisBehindLatest": 7}).encode()
GOOD = say(good(PAGE))


def stay_silent(connection: socket.socket) -> bool:
    """Send nothing until the client closes the connection."""
    return connection.recv(1) != b""


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as running:
        yield running


def stream_client(server: ScriptedHttp) -> BotoStreamApi:
    return Apis(connect(server.url)).reading()


def shorten(api: BotoStreamApi, server: ScriptedHttp) -> None:
    """Let the next call give up early. It uses a connection that is open."""
    pool = api.client._endpoint.http_session._manager.connection_from_url(server.url)
    (sock,) = (connection.sock for connection in pool.pool.queue if connection is not None)
    sock.settimeout(SHORT_S)


def ask(api: BotoStreamApi, server: ScriptedHttp, *responses: Response) -> object:
    """Return the result of GetRecords with *responses* queued: the lag of the page, or the class and code of the error."""
    server.responses += responses
    try:
        page = api.get_records("iterator", 10)
    except ServiceError as error:
        wait_until(lambda: not server.responses)  # the call may give up before the server has it
        return type(error), error.code
    return page.millis_behind


def test_signatures_are_those_that_botocore_checks(server: ScriptedHttp) -> None:
    """A server that signs the received requests with botocore gets the same signatures."""
    api = stream_client(server)
    assert [ask(api, server, GOOD) for _ in range(4)] == [7] * 4
    assert [request.is_signed_with(KEYS.secret_key, "http") for request in server.received] == [True] * 4
    assert not server.received[3].is_signed_with("other", "http")
    assert len({request.headers["amz-sdk-invocation-id"] for request in server.received}) == 4


def test_headers_are_those_of_botocore(server: ScriptedHttp) -> None:
    """On the wire the calls differ only in time, signature and id. One connection serves all of them."""
    api = stream_client(server)
    for _ in range(2):
        ask(api, server, GOOD)
    own = {"x-amz-date", "authorization", "amz-sdk-invocation-id"}
    first, second = (
        {name: value for name, value in request.headers.items() if name not in own}
        for request in server.received
    )
    assert first == second
    assert server.connections == 1


RESPONSES = {
    "and closed": say(good(PAGE).replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), stay=False),
    "no response": say(b"", stay=False),
    "no HTTP": say(b"220 mail.example.com ESMTP\r\n\r\n", stay=False),
    "silence": stay_silent,
    "5xx of a proxy": say(b"HTTP/1.1 502 Bad\r\nContent-Length: 15\r\n\r\n<html>no</html>"),
    "other service": say(good(b"<html>hello</html>")),
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_responses_have_the_same_result_both_ways(response: Response, server: ScriptedHttp) -> None:
    """The result of a response does not depend on the path of the call. A failed call is not repeated."""
    timeout_s = SHORT_S if response is stay_silent else PATIENCE_S
    through = ask(Apis(connect(server.url, timeout_s)).reading(), server, response)
    api = stream_client(server)
    assert ask(api, server, GOOD) == 7
    if response is stay_silent:
        shorten(api, server)
    assert ask(api, server, response) == through
    assert len(server.received) == 3
    assert ask(api, server, GOOD) == 7


def test_the_first_response_of_a_connection_cut_short_is_an_error(server: ScriptedHttp) -> None:
    """A response that ends early is an error also if the session connected for this call."""
    api = stream_client(server)
    assert ask(api, server, say(good(PAGE), stay=False)) == 7
    server.wait_until_left()
    text = good(PAGE)[:-9000]
    assert ask(api, server, say(text, stay=False)) == (UnavailableError, "ConnectionClosedError")


def test_a_connection_closed_while_idle_is_replaced(server: ScriptedHttp) -> None:
    """A server that closes an idle connection causes a new connection, not an error."""
    api = stream_client(server)
    for _ in range(3):
        assert ask(api, server, say(good(PAGE), stay=False)) == 7
        server.wait_until_left()
    assert server.connections == 3


def test_certificates_are_checked(
    server: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both paths trust the bundle in AWS_CA_BUNDLE and no other certificate."""
    pairs = []
    for name in ("trusted", "other"):
        (tmp_path / name).mkdir()
        pairs.append(make_certificate(tmp_path / name))
    (trusted, trusted_key), (other, other_key) = pairs
    monkeypatch.setenv("AWS_CA_BUNDLE", str(trusted))
    server.certificate = str(trusted), str(trusted_key)
    api = stream_client(server)
    for _ in range(2):
        assert ask(api, server, say(good(PAGE), stay=False)) == 7
        server.wait_until_left()
    assert server.received[1].is_signed_with(KEYS.secret_key, "https")
    server.certificate = str(other), str(other_key)
    assert ask(api, server) == (UnavailableError, "CERTIFICATE_VERIFY_FAILED")
    assert len(server.received) == 2
