"""
Frames of `application/vnd.amazon.eventstream`, cut out of whatever pieces the network brings.

A frame is its own length and that of its headers (4 bytes each), a checksum of these 8 bytes, the headers, the payload,
and a checksum of all before it. botocore opens the headers; its own buffer would copy an event of 10 MiB 160 times as it
comes, and four times to open it.

Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen
from botocore.eventstream import EventStreamHeaderParser, ParserError

from kinesis_core.errors import MalformedResponseError

_LENGTH_BYTES, _PRELUDE_BYTES, _CRC_BYTES = 4, 12, 4
_SHORTEST, _LONGEST = _PRELUDE_BYTES + _CRC_BYTES, 32 * 1024 * 1024
"""An event holds up to 10 MiB of data, a third more as base64."""


@frozen
class Frame:
    """One message: an event, or what ends them."""

    headers: dict[str, Any]
    payload: memoryview
    """Bytes that are decoded where they came in."""


def read_frames(pieces: Iterable[bytes]) -> Iterator[Frame]:
    """
    Yield the frames that *pieces* make up together. What is left of one at the end is dropped.

    Raises:
        MalformedResponseError: A length or a checksum is wrong.
    """
    for data in _cut(pieces):
        yield _open(data)


def _cut(pieces: Iterable[bytes]) -> Iterator[memoryview]:
    held: list[bytes] = []
    size, wanted = 0, _LENGTH_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= wanted:
            data, start = memoryview(b"".join(held)), 0
            while (wanted := _length(data, start)) <= size - start:
                yield data[start : start + wanted]
                start += wanted
            held, size = [bytes(data[start:])], size - start


def _length(data: memoryview, start: int) -> int:
    """Return how many bytes from *start* on are needed: a frame, or what says how long it is."""
    if len(data) - start < _LENGTH_BYTES:
        return _LENGTH_BYTES
    length = int.from_bytes(data[start : start + _LENGTH_BYTES], "big")
    if not _SHORTEST <= length <= _LONGEST:
        raise _malformed(f"a frame says it has {length} bytes")
    return length


def _open(data: memoryview) -> Frame:
    _, headers_bytes, checksum = struct.unpack_from("!III", data)
    behind_headers, end = _PRELUDE_BYTES + headers_bytes, len(data) - _CRC_BYTES
    if zlib.crc32(data[:8]) != checksum or zlib.crc32(data[:end]) != int.from_bytes(data[end:], "big"):
        raise _malformed("a checksum is wrong")
    if behind_headers > end:
        raise _malformed(f"a frame says it has {headers_bytes} bytes of headers")
    try:
        headers = EventStreamHeaderParser().parse(bytes(data[_PRELUDE_BYTES:behind_headers]))
    except (ParserError, struct.error, KeyError, ValueError) as error:
        raise _malformed(str(error) or type(error).__name__) from error
    return Frame(headers, data[behind_headers:end])


def _malformed(reason: str) -> MalformedResponseError:
    return MalformedResponseError(
        f"SubscribeToShard sent what is not an event stream: {reason}. The subscription is made again.",
        code="MalformedResponse",
    )
