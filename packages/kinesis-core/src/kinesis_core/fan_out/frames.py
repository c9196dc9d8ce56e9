"""
Frames of `application/vnd.amazon.eventstream`, cut out of whatever pieces the network brings.

botocore checks and opens each; cutting is done here since its own buffer copies all that it holds with each piece,
160 times for one event of 10 MiB.

Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen
from botocore.eventstream import EventStreamBuffer, ParserError

from kinesis_core.errors import MalformedAnswerError

_LENGTH_BYTES = 4
_SHORTEST, _LONGEST = 16, 32 * 1024 * 1024
"""An event holds up to 10 MiB of data, a third more as base64."""


@frozen
class Frame:
    """One message: an event, or what ends them."""

    headers: dict[str, Any]
    payload: bytes


def read_frames(pieces: Iterable[bytes]) -> Iterator[Frame]:
    """
    Yield the frames that *pieces* make up together. What is left of one at the end is dropped.

    Raises:
        MalformedAnswerError: A length or a checksum is wrong.
    """
    for data in _cut(pieces):
        yield _open(data)


def _open(data: bytes) -> Frame:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    try:
        message: Any = buffer.next()
    except (ParserError, struct.error, KeyError, ValueError) as error:
        raise _malformed(str(error) or type(error).__name__) from error
    return Frame(message.headers, message.payload)


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size, wanted = 0, _LENGTH_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        while size >= wanted:
            data = b"".join(held)
            wanted = _length(data)
            if size >= wanted:
                yield data[:wanted]
                data, size, wanted = data[wanted:], size - wanted, _LENGTH_BYTES
            held = [data]


def _length(data: bytes) -> int:
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    if not _SHORTEST <= length <= _LONGEST:
        raise _malformed(f"a frame says it has {length} bytes")
    return length


def _malformed(reason: str) -> MalformedAnswerError:
    return MalformedAnswerError(
        f"SubscribeToShard sent what is not an event stream: {reason}. The subscription is made again.",
        code="MalformedAnswer",
    )
