"""
Reads frames of `application/vnd.amazon.eventstream` from the pieces that come over the network.

A frame holds its length and the length of its headers (4 bytes each), a checksum of these 8 bytes, the headers, the payload,
and a checksum of everything before. botocore parses the headers. Its own buffer is not used: it copies an event of
10 MiB 160 times while it arrives, and four times more to parse it.

Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen
from botocore.eventstream import EventStreamHeaderParser, ParserError

from kinesis_core.budget import reserve

_LENGTH_BYTES, _PRELUDE_BYTES, _CRC_BYTES = 4, 12, 4
_SHORTEST, _LONGEST = _PRELUDE_BYTES + _CRC_BYTES, 32 * 1024 * 1024
"""An event holds up to 10 MiB of data, a third more as base64."""


@frozen
class Frame:
    """One message: an event, or the error that ends the stream."""

    headers: dict[str, Any]
    received: bytes
    """The bytes that were received: one or more frames, decoded without a copy."""
    start: int
    """Where the payload starts in them. It stops before *stop*."""
    stop: int

    @property
    def payload(self) -> memoryview:
        return memoryview(self.received)[self.start : self.stop]


def read_frames(pieces: Iterable[bytes]) -> Iterator[Frame]:
    """
    Yield the frames in *pieces*. An incomplete frame at the end is dropped.

    Raises:
        ValueError: A length or a checksum is wrong.
    """
    for received, start, stop in _cut(pieces):
        yield _open(received, start, stop)


def _cut(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, int, int]]:
    held: list[bytes] = []
    size, wanted = 0, _LENGTH_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= wanted:
            data, start = b"".join(held), 0
            while (wanted := _length(data, start)) <= size - start:
                yield data, start, start + wanted
                start += wanted
            held, size = [data[start:]], size - start
            if wanted > _LENGTH_BYTES:
                reserve(wanted)  # a subscription waits as long as its reader: no call to give up


def _length(data: bytes, start: int) -> int:
    """Return how many bytes from *start* on are needed: a whole frame, or its length field."""
    if len(data) - start < _LENGTH_BYTES:
        return _LENGTH_BYTES
    length = int.from_bytes(data[start : start + _LENGTH_BYTES], "big")
    if not _SHORTEST <= length <= _LONGEST:
        raise ValueError(f"a frame has a length of {length} bytes")
    return length


def _open(received: bytes, start: int, stop: int) -> Frame:
    data = memoryview(received)[start:stop]
    _, headers_bytes, checksum = struct.unpack_from("!III", data)
    after_headers, end = _PRELUDE_BYTES + headers_bytes, len(data) - _CRC_BYTES
    if zlib.crc32(data[:8]) != checksum or zlib.crc32(data[:end]) != int.from_bytes(data[end:], "big"):
        raise ValueError("a checksum is wrong")
    if after_headers > end:
        raise ValueError(f"a frame has a header length of {headers_bytes} bytes")
    try:
        headers = EventStreamHeaderParser().parse(bytes(data[_PRELUDE_BYTES:after_headers]))
    except (ParserError, struct.error) as error:
        raise ValueError(str(error)) from error
    return Frame(headers, received, start + after_headers, start + end)
