"""
A record as one line of JSON, which `tail` and `dump` write and `replay` reads. Nothing of the record is lost.

    {"arrived":"2026-01-31T09:00:00.123Z","shardId":"shardId-000000000000","sequenceNumber":"4966...","partitionKey":"c-7","data":{"total":9}}

The payload is in `data`: as the object or array that it is, byte for byte, or as text. Other bytes are in `dataBase64`. A text
in `data` is never JSON of an object or array on one line, so it is known which of them a payload was.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from kinesis_cli.output import show_time

if TYPE_CHECKING:
    from kinesis_core import UserRecord

_PAIRS = {b"{": b"}", b"[": b"]"}


class Line(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """The names and their order are part of the format."""

    arrived: str | None = None
    shard_id: str | None = None
    sequence_number: str | None = None
    sub_sequence_number: int = 0
    partition_key: str | None = None
    explicit_hash_key: str | None = None
    data: msgspec.Raw | str | None = None
    data_base64: bytes | None = None


class ReadLine(Line, gc=False):
    """A line that is read: `data` is JSON, or empty."""

    data: msgspec.Raw = msgspec.Raw()  # a union with Raw cannot be read


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(ReadLine)


class LineError(ValueError):
    """A line is not a record. The message says why, and shows nothing of the line."""


def encode_line(record: UserRecord) -> bytes:
    """Return *record* as a line, without its newline."""
    line = Line(
        arrived=None if record.arrived_ms is None else show_time(record.arrived_ms),
        shard_id=record.shard_id,
        sequence_number=record.sequence_number,
        sub_sequence_number=record.sub_sequence_number,
        partition_key=record.partition_key,
        explicit_hash_key=record.explicit_hash_key,
    )
    _set_payload(line, record.data)
    return _encoder.encode(line)


def _set_payload(line: Line, data: bytes) -> None:
    if is_json_line(data):
        line.data = msgspec.Raw(data)
        return
    try:
        line.data = data.decode()
    except UnicodeDecodeError:
        line.data_base64 = data


def is_json_line(data: bytes) -> bool:
    """Return whether *data* is a JSON object or array without a line break and without space around it."""
    if _PAIRS.get(data[:1]) != data[-1:] or b"\n" in data or b"\r" in data:
        return False
    try:
        data.decode()  # the decoder below does not look into texts
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def decode_line(text: bytes) -> tuple[ReadLine, bytes]:
    """
    Return the record on a line, and its payload.

    Raises:
        LineError: The line is not a record.
    """
    try:
        line = _decoder.decode(text.decode())  # what stays raw is not looked into by the decoder
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LineError("it is not a JSON object with the fields of a record") from None
    return line, _payload(line)


def _payload(line: ReadLine) -> bytes:
    raw = bytes(line.data)
    if bool(raw) == (line.data_base64 is not None):
        raise LineError("it needs either 'data' or 'dataBase64'")
    if line.data_base64 is not None:
        return line.data_base64
    if raw[:1] == b'"':
        return msgspec.json.decode(raw, type=str).encode()
    if raw[:1] in _PAIRS:
        return raw
    raise LineError("'data' must be an object, an array or a text")


def arrived_ms(line: ReadLine) -> int | None:
    """
    Return the arrival time on a line in milliseconds since the epoch.

    Raises:
        LineError: It is not a time.
    """
    if line.arrived is None:
        return None
    try:
        return round(datetime.fromisoformat(line.arrived.replace("Z", "+00:00")).timestamp() * 1000)
    except ValueError:
        raise LineError("'arrived' is not an ISO 8601 time") from None
