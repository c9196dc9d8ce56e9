"""Producers that share a shard: each gets its part of the quota, and none gives up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import Protocol

import pytest
from attrs import define, field

from kinesis_core.model import PutEntry, PutResponse, PutResult, entry_sizes, join_entries
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_queue import ShardBatch
from kinesis_core.producing.write_window import BYTES_PER_S, RECORDS_PER_S
from support.fake_puts import THROTTLED, Desk, FakePuts


class Quota(Protocol):
    """What one shard accepts."""

    def admits(self, size_bytes: int, now_s: float) -> bool:
        """Return whether a record is accepted now, and count it if it is."""


@define
class Bucket:
    """The quota is refilled all the time, and a second of it can be saved up."""

    _saved_s: float = 1.0
    _counted_s: float = 0.0

    def admits(self, size_bytes: int, now_s: float) -> bool:
        self._saved_s = min(1.0, self._saved_s + now_s - self._counted_s)
        self._counted_s = now_s
        took_s = max(1 / RECORDS_PER_S, size_bytes / BYTES_PER_S)
        if took_s > self._saved_s:
            return False
        self._saved_s -= took_s
        return True


@define
class Seconds:
    """The quota is that of a second, and who comes first takes it."""

    _second: int = 0
    _used_s: float = 0.0

    def admits(self, size_bytes: int, now_s: float) -> bool:
        if int(now_s) != self._second:
            self._second, self._used_s = int(now_s), 0.0
        took_s = max(1 / RECORDS_PER_S, size_bytes / BYTES_PER_S)
        if self._used_s + took_s > 1.0:
            return False
        self._used_s += took_s
        return True


@define(eq=False)
class Writer:
    """One producer, which puts its rows as fast as it has room, and then flushes."""

    desk: Desk
    rows: Iterator[Rows]
    left: Rows | None = None
    is_flushing: bool = False
    requests: int = 0
    in_flight: int = 0
    done_s: float | None = None
    taken: list[tuple[float, int]] = field(factory=list)
    """When the shard accepted how many bytes."""

    @property
    def is_over(self) -> bool:
        return self.done_s is not None or self.desk.accumulator.failure is not None

    def taken_bytes(self, from_s: float, to_s: float) -> int:
        return sum(size for at_s, size in self.taken if from_s <= at_s < to_s)


@define(eq=False)
class BusyShard:
    """A shard, and the producers that write to it."""

    quota: Quota
    latency_s: float = 0.02
    writers: list[Writer] = field(factory=list)
    now_s: float = 0.0
    _events: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _order: Iterator[int] = field(factory=count)

    def add(self, rows: Iterator[Rows], settings: ProducerSettings, seed: int) -> Writer:
        writer = Writer(Desk.open(FakePuts().create(1), settings, seed), rows)
        writer.desk.clock.now = 0.0
        self.writers.append(writer)
        self._at(random.Random(seed).uniform(0, 0.5), lambda: self._work(writer))
        return writer

    def run(self, until_s: float = float("inf")) -> None:
        """Let time pass until all producers are done, or have failed, or *until_s*."""
        while self._events and not all(writer.is_over for writer in self.writers):
            at_s, _, action = heappop(self._events)
            if at_s > until_s:
                return
            self.now_s = at_s
            action()

    def _at(self, at_s: float, action: Callable[[], None]) -> None:
        heappush(self._events, (at_s, next(self._order), action))

    def _work(self, writer: Writer) -> None:
        """Put what there is room for, and send what may be sent."""
        if writer.is_over:
            return
        accumulator = writer.desk.accumulator
        self._put(writer)
        while writer.in_flight < accumulator.settings.max_connections:
            request = accumulator.take(self.now_s)
            if not request:
                break
            writer.in_flight += 1
            writer.requests += 1
            self._at(self.now_s + self.latency_s, lambda request=request: self._respond(writer, request))  # type: ignore[misc]
        if writer.is_flushing and accumulator.counts.is_written(0):
            writer.done_s = self.now_s
        elif (wait_s := accumulator.wait_s(self.now_s)) is not None and not writer.is_over:
            self._at(self.now_s + max(wait_s, 0.001), lambda: self._work(writer))

    def _put(self, writer: Writer) -> None:
        accumulator = writer.desk.accumulator
        while not writer.is_flushing:
            writer.left = writer.left or next(writer.rows, None)
            if writer.left is None:
                accumulator.begin_generation()
                accumulator.waiting_callers = 1
                writer.is_flushing = True
            elif left := accumulator.offer(accumulator.group(writer.left), self.now_s):
                [writer.left] = left.values()
                accumulator.waiting_callers = 1
                return
            else:
                writer.left, accumulator.waiting_callers = None, 0

    def _respond(self, writer: Writer, request: Sequence[ShardBatch]) -> None:
        entries: Sequence[PutEntry] = join_entries([batch.entries for batch in request])
        results, taken_bytes = [], 0
        for size_bytes in entry_sizes(entries):
            is_admitted = self.quota.admits(size_bytes, self.now_s)
            taken_bytes += size_bytes * is_admitted
            results.append(
                PutResult("shardId-000000000000")
                if is_admitted
                else PutResult(None, THROTTLED, "Rate exceeded.")
            )
        failed = sum(result.error_code is not None for result in results)
        writer.taken.append((self.now_s, taken_bytes))
        writer.in_flight -= 1
        writer.desk.responses.on_response(request, PutResponse(failed, results), self.now_s)
        self._work(writer)


def jain(shares: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 if all shares are equal, and 1/n if one has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


MIB = 1024 * 1024
PRODUCERS = 8
PLAIN = ProducerSettings(aggregation_enabled=False)

quotas = pytest.mark.parametrize("quota", [Bucket, Seconds])


def rows(size_bytes: int, total_bytes: int) -> Iterator[Rows]:
    """Yield rows of *size_bytes*, with *total_bytes* in all, in chunks."""
    data, key = bytes(size_bytes - 8), "8 bytes."
    for left in range(total_bytes // size_bytes, 0, -500):
        yield Rows([data] * min(500, left), [key] * min(500, left))


def busy(
    quota: Callable[[], Quota], producers: int, size_bytes: int, total_bytes: int, latency_s: float = 0.02
) -> BusyShard:
    shard = BusyShard(quota(), latency_s)
    for seed in range(producers):
        shard.add(rows(size_bytes, total_bytes), PLAIN, seed)
    return shard


def longest_pause_s(writer: Writer, until_s: float) -> float:
    """Return for how long the shard accepted nothing of a producer at most."""
    times = [0.0, *(at_s for at_s, size in writer.taken if size), until_s]
    return max(after - before for before, after in pairwise(times))


@quotas
@pytest.mark.parametrize("size_bytes", [1024, 50 * 1024])
def test_a_backlog_that_takes_longer_than_the_ttl_is_written(
    quota: Callable[[], Quota], size_bytes: int
) -> None:
    """Eight producers write 48 MiB into one shard, which takes 48 seconds. The TTL is 30 seconds, and none fails."""
    shard = busy(quota, PRODUCERS, size_bytes, 6 * MIB)
    shard.run()
    assert [writer.desk.accumulator.failure for writer in shard.writers] == [None] * PRODUCERS
    assert [writer.taken_bytes(0, 100) for writer in shard.writers] == [
        6 * MIB // size_bytes * size_bytes
    ] * PRODUCERS
    assert shard.now_s < 55


@pytest.mark.tests
@quotas
@pytest.mark.parametrize("size_bytes", [1024, 50 * 1024])
def test_producers_share_a_shard(quota: Callable[[], Quota], size_bytes: int) -> None:
    """Producers that always have something to write get equal parts of nearly all the quota. Each gets some every few seconds."""
    shard = busy(quota, PRODUCERS, size_bytes, 100 * MIB)
    shard.run(until_s=120)
    shares = [writer.taken_bytes(20, 120) for writer in shard.writers]
    assert jain(shares) > 0.95
    assert min(shares) > 0.5 * max(shares)
    assert sum(shares) > 0.95 * 100 * MIB
    assert max(longest_pause_s(writer, 120) for writer in shard.writers) < 10


@pytest.mark.parametrize(
    ("quota", "latency_s", "part"),
    [(Bucket, 0.02, 0.95), (Bucket, 0.3, 0.95), (Seconds, 0.02, 0.9), (Seconds, 0.3, 0.8)],
)
def test_a_producer_without_others_uses_the_quota(
    quota: Callable[[], Quota], latency_s: float, part: float
) -> None:
    """A producer that has a shard for itself uses nearly all of the quota, also with slow responses, in few requests."""
    shard = busy(quota, 1, 50 * 1024, 200 * MIB, latency_s)
    shard.run(until_s=120)
    [writer] = shard.writers
    assert writer.taken_bytes(20, 120) > part * 100 * MIB
    assert writer.requests < 120 * 10


def test_a_late_producer_gets_its_part() -> None:
    """A producer that begins when others use all the quota gets as much as they do after some seconds."""
    shard = busy(Bucket, PRODUCERS - 1, 50 * 1024, 100 * MIB)
    shard.run(until_s=60)
    late = shard.add(rows(50 * 1024, 100 * MIB), PLAIN, PRODUCERS)
    shard.run(until_s=180)
    shares = [writer.taken_bytes(80, 180) for writer in shard.writers]
    assert late.taken_bytes(80, 180) > 0.5 * max(shares)
