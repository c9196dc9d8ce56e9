"""
How much is written to one shard, seen by reading along.

It reads at most a page of 256 KiB per call. Where more comes, it skips to the tip, and the rate is that of the time that it has
read. So it leaves most of the shard's quota to its readers, even while the shard is hot.
"""

from __future__ import annotations

import random
import threading
from collections import deque

from attrs import define, field, frozen

from kinesis_cli.traffic import PageReader, Sample, Tally
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import StreamNotFoundError, ThrottledError
from kinesis_core.model import Shard

PAGE_BYTES = 256 * 1024
FIRST_MS = 5000
"""How far back it begins, so that there is a rate at once."""
BEHIND_MS = 3000
"""So far behind the tip it skips to the tip."""
SKIP_MS = 1000
REMEMBERED_MS = 10_000
"""The rate is that of this time."""
_SHORTEST_MS = 1000


@frozen
class _Seen:
    at_ms: int
    covered_ms: int
    records: int
    user_records: int
    size_bytes: int


@define
class ShardMeter:
    """Reads along one open shard."""

    api: StreamApi
    shard: Shard
    clock: Clock
    rng: random.Random
    period_s: float = 1.0
    has_ended: bool = field(default=False, init=False)
    """Whether the shard was split or merged, or has expired."""
    _reader: PageReader = field(init=False)
    _is_behind: bool = field(default=False, init=False)
    """Whether more comes than is read."""
    _seen: deque[_Seen] = field(factory=deque, init=False)
    _is_polled: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    @_reader.default
    def _open(self) -> PageReader:
        since_ms = self.api.now_ms() - FIRST_MS
        shard_id = self.shard.shard_id
        return PageReader.of(self.api, shard_id, since_ms, self.clock, self.rng, 0, self.period_s, PAGE_BYTES)

    def poll(self) -> None:
        """
        Read what has come since the last call, if the shard may be read again and no other thread is about to.

        Raises:
            ServiceError: A call failed after its retries.
        """
        if not self._is_polled.acquire(blocking=False):
            return  # after an error of another shard, calls continue that nobody waits for
        try:
            self._poll()
        finally:
            self._is_polled.release()

    def _poll(self) -> None:
        reader, now_ms = self._reader, self.api.now_ms()
        if self.has_ended or reader.calls.wait_s():
            return
        if self._is_behind:
            reader.skip_to(max(reader.until_ms, now_ms - SKIP_MS), PAGE_BYTES)
        since_ms = reader.until_ms
        try:
            look = reader.read()
        except ThrottledError:
            return
        except StreamNotFoundError:
            self.has_ended = True
            return
        while self._seen and self._seen[0].at_ms < now_ms - REMEMBERED_MS:
            self._seen.popleft()
        tally = Tally(self.shard.hash_start, self.shard.hash_end, by_key=False)
        for record in look.records:
            tally.add(record)
        covered_ms = reader.until_ms - since_ms
        self._seen.append(_Seen(now_ms, covered_ms, tally.records, tally.user_records, tally.size_bytes))
        self.has_ended = look.is_shard_end
        is_late = now_ms - reader.until_ms > BEHIND_MS
        self._is_behind = is_late and bool(look.records) and not look.is_last

    def sample(self) -> Sample | None:
        """Return the latest records; None if nothing was read lately."""
        oldest_ms = self.api.now_ms() - REMEMBERED_MS
        latest = [seen for seen in tuple(self._seen) if seen.at_ms >= oldest_ms]
        if not latest:
            return None
        covered_ms = max(_SHORTEST_MS, sum(seen.covered_ms for seen in latest))
        return Sample(
            sum(seen.records for seen in latest),
            sum(seen.user_records for seen in latest),
            sum(seen.size_bytes for seen in latest),
            covered_ms,
        )
