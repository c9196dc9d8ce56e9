"""What a prepared stream answers: the calls of a reader, and nothing else."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from kinesis_emulator.canned.shard_log import ShardLog, number_at, place_of
from kinesis_emulator.canned.stream import MAX_PAGE_RECORDS, CannedStream

_ITERATOR_CHARS = 220
"""As long as Kinesis makes them."""
_HASH_KEYS = 2**128
_DEFAULT_LISTED = 1000

Json = dict[str, Any]


class Responses:
    """Bodies of successful answers, by the name of the call; ready once it is made."""

    def __init__(self, stream: CannedStream, clock: Callable[[], float] = time.time) -> None:
        self._stream = stream
        self._clock = clock
        self._started_s = clock()
        self._log = ShardLog(stream, self._started_s)
        self._shards = [self._describe_shard(index) for index in range(stream.shards)]
        self.calls: Counter[str] = Counter()
        """How often each call came; nearly, for threads do not wait for each other to count."""
        self._responses: dict[str, Callable[[Json], bytes]] = {
            "GetRecords": self._get_records,
            "GetShardIterator": self._get_shard_iterator,
            "ListShards": self._list_shards,
            "DescribeStreamSummary": self._describe_stream_summary,
        }

    def response(self, action: str, request: bytes) -> bytes | None:
        """Return the answer's body; None when nothing is prepared for *action*."""
        response = self._responses.get(action)
        self.calls[action] += 1
        return None if response is None else response(json.loads(request))

    def _get_records(self, request: Json) -> bytes:
        shard, place, _ = request["ShardIterator"].split(".", 2)
        records, reached, behind_ms = self._log.read(
            int(place), request.get("Limit", MAX_PAGE_RECORDS), self._clock()
        )
        iterator = _iterator(shard, reached)
        return b'{"Records":[%b],"NextShardIterator":"%b","MillisBehindLatest":%d}' % (
            records,
            iterator.encode(),
            behind_ms,
        )

    def _get_shard_iterator(self, request: Json) -> bytes:
        shard = str(int(request["ShardId"].removeprefix("shardId-")))
        return json.dumps({"ShardIterator": _iterator(shard, self._place(request))}).encode()

    def _place(self, request: Json) -> int:
        match request["ShardIteratorType"]:
            case "TRIM_HORIZON":
                return 0
            case "AT_TIMESTAMP":
                return self._log.place_at_time(request["Timestamp"])
            case "AT_SEQUENCE_NUMBER":
                return place_of(int(request["StartingSequenceNumber"]))
            case "AFTER_SEQUENCE_NUMBER":
                return place_of(int(request["StartingSequenceNumber"]) + 1)
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
        start, end = (place * _HASH_KEYS // self._stream.shards for place in (index, index + 1))
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


def _iterator(shard: str, place: int) -> str:
    return f"{shard}.{place}.".ljust(_ITERATOR_CHARS, "A")
