"""How many records a plan reads to see how busy a shard is."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from kinesis_core.model import Record, data_bytes
from kinesis_core.planning.limits import SHARD_BYTES_PER_MS
from kinesis_core.planning.shares import Need

MAX_PAGE_RECORDS = 10_000
SAMPLE_BYTES = 256 * 1024
"""Bytes that a plan may read to see whether a shard is quiet, of the 2 MiB/s that all readers share."""
MAX_SAMPLE_RECORDS = 1000
SHORTEST_RATED_MS = 1000
"""A producer puts up to 500 records at a time: their distance shows no rate."""
FIRST_SAMPLE_RECORDS = 25
"""Records read of a shard whose record size is not known yet."""
ROOM = 2.0
"""A shard may take in this many times its rate before a share of a batch is too small for it."""


@define
class Sampling:
    """Estimates from the records of a shard that were seen last."""

    record_bytes: float = SAMPLE_BYTES / FIRST_SAMPLE_RECORDS
    records_per_ms: float = 0.0

    def note(self, records: Sequence[Record]) -> None:
        self.record_bytes = max(1.0, data_bytes(records) / len(records))

    def note_rate(self, records: Sequence[Record], since_ms: int | None) -> None:
        """Note the rate of *records*, the first ones after *since_ms*; None where only their own arrival times show it."""
        first_ms, last_ms = records[0].arrived_ms, records[-1].arrived_ms
        if first_ms is None or last_ms is None:
            return
        passed_ms = last_ms - (first_ms if since_ms is None else min(since_ms, first_ms))
        self.records_per_ms = len(records) / max(SHORTEST_RATED_MS, passed_ms)

    def need(self, unread_ms: float) -> Need:
        """Return what the shard may have taken in since a time, with room. No shard takes in more than Kinesis allows."""
        records_per_ms = ROOM * self.records_per_ms
        bytes_per_ms = records_per_ms * self.record_bytes
        return Need(unread_ms * min(1.0, records_per_ms), unread_ms * min(SHARD_BYTES_PER_MS, bytes_per_ms))

    def sample_records(self) -> int:
        """Return how many records fit the sample's byte budget."""
        return min(MAX_SAMPLE_RECORDS, self.records_for(SAMPLE_BYTES))

    def records_for(self, size_bytes: int) -> int:
        """Return how many records make up about *size_bytes*: 1 to 10,000."""
        return max(1, min(MAX_PAGE_RECORDS, int(size_bytes / self.record_bytes)))
