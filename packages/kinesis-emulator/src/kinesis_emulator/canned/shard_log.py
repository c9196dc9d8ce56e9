"""The records of a canned shard as GetRecords returns them, in JSON or CBOR, made once."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, islice

from kinesis_emulator.canned.formats import RecordFormat
from kinesis_emulator.canned.payloads import make_payloads
from kinesis_emulator.canned.stream import CannedStream

_FIRST_NUMBER = 49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
_STEP = 2**80
"""The distance of two neighbours' sequence numbers, as in Kinesis."""
_QUICKEST_S = 0.001
"""The shortest time between two records: a shard takes in at most 1,000 records a second."""
_SETTLED_S = 1.0
"""How long before the server's start the last record arrived, if all records arrived before it."""


def number_at(index: int) -> int:
    return _FIRST_NUMBER + index * _STEP


def index_of(number: int) -> int:
    """Return the index of the first record with *number* or a higher one."""
    return max(0, -((_FIRST_NUMBER - number) // _STEP))


class ShardLog:
    """
    The records of a shard by index from 0. All shards of a stream share one log.

    Args:
        stream: The description of the records.
        started_s: When the server started, in seconds since the epoch.
        record_format: The format of the records.
    """

    def __init__(self, stream: CannedStream, started_s: float, record_format: RecordFormat) -> None:
        self._format = record_format
        self._total = stream.total_records
        self._page_records = stream.records
        self._is_live = stream.records_per_s is not None
        self._step_s = 1 / stream.records_per_s if stream.records_per_s else _QUICKEST_S
        self._first_s = started_s if self._is_live else started_s - _SETTLED_S - self._total * self._step_s
        self._pages: list[bytes] = []
        self._ends: list[list[int]] = []
        payloads = enumerate(make_payloads(stream))
        for _ in range(stream.pages):
            records = [self._write(index, payload) for index, payload in islice(payloads, stream.records)]
            between = record_format.between
            self._pages.append(between.join(records))
            self._ends.append(list(accumulate((len(record) + len(between) for record in records), initial=0)))

    def _write(self, index: int, payload: bytes) -> bytes:
        return self._format.record(number_at(index), self._arrived_s(index), payload, f"user-{index % 997}")

    def _arrived_s(self, index: int) -> float:
        return round(self._first_s + index * self._step_s, 3)

    def index_at_time(self, time_s: float) -> int:
        """Return the index of the first record that arrived at *time_s* or later."""
        return bisect_left(range(self._total), time_s, key=self._arrived_s)

    def tip(self, now_s: float) -> int:
        """Return how many records have arrived by now."""
        return bisect_left(range(self._total), now_s, key=self._arrived_s) if self._is_live else self._total

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
        behind_ms = 0 if reached >= tip else round((now_s - self._arrived_s(reached)) * 1000)
        ends = self._ends[page]
        return (
            self._pages[page][ends[first] : ends[last] - len(self._format.between)],
            reached,
            max(behind_ms, int(reached < tip)),
        )
