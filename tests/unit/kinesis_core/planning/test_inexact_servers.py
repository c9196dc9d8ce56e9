"""Servers that are less exact than AWS: no record twice, none left out, no loss unnoticed."""

from __future__ import annotations

import random

import pytest

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.errors import DataLossError
from kinesis_core.model import ShardOffset, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.tip import plan_tip
from kinesis_core.shards import ShardCalls
from support.fake_stream import FakeClock, Mood
from support.one_shard import end_after
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"
HOUR_S = 3600


def query_of(stream: ScriptedStream, records: int) -> Planned:
    settings = PlanSettings(Limits(max_records=records), first_plan_crosses_gaps=False)
    return Planned([stream], settings=settings)


@pytest.mark.parametrize("early", [1, 7])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_server_that_begins_too_early(early: int, restarts: bool) -> None:
    """Each record is read once, although pages begin with records that were read before."""
    stream = ScriptedStream(FakeClock(), mood=Mood(early=early))
    stream.create(1)
    query = query_of(stream, 10)
    read = []
    for _ in range(6):
        stream.put_many(A, 5, every_s=1)
        read += query.batch()
        if restarts:
            query.restart()
    assert read == everything(stream)


def test_the_tip_is_not_a_full_page() -> None:
    """A full page may have more after it, although the server says that it is at the tip."""
    stream = ScriptedStream(FakeClock(), mood=Mood(boasts=100))
    stream.create(1)
    put = stream.put_many(A, 12_000, every_s=0.001)
    calls = ShardCalls(stream, A, stream.clock, ReadRateLimiter(0.2, 3), random.Random(0), max_throttles=0)
    assert plan_tip(ShardState(calls), ShardOffset(TrimHorizon())) == end_after(put[-1], put[0])


def test_a_full_page_is_not_idleness() -> None:
    """Records after a full page that leave the stream unread are a loss, although the server said that there were none."""
    stream = ScriptedStream(FakeClock(), mood=Mood(boasts=100))
    stream.create(1)
    query = query_of(stream, 10)
    stream.put_many(A, 20, every_s=1)
    stream.clock.sleep(20 * HOUR_S)
    assert query.batch() == everything(stream)[:10]
    stream.clock.sleep(10 * HOUR_S)
    stream.trim(A, 15)
    query.restart()
    with pytest.raises(DataLossError, match="retention 24 h"):
        query.batch()
