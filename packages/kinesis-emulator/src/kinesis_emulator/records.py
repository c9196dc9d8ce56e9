"""The records of a shard in memory, and how each is written in responses: in JSON and in CBOR."""

from __future__ import annotations

import binascii
import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from json.encoder import encode_basestring_ascii

from kinesis_emulator import cbor
from kinesis_emulator.wire_formats import WireFormat


def record_in_json(
    number: str,
    arrived_ms: int,
    data_base64: str,
    partition_key: str | None,
    encryption: str = "NONE",
    omit: Collection[str] = (),
) -> bytes:
    """Return a record as in a GetRecords response, without its members in *omit*."""
    parts = [f'{{"SequenceNumber":"{number}"']
    if "ApproximateArrivalTimestamp" not in omit:
        parts.append(f'"ApproximateArrivalTimestamp":{arrived_ms // 1000}.{arrived_ms % 1000:03d}')
    parts.append(f'"Data":"{data_base64}"')
    if partition_key is not None and "PartitionKey" not in omit:
        parts.append(f'"PartitionKey":{encode_basestring_ascii(partition_key)}')
    if encryption != "NONE":
        parts.append(f'"EncryptionType":"{encryption}"')
    return (",".join(parts) + "}").encode("ascii")


def record_in_cbor(in_json: bytes) -> bytes:
    """Return the record that `record_in_json` has written in CBOR."""
    record = json.loads(in_json)
    record["Data"] = binascii.a2b_base64(record["Data"])
    arrived_s = record.get("ApproximateArrivalTimestamp")
    if arrived_s is not None:
        record["ApproximateArrivalTimestamp"] = cbor.Time(round(arrived_s * 1000))
    return cbor.encode(record)


class RecordLog:
    """
    The records of a shard as they are in GetRecords' responses, by index from 0. A freed record's index is not used again.

    Each is kept in JSON, and also in CBOR once it was read so: a read only joins them, and each is encoded once.
    Each record has two more values: the highest arrival time up to it, which never decreases and so allows bisection, and
    the data bytes up to and including it. Nothing is kept of a freed record.
    """

    def __init__(self) -> None:
        self.first = 0
        """The index of the oldest record that was not freed."""
        self._fragments: list[bytes] = []
        self._in_cbor: list[bytes | None] = []
        self._peaks: list[int] = []
        self._ends: list[int] = []
        self._last_peak = 0
        self._last_end = 0
        self._freed_bytes = 0

    @property
    def end(self) -> int:
        """The index of the next record."""
        return self.first + len(self._fragments)

    def append(self, fragment: bytes, size: int, arrived_ms: int) -> None:
        self._last_peak = max(arrived_ms, self._last_peak)
        self._last_end += size
        self._fragments.append(fragment)
        self._in_cbor.append(None)
        self._peaks.append(self._last_peak)
        self._ends.append(self._last_end)

    def free(self, index: int) -> None:
        """Free the records before *index*."""
        count = min(index, self.end) - self.first
        if count > 0:
            self._freed_bytes = self._ends[count - 1]
            del self._fragments[:count], self._in_cbor[:count], self._peaks[:count], self._ends[:count]
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
        in_json = self._fragments[asked]
        if wire_format == "json":
            return in_json
        known = self._in_cbor[asked]
        in_cbor = [known[i] or record_in_cbor(in_json[i]) for i in range(len(in_json))]
        self._in_cbor[asked] = in_cbor
        return in_cbor

    def fragment(self, index: int) -> bytes | None:
        """Return the record at *index*, or None if it was freed."""
        return self._fragments[index - self.first] if index >= self.first else None

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
