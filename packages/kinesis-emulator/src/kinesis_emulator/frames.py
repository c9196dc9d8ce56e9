"""
Frames of `application/vnd.amazon.eventstream`: prelude, headers, payload and checksums.

A frame consists of: its length and the length of its headers (4 bytes each), the CRC of these 8 bytes, the headers, the
payload, and the CRC of everything before. A header consists of: the length of its name (1 byte), the name, the type 7
(text), the length of its value (2 bytes), and the value.

Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping

from kinesis_emulator.wire_formats import JSON, WireFormat

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_PRELUDE_BYTES, _CRC_BYTES = 12, 4
_TEXT = 7


def encode_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one frame with text headers."""
    encoded = b"".join(_encode_header(name, value) for name, value in headers.items())
    size = _PRELUDE_BYTES + len(encoded) + len(payload) + _CRC_BYTES
    lengths = struct.pack("!II", size, len(encoded))
    prelude = lengths + struct.pack("!I", zlib.crc32(lengths))
    checksum = zlib.crc32(payload, zlib.crc32(prelude + encoded))
    return b"".join((prelude, encoded, payload, struct.pack("!I", checksum)))


def _encode_header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode(), value.encode()
    return struct.pack(f"!B{len(raw_name)}sBH", len(raw_name), raw_name, _TEXT, len(raw_value)) + raw_value


def event_frame(event_type: str, payload: bytes, wire_format: WireFormat = JSON) -> bytes:
    """
    Return the frame of an event, whose *payload* is JSON, in *wire_format*.

    boto3 requires an event of the type `initial-response` before all others.
    """
    headers = {":event-type": event_type, ":content-type": wire_format.event_type, ":message-type": "event"}
    return encode_frame(headers, wire_format.encode(payload))


def exception_frame(code: str, message: str, wire_format: WireFormat = JSON) -> bytes:
    """Return the frame of an error that ends the event stream."""
    headers = {":exception-type": code, ":content-type": wire_format.event_type, ":message-type": "exception"}
    return encode_frame(headers, wire_format.encode(json.dumps({"message": message}).encode()))
