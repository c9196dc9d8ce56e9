"""The HTTP protocol, with a client that does not know AWS."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from kinesis_emulator import Emulator
from support.waiting import PATIENCE_S

TYPE = "application/x-amz-json-1.1"


@pytest.fixture
def connection(emulator: Emulator) -> Iterator[http.client.HTTPConnection]:
    made = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=PATIENCE_S)
    yield made
    made.close()


def call(
    connection: http.client.HTTPConnection, target: str, body: bytes = b"{}", content_type: str = TYPE
) -> tuple[http.client.HTTPResponse, Any]:
    headers = {"X-Amz-Target": target, "Content-Type": content_type}
    connection.request("POST", "/", body, headers)
    response = connection.getresponse()
    text = response.read()
    return response, json.loads(text) if text else None


def test_responses_carry_request_id_and_date_of_the_clock(connection: http.client.HTTPConnection) -> None:
    """Every response has a request id of its own and the date of the emulator's clock."""
    first, _ = call(connection, "Kinesis_20131202.ListStreams")
    second, _ = call(connection, "Kinesis_20131202.ListStreams")
    assert first.getheader("Date") == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert first.getheader("Content-Type") == TYPE
    assert first.getheader("x-amzn-RequestId") != second.getheader("x-amzn-RequestId")


def test_a_connection_is_kept_alive(connection: http.client.HTTPConnection) -> None:
    """Many requests use one connection, refused ones among them."""
    call(connection, "Kinesis_20131202.ListStreams")
    kept = connection.sock
    call(connection, "Kinesis_20131202.Nonsense")
    call(connection, "Kinesis_20131202.ListStreams")
    assert connection.sock is kept


@pytest.mark.parametrize(
    ("target", "body", "content_type", "code"),
    [
        ("Kinesis_20131202.Nonsense", b"{}", TYPE, "UnknownOperationException"),
        ("DynamoDB_20120810.GetItem", b"{}", TYPE, "UnknownOperationException"),
        ("Kinesis_20131202.ListShards", b"{not json", TYPE, "SerializationException"),
        ("Kinesis_20131202.ListShards", b"[]", TYPE, "SerializationException"),
        ("Kinesis_20131202.ListShards", b'{"StreamName": 5}', TYPE, "SerializationException"),
        ("Kinesis_20131202.ListShards", b'{"StreamName": ["a"]}', TYPE, "SerializationException"),
        ("Kinesis_20131202.DeleteStream", b"{}", TYPE, "InvalidArgumentException"),
        ("Kinesis_20131202.CreateStream", b"{}", TYPE, "ValidationException"),
        ("Kinesis_20131202.GetRecords", b"{}", TYPE, "ValidationException"),
        ("Kinesis_20131202.PutRecords", b'{"StreamName": "orders"}', TYPE, "ValidationException"),
        (
            "Kinesis_20131202.PutRecord",
            b'{"StreamName": "orders", "Data": "=", "PartitionKey": "k"}',
            TYPE,
            "SerializationException",
        ),
        (
            "Kinesis_20131202.PutRecord",
            b'{"StreamName": "orders", "Data": "eHh4eH?=", "PartitionKey": "k"}',
            TYPE,
            "SerializationException",
        ),
        (
            "Kinesis_20131202.PutRecord",
            b'{"StreamName": "orders", "PartitionKey": "k"}',
            TYPE,
            "ValidationException",
        ),
        ("Kinesis_20131202.PutRecord", b'{"StreamName": "orders", "Data": ""}', TYPE, "ValidationException"),
        (
            "Kinesis_20131202.PutRecords",
            b'{"StreamName": "orders", "Records": ["x"]}',
            TYPE,
            "SerializationException",
        ),
    ],
)
def test_bad_requests_are_refused_with_a_400(
    connection: http.client.HTTPConnection, target: str, body: bytes, content_type: str, code: str
) -> None:
    """A request that no Kinesis client sends is refused with an error of the protocol, never with a broken connection."""
    response, facts = call(connection, target, body, content_type)
    assert (response.status, facts["__type"]) == (400, code)


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
