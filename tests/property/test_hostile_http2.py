"""The emulator's HTTP/2 with hostile clients: random bytes, and frames in states that do not allow them."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from kinesis_emulator import Emulator, Limits, Settings
from support.http2_client import Http2Client
from support.waiting import PATIENCE_S, wait_until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
KINDS, FLAGS = st.integers(0, 12), st.sampled_from([0, 1, 4, 5, 8, 0x20, 0x2D, 0xFF])
STREAMS = st.sampled_from([0, 1, 2, 3, 5, 2**31 - 1])
REQUEST = bytes.fromhex("8386848801")  # a few indexed headers, of which one is not allowed
PAYLOADS = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"", bytes(4), bytes(5), b"\0\3\0\0\0\1", b"\0\4\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]),
    st.sampled_from([REQUEST, REQUEST * 20, bytes(16_384), bytes(16_385)]),
)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    payload = draw(PAYLOADS)
    size = draw(st.sampled_from([len(payload)] * 9 + [len(payload) + 1, 2**24 - 1]))
    return (
        size.to_bytes(3, "big")
        + bytes((draw(KINDS), draw(FLAGS)))
        + draw(STREAMS).to_bytes(4, "big")
        + payload
    )


SETTINGS = b"\0\0\0\4\0\0\0\0\0"
INPUTS = st.one_of(
    st.binary(max_size=200),
    st.lists(frames(), max_size=6).map(b"".join),
    st.lists(frames(), max_size=6).map(lambda found: SETTINGS + b"".join(found)),
)


class Failures(logging.Handler):
    """Keeps the errors that are logged, and those that end threads."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[object] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record)


@pytest.fixture(scope="module")
def failures() -> Iterator[list[object]]:
    handler, logger = Failures(), logging.getLogger("kinesis_emulator")
    logger.addHandler(handler)
    threading.excepthook, before = handler.found.append, threading.excepthook
    yield handler.found
    threading.excepthook = before
    logger.removeHandler(handler)


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as running:
        yield running


@given(INPUTS)
def test_a_hostile_client_ends_only_its_connection(
    emulator: Emulator, failures: list[object], received: bytes
) -> None:
    """Whatever comes after the preface, the connection ends without an error in a thread, and others are served."""
    before = set(threading.enumerate())
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
        client.sendall(PREFACE + received)
        client.shutdown(socket.SHUT_WR)
        try:
            while client.recv(65_536):
                pass
        except ConnectionResetError:
            pass  # what it sent after its last mistake was not read
    wait_until(lambda: set(threading.enumerate()) <= before)
    assert not failures
    with Http2Client(emulator.port) as http2:
        assert http2.answer(http2.call("ListStreams")).status == 200
