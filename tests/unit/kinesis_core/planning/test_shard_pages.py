"""Pages of single shards, for consumers that keep their positions by themselves."""

from __future__ import annotations

import random

import pytest

from kinesis_core.errors import DataLossError
from kinesis_core.model import After, ShardOffset, TrimHorizon
from kinesis_core.planning import PlanSettings, ShardPages
from support.fake_stream import FakeClock, FakeStream, Mood

SHARD = "shardId-000000000000"


def test_a_refused_call_does_not_show_the_tip() -> None:
    """A throttled call says nothing of the tip, although the page before it was at the tip."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    start = ShardOffset(TrimHorizon())
    assert pages.next(SHARD, start, 10).is_tip
    stream.mood = Mood(throttles=100)
    refused = pages.next(SHARD, start, 10)
    assert (refused.page.records, refused.end, refused.is_tip) == ([], start, False)


def test_the_lag_of_a_shard() -> None:
    """A shard has no lag before its first page, and none in milliseconds at its tip."""
    clock = FakeClock()
    stream = FakeStream(clock).create(2)
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    pages.next(SHARD, ShardOffset(TrimHorizon()), 10)
    assert (pages.lag_ms(SHARD), pages.lag_ms("shardId-000000000001")) == (0, None)


@pytest.mark.parametrize("left", [0, 2])
def test_a_retention_that_is_raised_after_a_loss(left: int) -> None:
    """A consumer that did not read for longer than the retention is told, however long the retention is when it goes on."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    stream.forgets = True
    stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    read = pages.next(SHARD, ShardOffset(TrimHorizon()), 10).end
    stream.put(SHARD, b"lost")
    clock.sleep(30 * 3600)
    for _ in range(left):
        stream.put(SHARD, b"x")
    stream.retain(168)
    with pytest.raises(DataLossError, match="may have expired"):
        pages.next(SHARD, read, 10)


def test_a_position_whose_record_is_gone() -> None:
    """Its time, as a consumer kept it, may be another one than the arrival of the record."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    record = stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    assert pages.resume(SHARD, record.number, 1, 17) == ShardOffset(After(record.number), record.arrived_ms)
    stream.trim(SHARD, 1)
    assert pages.resume(SHARD, record.number, 1, 17) == ShardOffset(After(record.number), 17, was_empty=True)
