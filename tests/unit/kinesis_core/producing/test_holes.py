"""The producer while ListShards leaves out an open shard: it guesses no shard, and drops no record."""

from __future__ import annotations

import random

import pytest

from kinesis_core import Producer, ProducerSettings
from kinesis_core.errors import UnavailableError
from support.fake_puts import Desk, FakePuts
from support.fake_stream import FakeClock
from unit.kinesis_core.producing.numbered import kcl, payloads, rows


def test_a_producer_waits_for_all_shards() -> None:
    """A producer opens once the listing covers all hash keys. Pauses between listings grow, with jitter."""
    puts = FakePuts(holes=4).create(2)
    puts.split(puts.open_shards()[1])
    desk = Desk.open(puts)
    began_s = FakeClock().now
    assert puts.listings == 5
    assert 1.0 <= desk.clock.now - began_s <= 2.0
    desk.put(rows(0, 500))
    desk.flush()
    assert kcl(desk) == payloads(0, 500)


def test_a_hole_that_stays() -> None:
    """After the TTL of a record, the error names the stream and the missing hash keys."""
    puts = FakePuts(holes=10**6).create(2)
    clock = FakeClock()
    began_s = clock.now
    with pytest.raises(UnavailableError, match=r"stream orders for the hash keys [0-9]{39} to [0-9]{39}"):
        Producer(puts, ProducerSettings(record_ttl_s=20), clock=clock, rng=random.Random(0))
    assert 20 <= clock.now - began_s < 23
    assert 12 <= puts.listings <= 30


def resharded(holes: int) -> Desk:
    """Return a producer that has written to a stream with a split shard, whose children are listed late."""
    puts = FakePuts().create(2)
    desk = Desk.open(puts, ProducerSettings(aggregation_max_size=500))
    puts.split(puts.open_shards()[1])
    puts.holes = holes
    desk.put(rows(0, 500))
    desk.flush()
    return desk


def test_a_hole_after_a_reshard_is_waited_for() -> None:
    """The producer keeps its shard map until the listing is complete. Every aggregate is then in its shard."""
    desk = resharded(8)
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(0, 500)
    assert desk.puts.holes < 0


def test_a_hole_after_a_reshard_that_stays() -> None:
    """
    The rows fail at their deadline. The error names the stream and the missing hash keys, and not all rows count as
    written.
    """
    desk = resharded(10**6)
    assert desk.accumulator.failure is not None
    assert desk.accumulator.failure.counts.keys() == {"HashKeysNotListed"}
    assert "no open shard of stream orders for the hash keys" in str(desk.accumulator.failure)
    assert desk.accumulator.counts.take_totals().user_records < 500


def test_a_hole_in_the_check_after_a_flush() -> None:
    """The check before the first aggregate after a flush waits for a complete listing too."""
    desk = resharded(0)
    desk.puts.merge(*desk.puts.open_shards()[:2])
    desk.puts.holes = 5
    desk.put(rows(0, 100))
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(0, 500) + payloads(0, 100)
    assert desk.accumulator.counts.take_totals().user_records == 600
