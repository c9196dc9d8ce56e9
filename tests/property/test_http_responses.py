"""A response is read as http.client reads it, however the network splits it."""

from __future__ import annotations

import io
from http.client import HTTPResponse
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from kinesis_core.aws.fast.http_response import receive

NAMES = st.sampled_from(["Date", "x-amzn-RequestId", "Content-Type", "X-Other", "connection"])
VALUES = st.text("abc:;=, \t-", max_size=20).map(str.strip) | st.sampled_from(["close", "keep-alive"])
BODIES = st.binary(max_size=2000) | st.integers(1, 300).map(lambda size: b"\r\n\r\n" * size * 80)
HEADERS = st.dictionaries(NAMES, VALUES, max_size=4)


class Pieces:
    """A socket that returns *text* in pieces of *sizes*, then the end of the connection."""

    def __init__(self, text: bytes, sizes: list[int]) -> None:
        self.text = text
        self.sizes = sizes

    def recv(self, count: int) -> bytes:
        size = min(count, self.sizes.pop() if self.sizes else count)
        piece, self.text = self.text[:size], self.text[size:]
        return piece

    def recv_into(self, room: Any) -> int:
        piece = self.recv(len(room))
        room[: len(piece)] = piece
        return len(piece)

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self.text)


@st.composite
def texts(draw: st.DrawFn, *kinds: str, versions: tuple[str, ...] = ("1.1",)) -> bytes:
    """Return a response whose body is of one of *kinds*, perhaps after an interim response."""
    status = draw(st.sampled_from(["200 OK", "400 Bad Request", "503 Slow", "500 "]))
    version, kind = draw(st.sampled_from(versions)), draw(st.sampled_from(kinds))
    headers, body = draw(HEADERS), draw(BODIES)
    if kind == "length":
        headers[draw(st.sampled_from(["Content-Length", "content-length"]))] = str(len(body))
    if kind == "chunks":
        headers["Transfer-Encoding"] = "chunked"
        size = draw(st.integers(1, 1 + len(body)))
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])
    lines = [f"HTTP/{version} {status}", *(f"{name}: {value}" for name, value in headers.items())]
    before = draw(
        st.sampled_from([b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 \r\nA: b\r\n\r\n"])
    )
    return before + "\r\n".join([*lines, "\r\n"]).encode() + body


def read_by_http_client(text: bytes) -> tuple[Any, ...]:
    response = HTTPResponse(Pieces(text, []), method="POST")  # type: ignore[arg-type] # it needs makefile only
    response.begin()
    body = response.read()
    headers = {name.lower(): value.strip() for name, value in response.getheaders()}
    return response.status, headers, body, response.will_close


SIZES = st.lists(st.integers(1, 3000))


@given(texts("length", "end", versions=("1.1", "1.0")) | texts("length", "chunks", "end"), SIZES)
def test_responses_are_those_of_http_client(text: bytes, sizes: list[int]) -> None:
    """Status, headers, body and the end of the connection are those that http.client reads."""
    response = receive(Pieces(text, sizes))
    assert (response.status, response.headers, bytes(response.body), response.is_last) == read_by_http_client(
        text
    )


@given(texts("length"), SIZES, st.data())
def test_a_response_cut_short_is_an_error(text: bytes, sizes: list[int], data: st.DataObject) -> None:
    """A connection that ends before the response is an error. No body is shorter than announced."""
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(OSError, match="closed before the response had ended"):
        receive(Pieces(text[:cut], sizes))


@given(texts("chunks"), SIZES, st.data())
def test_chunks_cut_short_are_an_error(text: bytes, sizes: list[int], data: st.DataObject) -> None:
    """A connection that ends before the empty last chunk is an error."""
    cut = data.draw(st.integers(0, len(text) - len(b"0\r\n\r\n")))
    with pytest.raises(OSError, match="closed before the response had ended"):
        receive(Pieces(text[:cut], sizes))


@given(st.binary(max_size=3000), SIZES)
def test_other_bytes_are_an_error(text: bytes, sizes: list[int]) -> None:
    """Any other bytes raise one of the expected errors."""
    with pytest.raises((OSError, ValueError)):
        receive(Pieces(text, sizes))


@given(texts("length"), st.binary(min_size=1, max_size=100))
def test_bytes_after_a_response_end_the_connection(text: bytes, more: bytes) -> None:
    """Bytes that come with a response end the connection: they would be read as the next response. urllib3 detects later bytes."""
    assume(len(text) < 60_000)
    assert receive(Pieces(text + more, [])).is_last
