"""The HTTP protocol, with a client that does not know AWS."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator
from support.waiting import PATIENCE_S


def test_responses_carry_request_id_and_date_of_the_clock(post: Any) -> None:
    """Every response has a request id of its own and the date of the emulator's clock."""
    first, second = (post("ListStreams")[0] for _ in range(2))
    assert first.getheader("Date") == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert first.getheader("Content-Type") == "application/x-amz-json-1.1"
    assert first.getheader("x-amzn-RequestId") != second.getheader("x-amzn-RequestId")


def test_a_connection_is_kept_alive(connection: http.client.HTTPConnection, post: Any) -> None:
    """Many requests use one connection, refused ones among them."""
    post("ListStreams")
    kept = connection.sock
    post("Nonsense")
    post("ListStreams")
    assert connection.sock is kept


def exchange(emulator: Emulator, request: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request, and return the response with its body. The connection must end after it."""
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
        client.sendall(request)
        response = http.client.HTTPResponse(client)
        response.begin()
        body = response.read()
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    return response, body


CHUNKED = (
    b"POST / HTTP/1.1\r\nX-Amz-Target: Kinesis_20131202.DescribeStreamSummary\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)


def test_a_body_in_chunks(emulator: Emulator) -> None:
    """A body may come in chunks, with extensions of their sizes, and with trailers after the last one."""
    chunks = b'B;why="so"\r\n{"StreamNam\r\n0D\r\ne":"orders"}\n\r\n0\r\nChecksum: 1\r\n\r\n'
    response, body = exchange(emulator, CHUNKED + chunks)
    assert response.status == 200
    assert json.loads(body)["StreamDescriptionSummary"]["StreamName"] == "orders"


def test_requests_follow_a_body_in_chunks(
    connection: http.client.HTTPConnection, post: Callable[..., Any]
) -> None:
    """A connection is kept after a body in chunks."""
    post("ListStreams")
    kept = connection.sock
    headers = {"X-Amz-Target": "Kinesis_20131202.ListStreams"}
    connection.request("POST", "/", iter([b"{", b"}"]), headers, encode_chunked=True)
    assert connection.getresponse().read().startswith(b'{"StreamNames"')
    assert post("ListStreams")[0].status == 200
    assert connection.sock is kept


@pytest.mark.parametrize(
    ("head", "body", "status", "code"),
    [
        (CHUNKED, b"x\r\n", 400, "SerializationException"),
        (CHUNKED, b"-1\r\n", 400, "SerializationException"),
        (CHUNKED, b'17\r\n{"StreamName":"orders"}xx0\r\n\r\n', 400, "SerializationException"),
        (CHUNKED, b"fffffff\r\n", 413, "RequestEntityTooLargeException"),
        (CHUNKED.replace(b"chunked", b"gzip"), b"", 400, "SerializationException"),
        (b"POST / HTTP/1.1\r\nContent-Length: 70000000\r\n\r\n", b"", 413, "RequestEntityTooLargeException"),
    ],
)
def test_a_body_that_cannot_be_read(
    emulator: Emulator, head: bytes, body: bytes, status: int, code: str
) -> None:
    """A malformed body, and one that is too large, is refused before it is read, and its connection is closed."""
    response, refusal = exchange(emulator, head + body)
    assert (response.status, response.getheader("Connection")) == (status, "close")
    assert json.loads(refusal)["__type"] == code


def test_a_body_that_stops_in_a_chunk(emulator: Emulator) -> None:
    """A client that leaves in the middle of a chunk gets nothing, and its call is not carried out."""
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
        client.sendall(CHUNKED + b"F\r\n{")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert emulator.calls.count() == 0


def test_health(connection: http.client.HTTPConnection) -> None:
    """`GET /health` says that the emulator serves."""
    connection.request("GET", "/health")
    response = connection.getresponse()
    assert (response.status, response.getheader("Content-Type")) == (200, "application/json")
    assert json.loads(response.read())["status"] == "ok"


def test_tls_on_a_plain_port(emulator: Emulator, caplog: pytest.LogCaptureFixture) -> None:
    """A client that begins with TLS gets a response at once, and the log has one line that says what to do."""
    with (
        socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client,
        pytest.raises(ssl.SSLError, match=r"WRONG_VERSION_NUMBER|RECORD_LAYER"),
    ):
        ssl.create_default_context().wrap_socket(client, server_hostname="localhost")
    (line,) = caplog.messages
    assert line.startswith("connection.refused client=127.0.0.1:")
    assert line.endswith("reason=TLS on a plain port. Use http://, or start the emulator with --tls.")


ORIGIN = "http://localhost:3000"


@pytest.mark.parametrize(
    ("cors", "origin", "allowed"),
    [
        (["*"], ORIGIN, "*"),
        ([ORIGIN, "https://other.example"], ORIGIN, ORIGIN),
        ([ORIGIN], "https://other.example", None),
        ([], ORIGIN, None),
    ],
)
def test_a_browser_may_ask(cors: list[str], origin: str, allowed: str | None) -> None:
    """Web pages of the given origins may call: the browser's question and the call itself say so. No others may."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-amz-target"}
    with Emulator(cors=cors) as emulator:
        client = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=PATIENCE_S)
        client.request("OPTIONS", "/", headers={"Origin": origin, **asked})
        question = client.getresponse()
        question.read()
        client.request("POST", "/", b"{}", {"Origin": origin, "X-Amz-Target": "Kinesis_20131202.ListStreams"})
        call = client.getresponse()
        call.read()
        client.request("POST", "/_control/clear", b"", {"Origin": origin})
        control = client.getresponse()
        client.close()
    for response in (question, call):
        assert response.getheader("Access-Control-Allow-Origin") == allowed
    assert question.getheader("Access-Control-Allow-Headers") == ("x-amz-target" if allowed else None)
    assert question.getheader("Access-Control-Allow-Methods") == ("POST" if allowed else None)
    assert (question.status, control.status) == ((200, 200) if allowed else (400, 403))
    assert ("x-amzn-RequestId" in (call.getheader("Access-Control-Expose-Headers") or "")) == bool(allowed)
    assert call.getheader("Vary") == ("Origin" if allowed == ORIGIN else None)


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://localhost:"), ("::1", "http://[::1]:")],
)
def test_the_host(host: str, url: str) -> None:
    """The emulator listens where it is told, and its URL names that."""
    with Emulator(host=host) as emulator:
        assert emulator.endpoint_url == f"{url}{emulator.port}"
        assert emulator.is_local
        client = http.client.HTTPConnection(host, emulator.port, timeout=PATIENCE_S)
        client.request("GET", "/health")
        assert client.getresponse().status == 200
        client.close()


def test_expect_100_continue_gets_its_response(emulator: Emulator) -> None:
    """A client that waits for `100 Continue` before it sends its body gets it."""
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
        client.sendall(
            b"POST / HTTP/1.1\r\nX-Amz-Target: Kinesis_20131202.ListStreams\r\n"
            b"Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        assert client.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"{}")
        assert client.recv(1024).startswith(b"HTTP/1.1 200 OK\r\n")


def test_only_the_loopback_interface_is_served(emulator: Emulator) -> None:
    """The emulator listens on 127.0.0.1 only."""
    assert emulator.endpoint_url == f"http://127.0.0.1:{emulator.port}"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", emulator.port), timeout=PATIENCE_S)


def test_stopping_cuts_open_connections() -> None:
    """An emulator stops at once although clients keep their connections open. One that was never started stops too."""
    running = Emulator()
    running.start()
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE_S) as client:
        client.sendall(
            b"POST / HTTP/1.1\r\nX-Amz-Target: Kinesis_20131202.ListStreams\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        running.stop()
        assert client.recv(1024) == b""
    Emulator().stop()
