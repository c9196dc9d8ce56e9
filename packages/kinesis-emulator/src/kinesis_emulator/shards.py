"""One shard and its records in memory."""

from __future__ import annotations

import base64
import json
import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from kinesis_emulator import numbers
from kinesis_emulator.limits import RateWindow


@dataclass(frozen=True)
class StoredRecord:
    """One record as it was put, for comparing with what a reader saw."""

    shard_id: str
    sequence_number: str
    partition_key: str | None
    data: bytes
    arrived_ms: int | None


@dataclass
class ShardRates:
    """What has been used of a shard's rates."""

    read_calls: RateWindow = field(default_factory=RateWindow)
    read_bytes: RateWindow = field(default_factory=RateWindow)
    iterators: RateWindow = field(default_factory=RateWindow)
    write_records: RateWindow = field(default_factory=RateWindow)
    write_bytes: RateWindow = field(default_factory=RateWindow)


class Shard:
    """
    One shard's log. Record number i (from 1) stands at place i - 1; trimmed records keep their place.

    `peaks` holds the highest arrival time up to each record: it only grows, also when arrival times do not,
    so a time is found by bisection. `ends` holds the data bytes up to and including each record. `changed` shares
    the stream's lock and wakes whoever waits for records, for the shard's end, or for time to pass.
    """

    def __init__(
        self,
        index: int,
        hash_range: tuple[int, int],
        parents: tuple[Shard, ...],
        opened_s: int,
        now_ms: int,
        lock: threading.RLock,
    ) -> None:
        self.index = index
        self.shard_id = f"shardId-{index:012d}"
        self.hash_start, self.hash_end = hash_range
        self.parents = parents
        self.children: tuple[Shard, ...] = ()
        self.opened_s = opened_s
        self.opened_ms = now_ms
        self.closed_ms: int | None = None
        self.base = numbers.shard_base(opened_s, index)
        self.changed = threading.Condition(lock)
        self.rates = ShardRates()
        self.trimmed = 0
        self.fragments: list[bytes] = []
        self.peaks: list[int] = []
        self.ends: list[int] = []

    @property
    def starting_number(self) -> str:
        return numbers.encode(self.base, 0, self.opened_s)

    @property
    def ending_number(self) -> str | None:
        if self.closed_ms is None:
            return None
        return numbers.encode(self.base, numbers.LAST_INDEX, self.closed_ms // 1000)

    def append(self, fragment: bytes, size: int, arrived_ms: int) -> None:
        """Add a record; *fragment* is its JSON in a GetRecords answer, *size* the bytes of its data."""
        self.fragments.append(fragment)
        self.peaks.append(max(arrived_ms, self.peaks[-1]) if self.peaks else arrived_ms)
        self.ends.append(self.ends[-1] + size if self.ends else size)
        self.changed.notify_all()

    def close(self, children: tuple[Shard, ...], now_ms: int) -> None:
        """Take no more records: hash keys belong to the *children* from now on."""
        self.closed_ms = now_ms
        self.children = children
        self.changed.notify_all()

    def number_at(self, place: int) -> int:
        """Return the sequence number of the record in *place*, as an int to compare with; 0 once it was freed."""
        fragment = self.fragments[place]
        return int(fragment.split(b'"', 4)[3]) if fragment else 0

    def number_before(self, place: int, time_s: int) -> int:
        """Return a number between those of the records on both sides of *place*: a later time makes it higher."""
        number = int(numbers.encode(self.base, place, time_s))
        return max(number, self.number_at(place - 1)) if place else number

    def next_number(self, arrived_ms: int) -> str:
        """Return the sequence number of the next record to append."""
        return numbers.encode(self.base, len(self.fragments) + 1, arrived_ms // 1000)

    def trim(self, horizon_ms: int, *, keep: bool) -> None:
        """Hide the records that arrived before *horizon_ms*; nothing brings them back. Frees them unless *keep*."""
        self.trim_to(bisect_left(self.peaks, horizon_ms), keep=keep)

    def trim_to(self, place: int, *, keep: bool) -> None:
        """Hide the records before *place*, as if they had left retention."""
        before, self.trimmed = self.trimmed, max(self.trimmed, min(place, len(self.fragments)))
        if not keep:
            self.fragments[before : self.trimmed] = [b""] * (self.trimmed - before)

    def place_at_time(self, time_ms: int) -> int:
        """Return the place of the first record that arrived at or after *time_ms*."""
        return bisect_left(self.peaks, time_ms)

    def place_after_bytes(self, place: int, max_bytes: int) -> int:
        """Return where a page from *place* ends that holds at most *max_bytes*, but at least one record."""
        before = self.ends[place - 1] if place else 0
        return max(place + 1, bisect_right(self.ends, before + max_bytes, lo=place))

    def data_bytes(self, start: int, stop: int) -> int:
        """Return the data bytes of the records in places *start* to *stop*."""
        if stop <= start:
            return 0
        return self.ends[stop - 1] - (self.ends[start - 1] if start else 0)

    def stored_records(self) -> list[StoredRecord]:
        """Return the records in their order, trimmed ones that were not freed too."""
        return [self.stored_record(place) for place, fragment in enumerate(self.fragments) if fragment]

    def stored_record(self, place: int) -> StoredRecord:
        """Return the record in *place*, which may be a trimmed one."""
        entry = json.loads(self.fragments[place])
        arrived = entry.get("ApproximateArrivalTimestamp")
        return StoredRecord(
            self.shard_id,
            entry["SequenceNumber"],
            entry.get("PartitionKey"),
            base64.b64decode(entry["Data"]),
            None if arrived is None else round(arrived * 1000),
        )
