"""The responses of a canned stream to the calls of a reader."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from kinesis_emulator.canned.formats import CborRecords, JsonRecords, RecordFormat
from kinesis_emulator.canned.shard_log import ShardLog, index_of, number_at
from kinesis_emulator.canned.stream import MAX_PAGE_RECORDS, CannedStream
from kinesis_emulator.wire_formats import JSON, WireFormat

_ITERATOR_CHARS = 220
"""The length of Kinesis' iterators."""
_HASH_KEYS = 2**128
_DEFAULT_LISTED = 1000

Json = dict[str, Any]


class Responses:
    """
    Bodies of successful responses by action.

    The constructor makes the records in JSON. The first call in CBOR makes them in CBOR; a reader's first call is one for an iterator.
    """

    def __init__(self, stream: CannedStream, clock: Callable[[], float] = time.time) -> None:
        self._stream = stream
        self._clock = clock
        self._started_s = clock()
        self._json = JsonRecords()
        self._log = ShardLog(stream, self._started_s, self._json)
        self._cbor: tuple[ShardLog, RecordFormat] | None = None
        self._cbor_lock = threading.Lock()
        self._shards = [self._describe_shard(index) for index in range(stream.shards)]
        self.calls: Counter[str] = Counter()
        """How often each action was called. Approximate, because threads count without a lock."""
        self._responses: dict[str, Callable[[Json], bytes]] = {
            "GetShardIterator": self._get_shard_iterator,
            "ListShards": self._list_shards,
            "DescribeStreamSummary": self._describe_stream_summary,
        }

    def response(self, action: str, request: bytes, wire_format: WireFormat = JSON) -> bytes | None:
        """Return the body of the response, in the format of the request; None for an action that is not canned."""
        self.calls[action] += 1
        params = wire_format.decode(request)
        log, written = (self._log, self._json) if wire_format is JSON else self._in_cbor()
        if action == "GetRecords":
            return self._get_records(params, log, written)
        response = self._responses.get(action)
        return None if response is None else wire_format.encode(response(params))

    def _in_cbor(self) -> tuple[ShardLog, RecordFormat]:
        with self._cbor_lock:
            if self._cbor is None:
                written = CborRecords()
                self._cbor = ShardLog(self._stream, self._started_s, written), written
            return self._cbor

    def _get_records(self, request: Json, log: ShardLog, written: RecordFormat) -> bytes:
        shard, first, _ = request["ShardIterator"].split(".", 2)
        records, reached, behind_ms = log.read(
            int(first), request.get("Limit", MAX_PAGE_RECORDS), self._clock()
        )
        return written.page(records, reached - int(first), _iterator(shard, reached), behind_ms)

    def _get_shard_iterator(self, request: Json) -> bytes:
        shard = str(int(request["ShardId"].removeprefix("shardId-")))
        return json.dumps({"ShardIterator": _iterator(shard, self._start_index(request))}).encode()

    def _start_index(self, request: Json) -> int:
        match request["ShardIteratorType"]:
            case "TRIM_HORIZON":
                return 0
            case "AT_TIMESTAMP":
                return self._log.index_at_time(request["Timestamp"])
            case "AT_SEQUENCE_NUMBER":
                return index_of(int(request["StartingSequenceNumber"]))
            case "AFTER_SEQUENCE_NUMBER":
                return index_of(int(request["StartingSequenceNumber"]) + 1)
            case _:
                return self._log.tip(self._clock())

    def _list_shards(self, request: Json) -> bytes:
        first = int(request.get("NextToken", 0))
        stop = first + request.get("MaxResults", _DEFAULT_LISTED)
        response: Json = {"Shards": self._shards[first:stop]}
        if stop < len(self._shards):
            response["NextToken"] = str(stop)
        return json.dumps(response).encode()

    def _describe_shard(self, index: int) -> Json:
        start, end = (i * _HASH_KEYS // self._stream.shards for i in (index, index + 1))
        return {
            "ShardId": f"shardId-{index:012}",
            "HashKeyRange": {"StartingHashKey": str(start), "EndingHashKey": str(end - 1)},
            "SequenceNumberRange": {"StartingSequenceNumber": str(number_at(0))},
        }

    def _describe_stream_summary(self, _: Json) -> bytes:
        summary = {
            "StreamName": self._stream.name,
            "StreamARN": self._stream.arn,
            "StreamStatus": "ACTIVE",
            "StreamModeDetails": {"StreamMode": "PROVISIONED"},
            "RetentionPeriodHours": 24,
            "StreamCreationTimestamp": round(self._started_s) - 86400,
            "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
            "OpenShardCount": self._stream.shards,
            "ConsumerCount": 0,
        }
        return json.dumps({"StreamDescriptionSummary": summary}).encode()


def _iterator(shard: str, index: int) -> str:
    return f"{shard}.{index}.".ljust(_ITERATOR_CHARS, "A")
