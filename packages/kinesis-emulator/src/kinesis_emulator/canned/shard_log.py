"""The records of a prepared shard as GetRecords returns them, written once and sent as often as wanted."""

from __future__ import annotations

import base64
from bisect import bisect_left
from itertools import accumulate, islice

from kinesis_emulator.canned.payloads import make_payloads
from kinesis_emulator.canned.stream import CannedStream

_FIRST_NUMBER = 49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
_STEP = 2**80
"""Sequence numbers of neighbours are as far apart in Kinesis."""
_QUICKEST_S = 0.001
"""A shard takes in 1,000 records a second at most."""
_SETTLED_S = 1.0
"""How long before the server's start the last record arrived, if all of them did."""


def number_at(place: int) -> int:
    return _FIRST_NUMBER + place * _STEP


def place_of(number: int) -> int:
    """Return the place of the first record at *number* or behind it."""
    return max(0, -((_FIRST_NUMBER - number) // _STEP))


class ShardLog:
    """
    Every record of a shard, by its place from 0 on; all shards of a stream share one log.

    Args:
        stream: What it holds.
        started_s: When the server started, in seconds since the epoch.
    """

    def __init__(self, stream: CannedStream, started_s: float) -> None:
        self._total = stream.total_records
        self._page_records = stream.records
        self._is_live = stream.records_per_s is not None
        self._step_s = 1 / stream.records_per_s if stream.records_per_s else _QUICKEST_S
        self._first_s = started_s if self._is_live else started_s - _SETTLED_S - self._total * self._step_s
        self._pages: list[bytes] = []
        self._ends: list[list[int]] = []
        payloads = enumerate(make_payloads(stream))
        for _ in range(stream.pages):
            records = [self._write(place, payload) for place, payload in islice(payloads, stream.records)]
            self._pages.append(b",".join(records))
            self._ends.append(list(accumulate((len(record) + 1 for record in records), initial=0)))

    def _write(self, place: int, payload: bytes) -> bytes:
        return (
            b'{"SequenceNumber":"%d","ApproximateArrivalTimestamp":%.3f,"Data":"%b","PartitionKey":"user-%d"}'
            % (number_at(place), self._arrived_s(place), base64.b64encode(payload), place % 997)
        )

    def _arrived_s(self, place: int) -> float:
        return round(self._first_s + place * self._step_s, 3)

    def place_at_time(self, time_s: float) -> int:
        """Return the place of the first record that arrived at *time_s* or later."""
        return bisect_left(range(self._total), time_s, key=self._arrived_s)

    def tip(self, now_s: float) -> int:
        """Return how many records are there by now."""
        return bisect_left(range(self._total), now_s, key=self._arrived_s) if self._is_live else self._total

    def read(self, place: int, limit: int, now_s: float) -> tuple[bytes, int, int]:
        """
        Return records from *place* on, written one behind the other, where they end, and the milliseconds left.

        They are those of one page at most, so that a whole page is sent as it lies here.
        """
        tip = self.tip(now_s)
        if place >= tip:
            return b"", place, 0
        page, first = divmod(place, self._page_records)
        last = min(first + limit, self._page_records, first + tip - place)
        reached = place + last - first
        behind_ms = 0 if reached >= tip else round((now_s - self._arrived_s(reached)) * 1000)
        ends = self._ends[page]
        return self._pages[page][ends[first] : ends[last] - 1], reached, max(behind_ms, int(reached < tip))
