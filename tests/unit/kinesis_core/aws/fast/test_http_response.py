"""Responses that another reader could parse differently are refused. Section numbers are those of RFC 9112."""

from __future__ import annotations

import io
from typing import Any

import pytest

from kinesis_core.aws.fast.http_response import receive
from kinesis_core.budget import IN_FLIGHT, LARGEST_BODY, ByteBudget, NoRoomError, receiving

OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
END = b"\r\n{}"
CHUNKS = b"\r\n2\r\n{}\r\n0\r\n\r\n"
NEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"


class Text:
    """A socket that returns *text*, then the end of the connection."""

    def __init__(self, text: bytes) -> None:
        self.file = io.BytesIO(text)

    def recv(self, count: int) -> bytes:
        return self.file.read(count)

    def recv_into(self, room: Any) -> int:
        return self.file.readinto(room)


class Late(Text):
    """A socket on which the rest does not come in time."""

    def recv_into(self, room: Any) -> int:  # noqa: ARG002 - nothing comes
        raise TimeoutError


def test_an_error_keeps_no_view_of_a_body() -> None:
    """The memory is freed when the body does not come. What the traceback still names would be the memory of something else."""
    with pytest.raises(TimeoutError) as raised:
        receive(Late(OK + b"Content-Length: 100\r\n\r\nsome"))
    frames = [entry.frame.f_locals for entry in raised.traceback if entry.name == "readinto"]
    assert frames
    assert not any("room" in values for values in frames)


REFUSED = {
    # the length: RFC 9112 6.3 (5), RFC 9110 8.6
    "length with a sign": OK + b"Content-Length: +2\r\n" + END,
    "length with an underscore": OK + b"Content-Length: 0_2\r\n" + END,
    "negative length": OK + b"Content-Length: -2\r\n" + END,
    "hexadecimal length": OK + b"Content-Length: 0x2\r\n" + END,
    "length with a point": OK + b"Content-Length: 2.0\r\n" + END,
    "two lengths in a line": OK + b"Content-Length: 2, 3\r\n" + END,
    "no length in the line": OK + b"Content-Length:\r\n" + END,
    "two different lengths": OK + TWO + b"Content-Length: 3\r\n" + END,
    "two lengths of the same value in other digits": OK + TWO + b"Content-Length: 02\r\n" + END,
    "length of Latin digits": OK + b"Content-Length: \xb2\r\n" + END,
    "length after a control character": OK + b"Content-Length: \x1f2\r\n" + END,
    "length between no-break spaces": OK + b"Content-Length: \x852\xa0\r\n" + END,
    "length with NUL": OK + b"Content-Length: 2\0\r\n" + END,
    # both framings: RFC 9112 6.1, 6.3 (3), (4)
    "length and chunks": OK + TWO + CHUNKED + CHUNKS,
    "chunks and length": OK + CHUNKED + TWO + CHUNKS,
    "unknown encoding and length": OK + b"Transfer-Encoding: xchunked\r\n" + TWO + END,
    "identity and length": OK + b"Transfer-Encoding: identity\r\n" + TWO + END,
    "gzip in chunks": OK + b"Transfer-Encoding: gzip, chunked\r\n" + CHUNKS,
    "chunks not last": OK + b"Transfer-Encoding: chunked, identity\r\n" + CHUNKS,
    "chunked twice": OK + CHUNKED + CHUNKED + CHUNKS,
    # lines: RFC 9112 2.2, 5.1, 5.2, RFC 9110 5.1, 5.5
    "space before the colon of a length": OK + TWO + b"Content-Length : 1\r\n" + END,
    "space before the colon of an encoding": OK + TWO + b"Transfer-Encoding : chunked\r\n" + END,
    "folded line": OK + TWO + b"X-A: b\r\n Content-Length: 1\r\n" + END,
    "folded first line": OK + b" Content-Length: 1\r\n" + TWO + END,
    "bare LF": OK + TWO + b"X-A: b\nTransfer-Encoding: chunked\r\n" + END,
    "two bare LFs": OK + b"X-A: b\n\nX: y\r\n" + TWO + END,
    "bare LF in the status line": b"HTTP/1.1 200 OK\nX: y\r\n" + TWO + END,
    "bare CR": OK + TWO + b"X-A: b\rContent-Length: 1\r\n" + END,
    "NUL in a value": OK + TWO + b"X-A: b\0c\r\n" + END,
    "NUL in a name": OK + TWO + b"X\0A: b\r\n" + END,
    "control character in a value": OK + TWO + b"X-A: b\x07c\r\n" + END,
    "control character in the reason": b"HTTP/1.1 200 O\0K\r\n" + TWO + END,
    "no colon": OK + TWO + b"nonsense\r\n" + END,
    "no name": OK + TWO + b": x\r\n" + END,
    "name with brackets": OK + TWO + b"X(A): x\r\n" + END,
    "name that is not ASCII": OK + TWO + b"X-\xc9: x\r\n" + END,
    # the status line: RFC 9112 4
    "status of four digits": b"HTTP/1.1 2000 OK\r\n" + TWO + END,
    "status and letters": b"HTTP/1.1 200OK\r\n" + TWO + END,
    "tab before the status": b"HTTP/1.1\t200 OK\r\n" + TWO + END,
    "interim status of one digit": b"HTTP/1.1 1\r\n\r\n" + OK + TWO + END,
    "interim status with letters": b"HTTP/1.1 1x y\r\n\r\n" + OK + TWO + END,
    # RFC 9110 15.2.2: no other protocol was asked for
    "switched protocols": b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n" + OK + TWO + END,
    "interim responses without end": b"HTTP/1.1 100 C\r\n\r\n" * 1000 + OK + TWO + END,
    # chunks: RFC 9112 7.1
    "chunk with a sign": OK + CHUNKED + b"\r\n+2\r\n{}\r\n0\r\n\r\n",
    "chunk with an underscore": OK + CHUNKED + b"\r\n0_2\r\n{}\r\n0\r\n\r\n",
    "chunk with 0x": OK + CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "chunk after a space": OK + CHUNKED + b"\r\n 2\r\n{}\r\n0\r\n\r\n",
    "last chunk with a sign": OK + CHUNKED + b"\r\n2\r\n{}\r\n-0\r\n\r\n",
    "chunk extension that ends in LF": OK + CHUNKED + b"\r\n2;a\n{}\r\n0\r\n\r\n",
    "chunk longer than it says": OK + CHUNKED + b"\r\n2\r\n{}XX0\r\n\r\n",
    "chunks that end early": OK + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n",
    "trailers without end": OK + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_ambiguous_responses_are_refused(text: bytes) -> None:
    """A proxy in between could take other bytes for the response than this reader does."""
    with pytest.raises((ConnectionError, ValueError)):
        receive(Text(text))


LAST = {
    # RFC 9112 6.3, 9.3, 9.6
    "more after chunks": OK + CHUNKED + CHUNKS + NEXT,
    "close, and keep-alive after it": OK + b"Connection: close\r\nConnection: keep-alive\r\n" + TWO + END,
}


@pytest.mark.parametrize("text", LAST.values(), ids=LAST.keys())
def test_a_connection_ends_if_the_next_response_would_be_another(text: bytes) -> None:
    """Bytes after a response are not the next response. A server that closes takes no further request."""
    response = receive(Text(text))
    assert bytes(response.body) == b"{}"
    assert response.is_last


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@pytest.mark.parametrize("rest", [b"", b"{}"])
def test_a_status_without_content(status: bytes, rest: bytes) -> None:
    """A response with such a status ends after its headers, whatever they say: 6.3 (1)."""
    response = receive(Text(b"HTTP/1.1 " + status + b"\r\n" + TWO + b"\r\n" + rest))
    assert response.body == b""
    assert response.is_last == bool(rest)


def test_chunks_of_http_1_0_end_the_connection() -> None:
    """An HTTP/1.0 proxy may forward chunks that it does not understand: 6.1."""
    text = OK.replace(b"1.1", b"1.0") + b"Connection: keep-alive\r\n" + CHUNKED + CHUNKS
    response = receive(Text(text))
    assert (bytes(response.body), response.is_last) == (b"{}", True)


@pytest.mark.parametrize("length", [b"Content-Length: 2\r\nContent-Length: 2\r\n", b"CONTENT-LENGTH:2\r\n"])
def test_a_length_that_is_repeated_alike_is_one_length(length: bytes) -> None:
    """RFC 9110, 8.6 allows reading equal lengths as one."""
    assert receive(Text(OK + length + END)).body == b"{}"


@pytest.mark.parametrize("size", [b"2;name=value\r\n", b"2 \r\n", b"002\r\n"])
def test_chunk_sizes_that_are_valid(size: bytes) -> None:
    """Chunk extensions are ignored, and sizes may have leading zeros: 7.1."""
    response = receive(Text(OK + CHUNKED + b"\r\n" + size + b"{}\r\n0\r\nTrailer: x\r\n\r\n"))
    assert (bytes(response.body), response.is_last) == (b"{}", False)


LARGE = 1_000_000
LARGE_ONES = {
    "length": (OK + b"Content-Length: %d\r\n\r\n" % LARGE + bytes(LARGE), LARGE),
    "chunks": (OK + CHUNKED + b"\r\n%x\r\n" % LARGE + bytes(LARGE) + b"\r\n0\r\n\r\n", LARGE),
    "up to the end": (OK + b"\r\n" + bytes(LARGE), LARGEST_BODY),
}


@pytest.mark.parametrize("framing", LARGE_ONES)
def test_a_large_body_counts_before_it_is_received(framing: str) -> None:
    """A body is received once there is room for it in the budget of its thread, and not before."""
    text, size_bytes = LARGE_ONES[framing]
    budget = ByteBudget(100 * LARGE)
    with receiving(budget.share()):
        assert len(receive(Text(text)).body) == LARGE
    assert budget.used_bytes == IN_FLIGHT * size_bytes
    full, socket = ByteBudget(LARGE), Text(text)
    full.share().reserve(1)
    with receiving(full.share(patience_s=0)), pytest.raises(NoRoomError):
        receive(socket)
    assert socket.file.tell() < LARGE


def test_a_small_body_does_not_wait() -> None:
    """A body that comes with its head, or about so, is not worth a wait."""
    budget = ByteBudget(1)
    budget.share().reserve(1)
    with receiving(budget.share(patience_s=0)):
        assert receive(Text(OK + TWO + END)).body == b"{}"
