"""How often a query calls GetRecords of a shard at its tip, and how late it sees a record, whatever comes and when."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.model import Latest, Page
from kinesis_core.planning import Planner, PlanSettings
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from support.examples import examples
from support.fake_stream import FakeClock
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"
QUOTA = 5.0
"""Calls a second and shard. As many may come at once."""
CALL_S = 0.005
BEGIN_S = 1_790_000_000.0


@define
class ArrivingStream(ScriptedStream):
    """A stream of one shard whose records arrive by themselves, as time passes. A call takes time."""

    data: bytes = b"x"
    arrivals_s: list[float] = field(factory=list)
    """When records arrive that have not arrived yet, the next one last."""

    def arrive(self) -> None:
        until_s = self.clock.now
        while self.arrivals_s and self.arrivals_s[-1] <= until_s:
            self.clock.now = self.arrivals_s.pop()
            self.put(A, self.data)
        self.clock.now = until_s

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self.clock.sleep(CALL_S)
        self.arrive()
        return super().get_records(iterator, limit, with_data, shard_id)


@define
class Played:
    """When a query has called GetRecords, and how late it saw each record."""

    calls_s: list[float]
    waits_s: list[float]
    read: list[str]


def play(
    gaps_s: Sequence[float],
    share: float,
    *,
    begin_s: float = 0.0,
    batch_s: float = 0.15,
    size: int = 1,
    stall_s: float = 0.0,
) -> Played:
    """
    Run a query on a stream whose records arrive *gaps_s* after each other. It starts *begin_s* after the stream.

    A batch takes *batch_s*. In the middle the query stands still for *stall_s*. It reads each record once, in order.
    """
    clock = FakeClock(BEGIN_S)
    stream = ArrivingStream(clock, data=bytes(size))
    stream.create(1)
    clock.now += begin_s
    plan = PlanSettings(quota_share=share, first_plan_crosses_gaps=False)
    planner = Planner({stream.name: stream}, plan, threads=1, clock=clock, rng=random.Random(0))
    start = planner.initial_offset(Latest())
    at_s = BEGIN_S + 2
    for gap_s in gaps_s:
        at_s += gap_s
        stream.arrivals_s.insert(0, at_s)
    polling = PollingRangeReader(lambda _: stream, ReadSettings(), random.Random(0))
    played = Played([], [], [])
    while len(played.read) < len(gaps_s):
        end = planner.next_offset(start)
        planned_s = clock.now
        if end is not start:
            groups = planner.range_groups(start, end)
            clock.sleep(batch_s)
            for _, page in read_concurrently(groups, polling, 1, clock):
                played.read += [record.sequence_number for record in page.records]
                played.waits_s += [planned_s - (record.arrived_s or 0) for record in page.records]
            if len(played.read) >= len(gaps_s) // 2:
                clock.sleep(stall_s)
                stall_s = 0.0
        start = end
    planner.close()
    assert played.read == [record.sequence_number for record in stream.shards[A].records]
    played.calls_s = [call.at_s for call in stream.calls_of("GetRecords")]
    return played


def most_at_once(calls_s: Sequence[float], rate: float) -> float:
    """Return how many calls a bucket has to hold that is filled at *rate*, so that it admits all of them."""
    level = worst = 0.0
    last_s = 0.0
    for at_s in sorted(calls_s):
        level = max(0.0, level - (at_s - last_s) * rate) + 1
        worst, last_s = max(worst, level), at_s
    return worst


gaps = st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0, 1.0, 7.0]), min_size=1, max_size=60)
batches = st.floats(0.02, 0.7)


@settings(max_examples=examples(200), deadline=None)
@given(gaps, gaps, st.floats(0, 2), batches, batches, st.sampled_from([0.0, 10.0]))
def test_two_queries_share_the_quota(
    first: list[float],
    other: list[float],
    begin_s: float,
    batch_s: float,
    other_batch_s: float,
    stall_s: float,
) -> None:
    """Two queries by default stay within the 5 calls a second that a shard admits, whenever records come, batches end and both begin."""
    calls_s = [
        *play(first, 0.5, batch_s=batch_s, stall_s=stall_s).calls_s,
        *play(other, 0.5, begin_s=begin_s, batch_s=other_batch_s).calls_s,
    ]
    assert most_at_once(calls_s, QUOTA) <= QUOTA + 1e-6


@settings(max_examples=examples(200), deadline=None)
@given(gaps, batches, st.sampled_from([0.25, 0.5, 1.0]))
def test_one_query_keeps_its_share(gaps_s: list[float], batch_s: float, share: float) -> None:
    """At the tip, a query makes no more calls than its share, with those of its tasks. Its start and a batch may make one more."""
    assert most_at_once(play(gaps_s, share, batch_s=batch_s).calls_s, QUOTA * share) <= 2 + 1e-6


@settings(max_examples=examples(200), deadline=None)
@given(gaps, batches, st.sampled_from([0.5, 1.0]), st.sampled_from([30_000, 600_000]))
def test_tasks_count(gaps_s: list[float], batch_s: float, share: float, size: int) -> None:
    """Where tasks read the records, a query makes no more calls than Kinesis admits, with those of its tasks."""
    calls_s = play(gaps_s, share, batch_s=batch_s, size=size).calls_s
    assert most_at_once(calls_s, QUOTA) <= QUOTA


def test_how_long_records_wait_for_their_plan() -> None:
    """On an idle stream and at a trickle: 0.2 s on average with half of the quota, and 0.1 s with all of it."""
    rng = random.Random(0)
    histories = {
        "idle": [rng.uniform(1, 3) for _ in range(300)],
        "trickle": [rng.expovariate(10) for _ in range(1500)],
    }
    for gaps_s in histories.values():
        for share, mean_s in ((0.5, 0.2), (1.0, 0.1)):
            waits_s = play(gaps_s, share, batch_s=0.1).waits_s
            assert sum(waits_s) / len(waits_s) <= mean_s + 2 * CALL_S
            assert max(waits_s) <= 2 * mean_s + 3 * CALL_S
