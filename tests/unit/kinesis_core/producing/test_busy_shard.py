"""Producers that share a shard: each gets its part of the quota, and none gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.rows import Rows
from support.busy_shard import Bucket, BusyShard, Quota, Seconds, Writer, jain

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
