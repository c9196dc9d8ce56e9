"""The HTTP protocol, with a client that does not know AWS."""

from __future__ import annotations

import http.client
import socket
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


def test_a_chunked_body_is_refused(emulator: Emulator) -> None:
    """A body without Content-Length is refused before it is sent, and its connection is closed."""
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
        client.sendall(
            b"POST / HTTP/1.1\r\nX-Amz-Target: Kinesis_20131202.ListStreams\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        response = http.client.HTTPResponse(client)
        response.begin()
        assert (response.status, response.getheader("Connection")) == (400, "close")
        response.read()
        assert client.recv(1) == b""


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
