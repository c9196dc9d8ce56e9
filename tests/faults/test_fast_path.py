"""Calls past botocore's client over real connections: whatever happens to them, it is as it is through the client."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.credentials import Credentials

from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.errors import ServiceError, UnavailableError
from support.certificates import make_certificate
from support.fan_out_core import KEYS, Apis, connect
from support.scripted_http import Response, ScriptedHttp, good, say

READ_TIMEOUT_S = 0.3
SIGNED_WITH = Credentials(KEYS.access_key_id, KEYS.secret_key)
PAGE = json.dumps({"Records": [], "NextShardIterator": "next" * 20_000, "MillisBehindLatest": 7}).encode()
GOOD = say(good(PAGE))
CHUNKS = b"".join(
    b"%x\r\n%b\r\n" % (len(PAGE[at : at + 9000]), PAGE[at : at + 9000]) for at in range(0, len(PAGE), 9000)
)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % CHUNKS


def stay_silent(connection: socket.socket) -> bool:
    """Wait until the client has had enough."""
    return connection.recv(1) != b""


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as running:
        yield running


def stream_client(server: ScriptedHttp) -> BotoStreamApi:
    return Apis(connect(server.url, READ_TIMEOUT_S)).reading()


def ask(api: BotoStreamApi, server: ScriptedHttp, *responses: Response) -> object:
    """Return what GetRecords says to *answers*: a page's lag, or the kind of the error and its code."""
    server.responses += responses
    try:
        page = api.get_records("iterator", 10)
    except ServiceError as error:
        return type(error), error.code
    return page.millis_behind


def test_signatures_are_those_that_botocore_checks(server: ScriptedHttp) -> None:
    """A server that signs what it received, as botocore would, comes to the same signature, call after call."""
    api = stream_client(server)
    assert [ask(api, server, GOOD) for _ in range(4)] == [7] * 4
    assert [request.is_signed_with(SIGNED_WITH, "http") for request in server.received] == [True] * 4
    assert not server.received[3].is_signed_with(Credentials("AKIAEXAMPLE", "other"), "http")
    assert len({request.headers["amz-sdk-invocation-id"] for request in server.received}) == 4


def test_headers_are_those_of_botocore(server: ScriptedHttp) -> None:
    """Over the wire, too, the calls differ by time, signature and id alone; one connection serves them all."""
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
    "chunked": say(CHUNKED),
    "and closed": say(good(PAGE).replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), stay=False),
    "up to the end": say(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, stay=False),
    "after a 100": say(b"HTTP/1.1 100 Continue\r\n\r\n" + good(PAGE)),
    "no answer": say(b"", stay=False),
    "no HTTP": say(b"220 mail.example.com ESMTP\r\n\r\n", stay=False),
    "silence": stay_silent,
    "5xx": say(b"HTTP/1.1 503 Slow\r\nContent-Length: 0\r\n\r\n"),
    "5xx of a proxy": say(b"HTTP/1.1 502 Bad\r\nContent-Length: 15\r\n\r\n<html>no</html>"),
    "other service": say(good(b"<html>hello</html>")),
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_responses_are_taken_alike(response: Response, server: ScriptedHttp) -> None:
    """What an answer comes to does not depend on the way of the call, and what breaks is not sent twice."""
    through = ask(stream_client(server), server, response)
    api = stream_client(server)
    assert ask(api, server, GOOD) == 7
    assert ask(api, server, response) == through
    assert len(server.received) == 3
    assert ask(api, server, GOOD) == 7


CUT = {
    "in its head": good(PAGE)[:20],
    "of a length": good(PAGE)[:-9000],
    "in chunks": CHUNKED[:-9000],
    "of HTTP/1.0": good(PAGE)[:-9000].replace(b"1.1", b"1.0"),
}


@pytest.mark.parametrize("text", CUT.values(), ids=CUT)
def test_responses_cut_short_are_not_taken(text: bytes, server: ScriptedHttp) -> None:
    """An answer that ends early is an error that may be tried again, never a page."""
    api = stream_client(server)
    assert ask(api, server, GOOD) == 7
    assert ask(api, server, say(text, stay=False)) == (UnavailableError, "ConnectionClosedError")


def test_the_first_response_of_a_connection_cut_short_is_not_taken(server: ScriptedHttp) -> None:
    """Nor is it where the session had to connect first."""
    api = stream_client(server)
    assert ask(api, server, say(good(PAGE), stay=False)) == 7
    server.wait_until_left()
    text = good(PAGE)[:-9000]
    assert ask(api, server, say(text, stay=False)) == (UnavailableError, "ConnectionClosedError")


def test_a_body_that_stops_is_given_up(server: ScriptedHttp) -> None:
    """Silence in the middle of a body is a read timeout."""

    def stop(connection: socket.socket) -> bool:
        connection.sendall(good(PAGE)[:-9000])
        return stay_silent(connection)

    api = stream_client(server)
    assert ask(api, server, GOOD) == 7
    assert ask(api, server, stop) == (UnavailableError, "ReadTimeoutError")


def test_a_connection_closed_while_idle_is_replaced(server: ScriptedHttp) -> None:
    """A server that closes an idle connection costs a new one, not an error."""
    api = stream_client(server)
    for _ in range(3):
        assert ask(api, server, say(good(PAGE), stay=False)) == 7
        server.wait_until_left()
    assert server.connections == 3


def test_more_than_an_response_is_not_the_next_one(
    server: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What TLS decrypted along with an answer's end is seen, though the connection looks idle."""
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    server.certificate = str(certificate), str(key)

    def say_more(connection: socket.socket) -> bool:
        text = good(PAGE)
        connection.sendall(text[:-1000])
        connection.sendall(text[-1000:] + good(b'{"Records": [], "MillisBehindLatest": 9}'))
        return True

    api = stream_client(server)
    assert [ask(api, server, response) for response in (GOOD, say_more, GOOD, GOOD)] == [7] * 4
    assert server.connections == 2


def test_certificates_are_checked(
    server: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle that AWS_CA_BUNDLE names is trusted and no other certificate, whichever way a call goes."""
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
    assert server.received[1].is_signed_with(SIGNED_WITH, "https")
    server.certificate = str(other), str(other_key)
    assert ask(api, server) == (UnavailableError, "SSLError")
    assert len(server.received) == 2
