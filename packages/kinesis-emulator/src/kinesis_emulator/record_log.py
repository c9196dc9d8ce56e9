"""A shard's records in memory, by place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class RecordLog:
    """
    Records as they stand in GetRecords' answers, each in its place from 0 on; places outlast the records in them.

    Beside each stands the highest arrival time up to it, which only grows, also when arrival times do not, so a time is
    found by bisection; and the data bytes up to and including it. Nothing remains of a record that was freed.
    """

    def __init__(self) -> None:
        self.first = 0
        """The place of the oldest record that was not freed."""
        self._fragments: list[bytes] = []
        self._peaks: list[int] = []
        self._ends: list[int] = []
        self._last_peak = 0
        self._last_end = 0
        self._freed_bytes = 0

    @property
    def end(self) -> int:
        """The place of the next record."""
        return self.first + len(self._fragments)

    def append(self, fragment: bytes, size: int, arrived_ms: int) -> None:
        self._last_peak = max(arrived_ms, self._last_peak)
        self._last_end += size
        self._fragments.append(fragment)
        self._peaks.append(self._last_peak)
        self._ends.append(self._last_end)

    def free(self, place: int) -> None:
        """Forget the records before *place*."""
        count = min(place, self.end) - self.first
        if count > 0:
            self._freed_bytes = self._ends[count - 1]
            del self._fragments[:count], self._peaks[:count], self._ends[:count]
            self.first += count

    def start_at(self, place: int, peak_ms: int) -> None:
        """Begin at *place*, as if records up to the arrival time *peak_ms* had been there and were freed."""
        self.first, self._last_peak = place, peak_ms

    @property
    def freed_peak_ms(self) -> int:
        """The highest arrival time of the records that were freed, or, for lack of a better one, of the oldest that was not."""
        return self._peaks[0] if self._peaks else self._last_peak

    def fragments(self, start: int, stop: int) -> list[bytes]:
        """Return the records in places *start* to *stop*, none of which was freed."""
        return self._fragments[start - self.first : stop - self.first]

    def fragment(self, place: int) -> bytes | None:
        """Return the record in *place*, or None once it was freed."""
        return self._fragments[place - self.first] if place >= self.first else None

    def peak_ms(self, place: int) -> int:
        """Return the highest arrival time up to the record in *place*; 0 once it was freed."""
        return self._peaks[place - self.first] if place >= self.first else 0

    def entries(self) -> Iterator[tuple[bytes, int, int]]:
        """Yield each record with the bytes of its data and its peak: `append` takes the like."""
        before = self._freed_bytes
        for fragment, end, peak_ms in zip(self._fragments, self._ends, self._peaks, strict=True):
            yield fragment, end - before, peak_ms
            before = end

    def place_at_time(self, time_ms: int) -> int:
        """Return the place of the first record that arrived at or after *time_ms*."""
        return self.first + bisect_left(self._peaks, time_ms)

    def place_after_bytes(self, place: int, max_bytes: int) -> int:
        """Return where a page from *place* ends that holds at most *max_bytes*, but at least one record."""
        index = place - self.first
        fitting = bisect_right(self._ends, self._bytes_before(place) + max_bytes, lo=index)
        return self.first + max(index + 1, fitting)

    def data_bytes(self, start: int, stop: int) -> int:
        """Return the data bytes of the records in places *start* to *stop*, none of which was freed."""
        return self._bytes_before(stop) - self._bytes_before(start) if stop > start else 0

    def _bytes_before(self, place: int) -> int:
        return self._ends[place - self.first - 1] if place > self.first else self._freed_bytes
