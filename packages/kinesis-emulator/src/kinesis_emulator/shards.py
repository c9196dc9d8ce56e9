"""One shard, and its records in memory."""

from __future__ import annotations

import base64
import json
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from kinesis_emulator import numbers
from kinesis_emulator.errors import shard_not_found
from kinesis_emulator.limits import RateWindow
from kinesis_emulator.records import RecordLog, WrittenRecord

_MOST_SHARDS = 2**31


def shard_id_of(index: int) -> str:
    return f"shardId-{index:012d}"


def canonical_shard_id(text: str, stream: str, account_id: str) -> str:
    """
    Return the id of the shard that *text* names: its number, after any prefix that ends with a hyphen.

    Source: https://github.com/mhart/kinesalite, whose tests were run against AWS.

    Raises:
        AwsError: ResourceNotFoundException, if it is no number of a shard.
    """
    number = text.rpartition("-")[2]
    if not (number.isascii() and number.isdecimal() and int(number) < _MOST_SHARDS):
        raise shard_not_found(text, stream, account_id)
    return shard_id_of(int(number))


@dataclass(frozen=True)
class StoredRecord:
    """One record as it was put, to compare with the records that a reader got."""

    shard_id: str
    sequence_number: str
    partition_key: str | None
    data: bytes
    arrived_ms: int | None


@dataclass
class ShardRates:
    """The usage of a shard's rate limits."""

    read_calls: RateWindow = field(default_factory=RateWindow)
    read_bytes: RateWindow = field(default_factory=RateWindow)
    iterators: RateWindow = field(default_factory=RateWindow)
    write_records: RateWindow = field(default_factory=RateWindow)
    write_bytes: RateWindow = field(default_factory=RateWindow)


class StoredShard:
    """
    One shard's log. Record number i (from 1) has index i - 1. The records before the index `trimmed` have expired.

    `changed` shares the stream's lock. It wakes threads that wait for records, for the shard's end or for the clock.
    """

    def __init__(
        self,
        index: int,
        hash_range: tuple[int, int],
        parents: tuple[StoredShard, ...],
        opened_s: int,
        now_ms: int,
        lock: threading.RLock,
    ) -> None:
        self.index = index
        self.shard_id = shard_id_of(index)
        self.hash_start, self.hash_end = hash_range
        self.parents = parents
        self.children: tuple[StoredShard, ...] = ()
        self.opened_s = opened_s
        self.opened_ms = now_ms
        self.closed_ms: int | None = None
        self.hidden_until_ms = 0
        """Listings leave the shard out until this time."""
        self.base = numbers.shard_base(opened_s, index)
        self.changed = threading.Condition(lock)
        self.rates = ShardRates()
        self.trimmed = 0
        self.records = RecordLog()
        self._held: deque[tuple[int, int]] = deque()
        """Indexes from which records cannot be read yet, and until when. Both increase."""

    @property
    def starting_number(self) -> str:
        return numbers.encode(self.base, 0, self.opened_s)

    @property
    def ending_number(self) -> str | None:
        if self.closed_ms is None:
            return None
        return numbers.encode(self.base, numbers.LAST_INDEX, self.closed_ms // 1000)

    def append(self, record: WrittenRecord, size: int, arrived_ms: int, readable_ms: int = 0) -> None:
        """
        Add a record with *size* bytes of data.

        It can be read from *readable_ms* on, but not before the records before it.
        """
        if readable_ms > (self._held[-1][1] if self._held else 0):
            self._held.append((self.records.end, readable_ms))
        self.records.append(record, size, arrived_ms)

    def readable_end(self, now_ms: int) -> int:
        """Return the index from which on records cannot be read yet."""
        while self._held and self._held[0][1] <= now_ms:
            self._held.popleft()
        return self._held[0][0] if self._held else self.records.end

    def close(self, children: tuple[StoredShard, ...], now_ms: int) -> None:
        """Close the shard: the *children* get its hash keys."""
        self.closed_ms = now_ms
        self.children = children
        self.changed.notify_all()

    def number_at(self, index: int) -> int:
        """Return the sequence number of the record at *index* as an int; 0 if it was freed."""
        fragment = self.records.fragment(index)
        return int(fragment.split(b'"', 4)[3]) if fragment else 0

    def number_before(self, index: int, time_s: int) -> int:
        """Return a number between those of the records before and at *index*. A later time makes it higher."""
        number = int(numbers.encode(self.base, index, time_s))
        return max(number, self.number_at(index - 1)) if index else number

    def next_number(self, arrived_ms: int) -> str:
        """Return the sequence number of the next record to append."""
        return numbers.encode(self.base, self.records.end + 1, arrived_ms // 1000)

    def trim(self, horizon_ms: int, *, keep: bool) -> None:
        """Hide the records that arrived before *horizon_ms* permanently, and free them unless *keep*."""
        self.trim_to(self.records.index_at_time(horizon_ms), keep=keep)

    def trim_to(self, index: int, *, keep: bool) -> None:
        """Hide the records before *index* as if they had expired, and free them unless *keep*."""
        self.trimmed = max(self.trimmed, min(index, self.records.end))
        if not keep:
            self.records.free(self.trimmed)

    def start_at(self, index: int, peak_ms: int) -> None:
        """Begin at *index*, as if earlier records with arrival times up to *peak_ms* had expired."""
        self.trimmed = index
        self.records.start_at(index, peak_ms)

    def describe(self) -> dict[str, Any]:
        """Return the shard as in responses of ListShards and DescribeStream."""
        numbers = {"StartingSequenceNumber": self.starting_number}
        if self.ending_number is not None:
            numbers["EndingSequenceNumber"] = self.ending_number
        parents = zip(("ParentShardId", "AdjacentParentShardId"), self.parents, strict=False)
        return {
            "ShardId": self.shard_id,
            "HashKeyRange": self._hash_key_range(),
            "SequenceNumberRange": numbers,
            **{name: parent.shard_id for name, parent in parents},
        }

    def describe_children(self) -> list[dict[str, Any]]:
        """Return the children as in ChildShards of GetRecords and of events at the shard's end."""
        return [
            {
                "ShardId": child.shard_id,
                "ParentShards": [parent.shard_id for parent in child.parents],
                "HashKeyRange": child._hash_key_range(),
            }
            for child in self.children
        ]

    def _hash_key_range(self) -> dict[str, str]:
        return {"StartingHashKey": str(self.hash_start), "EndingHashKey": str(self.hash_end)}

    def stored_records(self) -> list[StoredRecord]:
        """Return the records in their order, including trimmed ones that were not freed."""
        return [
            self._stored(fragment)
            for fragment in self.records.fragments(self.records.first, self.records.end)
        ]

    def newest_record(self) -> StoredRecord:
        """Return the record that was put last."""
        [fragment] = self.records.fragments(self.records.end - 1, self.records.end)
        return self._stored(fragment)

    def _stored(self, fragment: bytes) -> StoredRecord:
        entry = json.loads(fragment)
        arrived = entry.get("ApproximateArrivalTimestamp")
        return StoredRecord(
            self.shard_id,
            entry["SequenceNumber"],
            entry.get("PartitionKey"),
            base64.b64decode(entry["Data"]),
            None if arrived is None else round(arrived * 1000),
        )
