"""Queries whose plans have the time for some of their shards only."""

from __future__ import annotations

from kinesis_core.model import Latest
from kinesis_core.planning import PlanSettings
from support.fake_stream import FakeStream
from support.planned import Planned
from support.slow_stream import CALL_S, SlowStream, slow_stream

SHARDS = 10
BUDGET_S = 2.5 * CALL_S
PER_PLAN = 3
"""Shards that a plan has time for: one call each."""
SETTINGS = PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=BUDGET_S, max_shard_skew_s=None)
"""Without a limit of skew, whatever a plan leaves out waits for the next one."""


def put_everywhere(stream: FakeStream, data: bytes = b"x") -> None:
    for shard_id in stream.open_shards():
        stream.put(shard_id, data)


def followed(shards: int = SHARDS, settings: PlanSettings = SETTINGS) -> tuple[SlowStream, Planned]:
    """Return a stream, and a query that has planned it once and found nothing. All shards are due again."""
    stream = slow_stream(shards)
    query = Planned([stream], Latest(), settings)
    assert query.batch() == []
    stream.clock.sleep(1)
    return stream, query
