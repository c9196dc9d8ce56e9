"""A shard's records in memory, by index."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class RecordLog:
    """
    The records of a shard as JSON of GetRecords' responses, by index from 0. A freed record's index is not used again.

    Each record has two more values: the highest arrival time up to it, which never decreases and so allows bisection, and
    the data bytes up to and including it. Nothing is kept of a freed record.
    """

    def __init__(self) -> None:
        self.first = 0
        """The index of the oldest record that was not freed."""
        self._fragments: list[bytes] = []
        self._peaks: list[int] = []
        self._ends: list[int] = []
        self._last_peak = 0
        self._last_end = 0
        self._freed_bytes = 0

    @property
    def end(self) -> int:
        """The index of the next record."""
        return self.first + len(self._fragments)

    def append(self, fragment: bytes, size: int, arrived_ms: int) -> None:
        self._last_peak = max(arrived_ms, self._last_peak)
        self._last_end += size
        self._fragments.append(fragment)
        self._peaks.append(self._last_peak)
        self._ends.append(self._last_end)

    def free(self, index: int) -> None:
        """Free the records before *index*."""
        count = min(index, self.end) - self.first
        if count > 0:
            self._freed_bytes = self._ends[count - 1]
            del self._fragments[:count], self._peaks[:count], self._ends[:count]
            self.first += count

    def start_at(self, index: int, peak_ms: int) -> None:
        """Begin at *index*, as if earlier records with arrival times up to *peak_ms* were freed."""
        self.first, self._last_peak = index, peak_ms

    @property
    def freed_peak_ms(self) -> int:
        """The highest arrival time of the freed records, or as an approximation that of the oldest record left."""
        return self._peaks[0] if self._peaks else self._last_peak

    def fragments(self, start: int, stop: int) -> list[bytes]:
        """Return the records from index *start* up to *stop* (exclusive). None of them may be freed."""
        return self._fragments[start - self.first : stop - self.first]

    def fragment(self, index: int) -> bytes | None:
        """Return the record at *index*, or None if it was freed."""
        return self._fragments[index - self.first] if index >= self.first else None

    def peak_ms(self, index: int) -> int:
        """Return the highest arrival time up to the record at *index*; 0 if it was freed."""
        return self._peaks[index - self.first] if index >= self.first else 0

    def index_at_time(self, time_ms: int) -> int:
        """Return the index of the first record that arrived at or after *time_ms*."""
        return self.first + bisect_left(self._peaks, time_ms)

    def index_after_bytes(self, index: int, max_bytes: int) -> int:
        """Return the end of a page from *index* with at most *max_bytes*, and at least one record."""
        offset = index - self.first
        fitting = bisect_right(self._ends, self._bytes_before(index) + max_bytes, lo=offset)
        return self.first + max(offset + 1, fitting)

    def data_bytes(self, start: int, stop: int) -> int:
        """Return the data bytes of the records from index *start* up to *stop* (exclusive). None of them may be freed."""
        return self._bytes_before(stop) - self._bytes_before(start) if stop > start else 0

    def _bytes_before(self, index: int) -> int:
        return self._ends[index - self.first - 1] if index > self.first else self._freed_bytes
