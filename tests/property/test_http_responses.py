"""A response is what http.client reads of it, however the network cuts it into pieces."""

from __future__ import annotations

import io
from http.client import HTTPResponse
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kinesis_core.aws.http_response import receive

NAMES = st.sampled_from(["Date", "x-amzn-RequestId", "Content-Type", "X-Other", "connection"])
VALUES = st.text("abc:;=, \t-", max_size=20).map(str.strip) | st.sampled_from(["close", "keep-alive"])
BODIES = st.binary(max_size=2000) | st.integers(1, 300).map(lambda size: b"\r\n\r\n" * size * 80)
HEADERS = st.dictionaries(NAMES, VALUES, max_size=4)


class Pieces:
    """A socket on which *text* comes as a server may send it, up to the end of the connection."""

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
    """Return an answer of a *kind* of body, perhaps with others before it."""
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


def taken_by_python(text: bytes) -> tuple[Any, ...]:
    response = HTTPResponse(Pieces(text, []), method="POST")  # type: ignore[arg-type] # it wants makefile alone
    response.begin()
    body = response.read()
    headers = {name.lower(): value.strip() for name, value in response.getheaders()}
    return response.status, headers, body, response.will_close


SIZES = st.lists(st.integers(1, 3000))


@given(texts("length", "end", versions=("1.1", "1.0")) | texts("length", "chunks", "end"), SIZES)
def test_responses_are_those_of_http_client(text: bytes, sizes: list[int]) -> None:
    """Status, headers, body, and whether its connection ends with it."""
    response = receive(Pieces(text, sizes))
    assert (response.status, response.headers, bytes(response.body), response.is_last) == taken_by_python(
        text
    )


@given(texts("length"), SIZES, st.data())
def test_half_an_response_is_none(text: bytes, sizes: list[int], data: st.DataObject) -> None:
    """Where the connection ends before the answer does, there is an error: no body is shorter than it should be."""
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(OSError, match="closed before the response had ended"):
        receive(Pieces(text[:cut], sizes))


@given(texts("chunks"), SIZES, st.data())
def test_half_of_the_chunks_are_no_response(text: bytes, sizes: list[int], data: st.DataObject) -> None:
    """So it is with chunks, of which the last one is empty."""
    cut = data.draw(st.integers(0, len(text) - len(b"0\r\n\r\n")))
    with pytest.raises(OSError, match="closed before the response had ended"):
        receive(Pieces(text[:cut], sizes))


@given(st.binary(max_size=3000), SIZES)
def test_what_is_no_http_is_an_error(text: bytes, sizes: list[int]) -> None:
    """Whatever comes, it is one of the errors that are expected."""
    with pytest.raises((OSError, ValueError)):
        receive(Pieces(text, sizes))


@given(texts("length"), st.binary(min_size=1, max_size=100))
def test_a_connection_with_more_on_it_ends(text: bytes, more: bytes) -> None:
    """What came with an answer would be taken for the next one's; what comes later urllib3 sees."""
    assume(len(text) < 60_000)
    assert receive(Pieces(text + more, [])).is_last
