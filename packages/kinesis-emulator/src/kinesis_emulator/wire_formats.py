"""The formats of bodies, JSON and CBOR, and the frames of events."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kinesis_emulator import cbor
from kinesis_emulator.errors import AwsError

EVENTS = "application/vnd.amazon.eventstream"
_PRELUDE_BYTES, _CRC_BYTES = 12, 4
_TEXT = 7
WireFormat = Literal["json", "cbor"]
"""The format of the bodies of a request and of its response."""
Payload = str | bytes
"""A payload in parameters: base64 of a call in JSON, bytes of a call in CBOR."""


@dataclass(frozen=True)
class BodyFormat:
    """A format of bodies. Requests and responses of a call have the same one."""

    name: WireFormat
    content_type: str
    event_type: str
    """The content type of an event of SubscribeToShard."""
    encode: Callable[[dict[str, Any]], bytes]
    """Returns the body of a response. Its times are of the type `Time`."""
    page: Callable[[Sequence[bytes], dict[str, Any]], bytes]
    """Returns the body with `Records`, which are encoded before, and the other members."""
    _decode: Callable[[bytes], Any]

    def decode(self, body: bytes) -> dict[str, Any]:
        """
        Return the parameters of a request. In CBOR a payload is bytes and a time is a `Time`; in JSON they are a text and a number.

        Raises:
            AwsError: SerializationException, if the body is malformed.
        """
        try:
            params = self._decode(body)
        except (ValueError, RecursionError) as error:
            raise AwsError("SerializationException", f"The body is malformed: {error}.") from error
        if not isinstance(params, dict):
            raise AwsError("SerializationException", "The body is not an object.")
        return params


def find_format(content_type: str) -> BodyFormat:
    """Return the format of a request with *content_type*."""
    return CBOR if "cbor" in content_type.lower() else JSON


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_seconds).encode()


def _seconds(time: cbor.Time) -> float:
    return time.epoch_ms / 1000


def _json_page(records: Sequence[bytes], tail: dict[str, Any]) -> bytes:
    # A page can have 14 MB, and to copy it once more takes longer than all the rest. So what is around the records joins them.
    parts = [*records] or [b""]
    parts[0] = b'{"Records":[' + parts[0]
    parts[-1] += b"]," + _json(tail)[1:]
    return b",".join(parts)


def _cbor_page(records: Sequence[bytes], tail: dict[str, Any]) -> bytes:
    head = (
        cbor.encode_head(cbor.MAP, 1 + len(tail)),
        cbor.encode("Records"),
        cbor.encode_head(cbor.ARRAY, len(records)),
    )
    return b"".join((*head, *records, cbor.encode(tail)[1:]))


# The event type of JSON is the content type of the message, not "application/x-amz-json-1.1" as for the call. AWS's code generator
# for the protocol (smithy-rs, awsJson) and kinesis-local use it; botocore reads neither.
JSON = BodyFormat("json", "application/x-amz-json-1.1", "application/json", _json, _json_page, json.loads)
CBOR = BodyFormat(
    "cbor", "application/x-amz-cbor-1.1", "application/x-amz-cbor-1.1", cbor.encode, _cbor_page, cbor.decode
)
FORMATS = {found.name: found for found in (JSON, CBOR)}


def encode_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """
    Return one frame of `application/vnd.amazon.eventstream`, with text headers.

    A frame consists of: its length and the length of its headers (4 bytes each), the CRC of these 8 bytes, the headers, the
    payload, and the CRC of everything before. A header consists of: the length of its name (1 byte), the name, the type 7
    (text), the length of its value (2 bytes), and the value.

    Source: https://smithy.io/2.0/aws/amazon-eventstream.html
    """
    encoded = b"".join(_encode_header(name, value) for name, value in headers.items())
    size = _PRELUDE_BYTES + len(encoded) + len(payload) + _CRC_BYTES
    lengths = struct.pack("!II", size, len(encoded))
    prelude = lengths + struct.pack("!I", zlib.crc32(lengths))
    checksum = zlib.crc32(payload, zlib.crc32(prelude + encoded))
    return b"".join((prelude, encoded, payload, struct.pack("!I", checksum)))


def _encode_header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode(), value.encode()
    return struct.pack(f"!B{len(raw_name)}sBH", len(raw_name), raw_name, _TEXT, len(raw_value)) + raw_value


def event_frame(event_type: str, payload: bytes, wire_format: BodyFormat = JSON) -> bytes:
    """
    Return the frame of an event, whose *payload* is in *wire_format*.

    boto3 requires an event of the type `initial-response` before all others.
    """
    headers = {":event-type": event_type, ":content-type": wire_format.event_type, ":message-type": "event"}
    return encode_frame(headers, payload)


def exception_frame(code: str, message: str, wire_format: BodyFormat = JSON) -> bytes:
    """Return the frame of an error that ends the event stream."""
    headers = {":exception-type": code, ":content-type": wire_format.event_type, ":message-type": "exception"}
    return encode_frame(headers, wire_format.encode({"message": message}))
