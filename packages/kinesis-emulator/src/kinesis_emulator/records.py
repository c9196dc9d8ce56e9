"""The records of a shard in memory, and how each is written in responses: in JSON and in CBOR."""

from __future__ import annotations

import binascii
import json
from bisect import bisect_left, bisect_right
from json.encoder import encode_basestring_ascii
from typing import Any, cast

from kinesis_emulator import cbor
from kinesis_emulator.wire_formats import Payload, WireFormat

_NUMBER, _ARRIVED, _DATA, _KEY, _ENCRYPTION = map(
    cbor.encode_text,
    ("SequenceNumber", "ApproximateArrivalTimestamp", "Data", "PartitionKey", "EncryptionType"),
)
"""The names of the members in CBOR."""
WrittenRecord = tuple[WireFormat, bytes]
"""A record as it is in a GetRecords response in one format."""


def write_record(
    number: str,
    arrived_ms: int | None,
    data: Payload,
    partition_key: str | None = None,
    encryption: str = "NONE",
) -> WrittenRecord:
    """Return a record in the format of its payload, without the members that are None."""
    if isinstance(data, bytes):
        return "cbor", _in_cbor(number, arrived_ms, data, partition_key, encryption)
    return "json", _in_json(number, arrived_ms, data, partition_key, encryption)


def _in_json(
    number: str,
    arrived_ms: int | None,
    data_base64: str,
    partition_key: str | None,
    encryption: str,
) -> bytes:
    arrived = (
        ""
        if arrived_ms is None
        else f'"ApproximateArrivalTimestamp":{arrived_ms // 1000}.{arrived_ms % 1000:03d},'
    )
    key = "" if partition_key is None else f',"PartitionKey":{encode_basestring_ascii(partition_key)}'
    encrypted = "" if encryption == "NONE" else f',"EncryptionType":"{encryption}"'
    return f'{{"SequenceNumber":"{number}",{arrived}"Data":"{data_base64}"{key}{encrypted}}}'.encode("ascii")


def _in_cbor(
    number: str,
    arrived_ms: int | None,
    data: bytes,
    partition_key: str | None,
    encryption: str,
) -> bytes:
    members = [_NUMBER + cbor.encode_text(number)]
    if arrived_ms is not None:
        members.append(_ARRIVED + cbor.encode_time(arrived_ms))
    members.append(_DATA + cbor.encode_head(cbor.BYTES, len(data)) + data)
    if partition_key is not None:
        members.append(_KEY + cbor.encode_text(partition_key))
    if encryption != "NONE":
        members.append(_ENCRYPTION + cbor.encode_text(encryption))
    return cbor.encode_head(cbor.MAP, len(members)) + b"".join(members)


def _json_to_cbor(in_json: bytes) -> bytes:
    record = json.loads(in_json)
    arrived_s = record.get("ApproximateArrivalTimestamp")
    arrived_ms = None if arrived_s is None else round(arrived_s * 1000)
    return _in_cbor(
        record["SequenceNumber"], arrived_ms, binascii.a2b_base64(record["Data"]), *_rest_of(record)
    )


def _cbor_to_json(in_cbor: bytes) -> bytes:
    record = cbor.decode(in_cbor)
    arrived = record.get("ApproximateArrivalTimestamp")
    arrived_ms = None if arrived is None else arrived.epoch_ms
    return _in_json(record["SequenceNumber"], arrived_ms, to_base64(record["Data"]), *_rest_of(record))


def _rest_of(record: dict[str, Any]) -> tuple[str | None, str]:
    return record.get("PartitionKey"), record.get("EncryptionType", "NONE")


def to_base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


class RecordLog:
    """
    The records of a shard as they are in GetRecords' responses, by index from 0. A freed record's index is not used again.

    Each is kept in the format in which it was put. The first read in the other format makes that one, and it is kept too. So
    all later reads only join them. Each record has two more values: the highest arrival time up to it, which never decreases
    and so allows bisection, and the data bytes up to and including it. Nothing is kept of a freed record.
    """

    def __init__(self) -> None:
        self.first = 0
        """The index of the oldest record that was not freed."""
        self._in_json: list[bytes | None] = []
        self._in_cbor: list[bytes | None] = []
        self._peaks: list[int] = []
        self._ends: list[int] = []
        self._last_peak = 0
        self._last_end = 0
        self._freed_bytes = 0

    @property
    def end(self) -> int:
        """The index of the next record."""
        return self.first + len(self._ends)

    def append(self, record: WrittenRecord, size: int, arrived_ms: int) -> None:
        wire_format, fragment = record
        self._last_peak = max(arrived_ms, self._last_peak)
        self._last_end += size
        self._in_json.append(fragment if wire_format == "json" else None)
        self._in_cbor.append(fragment if wire_format == "cbor" else None)
        self._peaks.append(self._last_peak)
        self._ends.append(self._last_end)

    def free(self, index: int) -> None:
        """Free the records before *index*."""
        count = min(index, self.end) - self.first
        if count > 0:
            self._freed_bytes = self._ends[count - 1]
            del self._in_json[:count], self._in_cbor[:count], self._peaks[:count], self._ends[:count]
            self.first += count

    def start_at(self, index: int, peak_ms: int) -> None:
        """Begin at *index*, as if earlier records with arrival times up to *peak_ms* were freed."""
        self.first, self._last_peak = index, peak_ms

    @property
    def freed_peak_ms(self) -> int:
        """The highest arrival time of the freed records, or as an approximation that of the oldest record left."""
        return self._peaks[0] if self._peaks else self._last_peak

    def fragments(self, start: int, stop: int, wire_format: WireFormat = "json") -> list[bytes]:
        """Return the records from index *start* up to *stop* (exclusive). None of them may be freed."""
        asked = slice(start - self.first, stop - self.first)
        convert = _json_to_cbor if wire_format == "cbor" else _cbor_to_json
        kept, others = self._in_json, self._in_cbor
        if wire_format == "cbor":
            kept, others = others, kept
        if not all(kept[asked]):
            kept[asked] = [
                one or convert(cast(bytes, other))
                for one, other in zip(kept[asked], others[asked], strict=True)
            ]
        return cast(list[bytes], kept[asked])

    def fragment(self, index: int) -> bytes | None:
        """Return the record at *index*, in JSON, or None if it was freed."""
        return self.fragments(index, index + 1)[0] if index >= self.first else None

    def peak_ms(self, index: int) -> int:
        """Return the highest arrival time up to the record at *index*; 0 if it was freed."""
        return self._peaks[index - self.first] if index >= self.first else 0

    def index_at_time(self, time_ms: int) -> int:
        """Return the index of the first record that arrived at or after *time_ms*."""
        return self.first + bisect_left(self._peaks, time_ms)

    def index_after_bytes(self, index: int, max_bytes: int) -> int:
        """Return the end of a page from *index* with at most *max_bytes*, and at least one record."""
        offset = index - self.first
        fitting = bisect_right(self._ends, self._bytes_before(index) + max_bytes, lo=offset)
        return self.first + max(offset + 1, fitting)

    def data_bytes(self, start: int, stop: int) -> int:
        """Return the data bytes of the records from index *start* up to *stop* (exclusive). None of them may be freed."""
        return self._bytes_before(stop) - self._bytes_before(start) if stop > start else 0

    def _bytes_before(self, index: int) -> int:
        return self._ends[index - self.first - 1] if index > self.first else self._freed_bytes
