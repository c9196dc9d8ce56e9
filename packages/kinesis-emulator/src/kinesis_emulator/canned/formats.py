"""How records and pages are written in JSON and in CBOR."""

from __future__ import annotations

import base64
from typing import Protocol

from kinesis_emulator import cbor


class RecordFormat(Protocol):
    """A format of GetRecords' responses."""

    between: bytes
    """The bytes between two records."""

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes: ...

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> bytes:
        """Return a response with *count* records, which are written already."""
        ...


class JsonRecords:
    """JSON."""

    between = b","

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes:
        return (
            b'{"SequenceNumber":"%d","ApproximateArrivalTimestamp":%.3f,"Data":"%b","PartitionKey":"%b"}'
            % (
                number,
                arrived_s,
                base64.b64encode(data),
                key.encode(),
            )
        )

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> bytes:  # noqa: ARG002 # JSON has no lengths
        return b'{"Records":[%b],"NextShardIterator":"%b","MillisBehindLatest":%d}' % (
            records,
            iterator.encode(),
            behind_ms,
        )


class CborRecords:
    """CBOR with definite lengths."""

    between = b""

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes:
        return cbor.encode(
            {
                "SequenceNumber": str(number),
                "ApproximateArrivalTimestamp": cbor.Time(round(arrived_s * 1000)),
                "Data": data,
                "PartitionKey": key,
            }
        )

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> bytes:
        tail = cbor.encode(iterator), cbor.encode("MillisBehindLatest"), cbor.encode(behind_ms)
        head = cbor.map_head(3), cbor.encode("Records"), cbor.array_head(count)
        return b"".join((*head, records, cbor.encode("NextShardIterator"), *tail))
