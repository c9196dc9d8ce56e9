"""
A Kinesis with one stream, whose responses are made before the first call, so that its own work hardly counts.

It serves DescribeStreamSummary, ListShards, GetShardIterator and GetRecords in JSON and CBOR, without checks and limits. A
call takes it about 50 us, since it has no parser, router or checks.
"""

from __future__ import annotations

import base64
import random
import re
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from email.utils import formatdate
from itertools import accumulate, islice
from typing import Any, Protocol

from kinesis_emulator import cbor
from kinesis_emulator.wire_formats import CBOR, JSON, BodyFormat
from tests.bench.server import Server, TlsFiles, response, serving
from tests.support.aggregates import aggregate

MAX_PAGE_RECORDS, MAX_PAGE_BYTES = 10_000, 10 * 1024 * 1024
KEYS = 50
"""Partition keys in an aggregate."""
_FIRST_NUMBER = 49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
_STEP = 2**80
"""The distance of two neighbours' sequence numbers, as in Kinesis."""
_QUICKEST_S = 0.001
"""The shortest time between two records: a shard takes in at most 1,000 records a second."""
_SETTLED_S = 1.0
"""How long before the server's start the last record arrived, if all records arrived before it."""
_ITERATOR_CHARS = 220
"""The length of Kinesis' iterators."""
_HASH_KEYS = 2**128
_ARRAY, _MAP = 4, 5
"""CBOR's numbers of these types."""
_TARGET = re.compile(rb"\r\nx-amz-target: *Kinesis_20131202\.(\w+)", re.IGNORECASE)
_CBOR = re.compile(rb"\r\ncontent-type: *application/(x-amz-)?cbor", re.IGNORECASE)
_FACTS = b"Date: %b\r\nx-amzn-RequestId: 00000000-0000-0000-0000-000000000000\r\n"
_UNKNOWN = {"__type": "UnknownOperationException", "message": "This action is not canned."}
Json = dict[str, Any]


@dataclass(frozen=True)
class CannedStream:
    """
    A stream whose shards all hold the same random records. Equal settings give equal records.

    Attributes:
        pages: The number of GetRecords responses that a shard fills. The tip comes after them.
        records: The number of records on a page.
        record_bytes: The payload size of a record, or of a user record.
        user_records: The number of user records in each aggregate; 0 for plain records.
        records_per_s: The number of records that arrive in each shard per second from the server's start on; None if all
            records arrived before.

    Raises:
        ValueError: A page exceeds the limits of Kinesis.
    """

    name: str = "orders"
    region: str = "us-east-1"
    shards: int = 1
    pages: int = 1
    records: int = 1000
    record_bytes: int = 1000
    user_records: int = 0
    records_per_s: float | None = None

    def __post_init__(self) -> None:
        page_bytes = self.page_rows * self.record_bytes
        if self.records > MAX_PAGE_RECORDS or page_bytes > MAX_PAGE_BYTES:
            raise ValueError(f"Kinesis returns no page with {self.records} records and {page_bytes} bytes.")

    @property
    def page_rows(self) -> int:
        """The number of rows of one page, where every user record counts."""
        return self.records * max(1, self.user_records)

    @property
    def total_rows(self) -> int:
        """The number of rows of all shards, where every user record counts."""
        return self.shards * self.pages * self.page_rows

    def payloads(self) -> Iterator[bytes]:
        """Yield the payload of each record of a shard: random bytes, plain or in KPL aggregates."""
        chance = random.Random(0)
        for _ in range(self.pages * self.records):
            if self.user_records:
                users = range(self.user_records)
                yield aggregate(
                    (f"user-{i % KEYS}", None, chance.randbytes(self.record_bytes)) for i in users
                )
            else:
                yield chance.randbytes(self.record_bytes)


def canned_kinesis(
    stream: CannedStream, *, latency_s: float = 0.0, tls: TlsFiles | None = None
) -> AbstractContextManager[Server]:
    """Serve *stream*. Each call takes *latency_s*, and more time for its own work."""
    return serving(CannedResponses, stream, latency_s, tls=tls)


class RecordFormat(Protocol):
    """How records and pages are written."""

    between: bytes
    """The bytes between two records."""

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes: ...

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> tuple[bytes, ...]:
        """Return the parts of a body with *count* records, which are written already."""
        ...


class JsonRecords:
    between = b","

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes:
        return (
            b'{"SequenceNumber":"%d","ApproximateArrivalTimestamp":%.3f,"Data":"%b","PartitionKey":"%b"}'
        ) % (number, arrived_s, base64.b64encode(data), key.encode())

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> tuple[bytes, ...]:  # noqa: ARG002 - JSON has no lengths
        tail = b'],"NextShardIterator":"%b","MillisBehindLatest":%d}' % (iterator.encode(), behind_ms)
        return b'{"Records":[', records, tail


class CborRecords:
    """With definite lengths."""

    between = b""

    def record(self, number: int, arrived_s: float, data: bytes, key: str) -> bytes:
        arrived = cbor.Time(round(arrived_s * 1000))
        return cbor.encode(
            {
                "SequenceNumber": str(number),
                "ApproximateArrivalTimestamp": arrived,
                "Data": data,
                "PartitionKey": key,
            }
        )

    def page(self, records: bytes, count: int, iterator: str, behind_ms: int) -> tuple[bytes, ...]:
        head = cbor.encode_head(_MAP, 3), cbor.encode("Records"), cbor.encode_head(_ARRAY, count)
        tail = cbor.encode({"NextShardIterator": iterator, "MillisBehindLatest": behind_ms})
        return *head, records, tail[1:]


def number_at(index: int) -> int:
    return _FIRST_NUMBER + index * _STEP


def _index_of(number: int) -> int:
    """Return the index of the first record with *number* or a higher one."""
    return max(0, -((_FIRST_NUMBER - number) // _STEP))


class ShardLog:
    """The records of a shard by index from 0, written once. All shards of a stream share one log."""

    def __init__(self, stream: CannedStream, started_s: float, written: RecordFormat) -> None:
        self.written = written
        self._total = stream.pages * stream.records
        self._page_records = stream.records
        self._is_live = stream.records_per_s is not None
        self._step_s = 1 / stream.records_per_s if stream.records_per_s else _QUICKEST_S
        self._first_s = started_s if self._is_live else started_s - _SETTLED_S - self._total * self._step_s
        self._pages: list[bytes] = []
        self._ends: list[list[int]] = []
        payloads = enumerate(stream.payloads())
        for _ in range(stream.pages):
            records = [
                written.record(number_at(i), self._arrived_s(i), payload, f"user-{i % 997}")
                for i, payload in islice(payloads, stream.records)
            ]
            sizes = (len(record) + len(written.between) for record in records)
            self._pages.append(written.between.join(records))
            self._ends.append(list(accumulate(sizes, initial=0)))

    def _arrived_s(self, index: int) -> float:
        return round(self._first_s + index * self._step_s, 3)

    def index_at_time(self, time_s: float) -> int:
        """Return the index of the first record that arrived at *time_s* or later."""
        return bisect_left(range(self._total), time_s, key=self._arrived_s)

    def tip(self, now_s: float) -> int:
        """Return how many records have arrived by now."""
        return self.index_at_time(now_s) if self._is_live else self._total

    def read(self, index: int, limit: int, now_s: float) -> tuple[bytes, int, int]:
        """
        Return the records from *index* on, the index after them, and the milliseconds behind the tip.

        The records are at most those of one page, so that a whole page is sent without copying records.
        """
        tip = self.tip(now_s)
        if index >= tip:
            return b"", index, 0
        page, first = divmod(index, self._page_records)
        last = min(first + limit, self._page_records, first + tip - index)
        reached = index + last - first
        behind_ms = 0 if reached >= tip else max(1, round((now_s - self._arrived_s(reached)) * 1000))
        ends = self._ends[page]
        return self._pages[page][ends[first] : ends[last] - len(self.written.between)], reached, behind_ms


class CannedResponses:
    """
    Responses by action.

    The constructor writes the records in JSON. The first call in CBOR writes them in CBOR; a reader's first call is one for an iterator.
    """

    def __init__(
        self, stream: CannedStream, latency_s: float = 0.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._stream = stream
        self._latency_s = latency_s
        self._clock = clock
        self._started_s = clock()
        self._log = ShardLog(stream, self._started_s, JsonRecords())
        self._cbor: ShardLog | None = None
        self._cbor_lock = threading.Lock()
        self._shards = [self._describe_shard(index) for index in range(stream.shards)]
        self.calls: Counter[str] = Counter()
        """How often each action was called. Approximate, because threads count without a lock."""
        self._responses: dict[str, Callable[[Json], Json]] = {
            "GetShardIterator": self._get_shard_iterator,
            "ListShards": self._list_shards,
            "DescribeStreamSummary": self._describe_stream_summary,
        }

    def respond(self, head: bytes, body: bytes) -> tuple[bytes, ...]:
        target = _TARGET.search(head)
        wire_format = CBOR if _CBOR.search(head) else JSON
        found = self.body(target[1].decode(), body, wire_format) if target else None
        if self._latency_s:
            time.sleep(self._latency_s)
        facts = _FACTS % formatdate(usegmt=True).encode()
        if found is None:
            status, body = response(
                wire_format.encode(_UNKNOWN), content_type=wire_format.content_type, more=facts
            )
            return status.replace(b"200 OK", b"400 Bad Request", 1), body
        return response(*found, content_type=wire_format.content_type, more=facts)

    def body(self, action: str, request: bytes, wire_format: BodyFormat = JSON) -> tuple[bytes, ...] | None:
        """Return the parts of the body of a response, in the format of the request; None for an action that is not canned."""
        self.calls[action] += 1
        params = wire_format.decode(request)
        log = self._log if wire_format is JSON else self._in_cbor()
        if action == "GetRecords":
            return self._get_records(params, log)
        respond = self._responses.get(action)
        return None if respond is None else (wire_format.encode(respond(params)),)

    def _in_cbor(self) -> ShardLog:
        with self._cbor_lock:
            if self._cbor is None:
                self._cbor = ShardLog(self._stream, self._started_s, CborRecords())
            return self._cbor

    def _get_records(self, request: Json, log: ShardLog) -> tuple[bytes, ...]:
        shard, first, _ = request["ShardIterator"].split(".", 2)
        limit = request.get("Limit", MAX_PAGE_RECORDS)
        records, reached, behind_ms = log.read(int(first), limit, self._clock())
        return log.written.page(records, reached - int(first), _iterator(shard, reached), behind_ms)

    def _get_shard_iterator(self, request: Json) -> Json:
        shard = str(int(request["ShardId"].removeprefix("shardId-")))
        return {"ShardIterator": _iterator(shard, self._start_index(request))}

    def _start_index(self, request: Json) -> int:
        match request["ShardIteratorType"]:
            case "TRIM_HORIZON":
                return 0
            case "AT_TIMESTAMP":
                given = request["Timestamp"]
                return self._log.index_at_time(
                    given.epoch_ms / 1000 if isinstance(given, cbor.Time) else given
                )
            case "AT_SEQUENCE_NUMBER":
                return _index_of(int(request["StartingSequenceNumber"]))
            case "AFTER_SEQUENCE_NUMBER":
                return _index_of(int(request["StartingSequenceNumber"]) + 1)
            case _:
                return self._log.tip(self._clock())

    def _list_shards(self, request: Json) -> Json:
        first = int(request.get("NextToken", 0))
        stop = first + request.get("MaxResults", 1000)
        more = {"NextToken": str(stop)} if stop < len(self._shards) else {}
        return {"Shards": self._shards[first:stop], **more}

    def _describe_shard(self, index: int) -> Json:
        start, end = (i * _HASH_KEYS // self._stream.shards for i in (index, index + 1))
        return {
            "ShardId": f"shardId-{index:012}",
            "HashKeyRange": {"StartingHashKey": str(start), "EndingHashKey": str(end - 1)},
            "SequenceNumberRange": {"StartingSequenceNumber": str(number_at(0))},
        }

    def _describe_stream_summary(self, _: Json) -> Json:
        stream = self._stream
        summary = {
            "StreamName": stream.name,
            "StreamARN": f"arn:aws:kinesis:{stream.region}:123456789012:stream/{stream.name}",
            "StreamStatus": "ACTIVE",
            "StreamModeDetails": {"StreamMode": "PROVISIONED"},
            "RetentionPeriodHours": 24,
            "StreamCreationTimestamp": cbor.Time((round(self._started_s) - 86400) * 1000),
            "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
            "OpenShardCount": stream.shards,
            "ConsumerCount": 0,
        }
        return {"StreamDescriptionSummary": summary}


def _iterator(shard: str, index: int) -> str:
    return f"{shard}.{index}.".ljust(_ITERATOR_CHARS, "A")
