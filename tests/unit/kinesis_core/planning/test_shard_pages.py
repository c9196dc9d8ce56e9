"""Pages of single shards, for consumers that keep their positions by themselves."""

from __future__ import annotations

import random

from kinesis_core.model import ShardOffset, TrimHorizon
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
