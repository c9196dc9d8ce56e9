"""Where a batch ends in one shard, and what it costs to find out."""

from __future__ import annotations

import pytest

from kinesis_core.errors import ThrottledError
from kinesis_core.model import After, AtTimestamp, Record, ShardEnd, ShardOffset, TrimHorizon
from kinesis_core.planning import Limits
from kinesis_core.planning.batch_end import plan_end
from kinesis_core.planning.shares import FIRST_SAMPLE_RECORDS
from kinesis_core.shards import VISIT_PAGES
from support.fake_stream import Mood
from support.one_shard import OneShard, end_after
from support.scripted_stream import ITERATOR_LIFE_S, throttle

START = ShardOffset(TrimHorizon())
KIB = 1024
MANY = Limits(max_records=100_000)


@pytest.fixture
def one() -> OneShard:
    return OneShard()


# A quiet shard


def test_an_empty_shard_stays_where_it_is(one: OneShard) -> None:
    """A shard without records keeps its start, which costs one GetRecords."""
    assert plan_end(one.state, START, MANY) is START
    assert one.calls() == ["GetShardIterator", "GetRecords"]


def test_an_idle_shard_costs_one_call_a_plan_and_no_new_iterator(one: OneShard) -> None:
    """After its first plan a shard without new records costs exactly one GetRecords, hours of idling included."""
    record = one.put(1)[0]
    end = plan_end(one.state, START, MANY)
    assert end == end_after(record, record)
    one.calls()
    for _ in range(50):
        one.stream.clock.sleep(ITERATOR_LIFE_S - 10)
        assert plan_end(one.state, end, MANY) is end
        assert one.calls() == ["GetRecords"]


def test_a_few_records_in_an_idle_shard_cost_one_call(one: OneShard) -> None:
    """A record put into an idle shard is found, and is the end, with one GetRecords."""
    end = plan_end(one.state, START, MANY)
    for count in (1, 3, FIRST_SAMPLE_RECORDS - 1):
        one.calls()
        records = one.put(count)
        end = plan_end(one.state, end, MANY)
        assert end == end_after(records[-1], records[0])
        assert one.calls() in (["GetRecords"], ["GetShardIterator", "GetRecords"])


def test_an_expired_iterator_costs_one_renewal(one: OneShard) -> None:
    """A kept iterator that has expired is renewed at once and the plan is as if nothing was."""
    end = plan_end(one.state, START, MANY)
    one.stream.clock.sleep(ITERATOR_LIFE_S + 1)
    records = one.put(2)
    one.calls()
    assert plan_end(one.state, end, MANY) == end_after(records[1], records[0])
    assert one.calls() == ["GetRecords", "GetShardIterator", "GetRecords"]


# A busy shard


@pytest.mark.parametrize("every_s", [0.001, 0.005, 0.02])
def test_a_busy_shard_costs_at_most_three_get_records(one: OneShard, every_s: float) -> None:
    """However many records came since the last plan, one look at them and one near the tip find the end."""
    one.put(30, every_s)
    end = plan_end(one.state, START, MANY)
    for _ in range(5):
        one.put(2000, every_s)
        one.calls()
        started, end = end, plan_end(one.state, end, MANY)
        assert one.calls().count("GetRecords") <= 3
        left = one.records[-1].number - one.between(started.cut, end)[-1].number
        assert one.between(started.cut, end)
        lag_ms = (one.records[-1].arrived_ms or 0) - (end.arrived_ms or 0)
        assert left >= 0
        assert lag_ms <= 250


def test_a_shard_that_stays_busy_costs_one_get_records(one: OneShard) -> None:
    """Once a plan has seen that more lies after its end, the next one only looks for a record near the tip."""
    one.put(2000, 0.001)
    end = plan_end(one.state, START, MANY)
    costs = []
    for _ in range(50):
        one.put(2000, 0.001)
        one.calls()
        started, end = end, plan_end(one.state, end, MANY)
        costs.append(one.calls().count("GetRecords"))
        assert one.between(started.cut, end)[0].number == end.first
        assert (one.records[-1].arrived_ms or 0) - (end.arrived_ms or 0) <= 250
    assert costs.count(1) > 40
    assert max(costs) == 2, "now and then a sample shows whether it is still busy"


def test_a_shard_that_was_busy_is_planned_to_its_tip(one: OneShard) -> None:
    """When nothing more comes, the next plan of a shard that was busy ends after its last record."""
    one.put(2000, 0.001)
    end = plan_end(one.state, plan_end(one.state, START, MANY), MANY)
    one.stream.clock.sleep(5)
    while (following := plan_end(one.state, end, MANY)) is not end:
        end = following
    assert end.cut == After(one.records[-1].number)


def test_a_busy_shard_far_behind_is_planned_in_bounded_batches(one: OneShard) -> None:
    """That more was seen to lie after an end does not lead beyond what a batch may hold."""
    one.put(2000, 0.001)
    end = plan_end(one.state, START, MANY)
    one.put(5000, 0.001)
    started, end = end, plan_end(one.state, end, Limits(max_records=500))
    assert 1 <= len(one.between(started.cut, end)) <= 500


def test_a_burst_since_the_last_look_is_read_on(one: OneShard) -> None:
    """Records that all arrived at once, with no arrival time between them to look at, are read in bounded pieces."""
    one.put(500)
    one.stream.clock.sleep(1)
    started, read = START, 0
    while True:
        end = plan_end(one.state, started, MANY)
        if end is started:
            break
        read += len(one.between(started.cut, end))
        started = end
    assert read == 500


def test_records_without_arrival_time_are_read_on(one: OneShard) -> None:
    """Without arrival times there is nowhere to look, so a bounded piece is read; nothing is left out."""
    for record in one.put(100, 0.01):
        record.arrived_s = None
    end = plan_end(one.state, START, MANY)
    assert end == end_after(one.records[-1], one.records[0])


@pytest.mark.parametrize("shift_s", [-5.0, -0.5, 0.5, 1.5])
def test_arrival_times_that_jump_do_not_mislead(one: OneShard, shift_s: float) -> None:
    """Where arrival times run backwards, or ahead of the clock, all records still come once and in order."""
    for i, record in enumerate(one.put(400, 0.01)):
        record.arrived_s = round((record.arrived_s or 0) + (shift_s if i % 3 else -shift_s), 3)
    started, covered = START, list[Record]()
    for _ in range(50):
        end = plan_end(one.state, started, Limits(max_records=50))
        if end is started:
            break
        covered += one.between(started.cut, end)
        started = end
        one.stream.clock.sleep(0.1)
    assert covered == one.records


# Gaps


def test_a_gap_costs_a_bounded_number_of_calls_a_plan(one: OneShard) -> None:
    """A plan follows few empty pages; the next one continues where it stopped, until the record after the gap comes."""
    record = one.put(1)[0]
    one.stream.gaps[one.shard_id, 0] = 10
    end, plans = START, 0
    while end is START:
        end = plan_end(one.state, START, MANY)
        assert one.calls().count("GetRecords") <= VISIT_PAGES
        plans += 1
    assert end == end_after(record, record)
    assert plans == 3
    assert len(one.stream.calls_of("GetShardIterator")) == 1


def test_a_gap_after_records_does_not_hide_them(one: OneShard) -> None:
    """Records before a gap are a batch of their own; those after it follow."""
    one.put(2)
    one.stream.gaps[one.shard_id, 2] = 9
    one.put(2)
    assert sum(map(len, drain_through_gaps(one))) == 4


def drain_through_gaps(one: OneShard) -> list[list[Record]]:
    started, batches = START, list[list[Record]]()
    for _ in range(20):
        end = plan_end(one.state, started, MANY)
        if end is not started:
            batches.append(one.between(started.cut, end))
            started = end
    return batches


# Throttles


def test_a_throttle_before_anything_is_known_is_raised(one: OneShard) -> None:
    """A plan that learned nothing raises the throttle, and the limiter waits before the next call."""
    one.put(5)
    one.stream.fail("GetRecords", one.shard_id, [throttle()])
    with pytest.raises(ThrottledError):
        plan_end(one.state, START, MANY)
    assert one.state.calls.limiter.wait_s(one.stream.clock.now) > 0


@pytest.mark.parametrize("action", ["GetShardIterator", "GetRecords"])
def test_a_throttle_later_in_a_plan_ends_it_with_what_is_known(one: OneShard, action: str) -> None:
    """A plan that was throttled while it looked near the tip ends after the records that it had found."""
    one.put(200, 0.05)
    one.stream.fail_after_next("GetRecords", one.shard_id, action, throttle())
    end = plan_end(one.state, START, MANY)
    assert end == end_after(one.records[FIRST_SAMPLE_RECORDS - 1], one.records[0])


# A closed shard


@pytest.mark.parametrize("own_page", [False, True])
@pytest.mark.parametrize("count", [0, 1, 24, 25, 26, 500])
def test_a_closed_shard_is_read_to_its_end(own_page: bool, count: int) -> None:
    """Whether the null iterator comes with the last records or on a page of its own, the end is found."""
    one = OneShard(Mood(end_page_of_its_own=own_page))
    one.put(count, 0.01)
    one.stream.split(one.shard_id)
    one.stream.clock.sleep(5)
    start, covered = START, 0
    for _ in range(20):
        end = plan_end(one.state, start, MANY)
        if end is start:
            break
        covered += len(one.between(start.cut, end))
        start = end
        if start.cut == ShardEnd():
            break
    assert covered == count
    assert start.cut == ShardEnd() or one.state.is_ended(start.cut)


def test_a_shard_closed_after_a_known_end_is_known_to_be_ended(one: OneShard) -> None:
    """A shard that closes without further records makes no new end, but is known to be finished."""
    one.put(1)
    end = plan_end(one.state, START, MANY)
    one.stream.split(one.shard_id)
    assert plan_end(one.state, end, MANY) is end
    assert one.state.is_ended(end.cut)
    assert not one.state.is_ended(START.cut)


def test_a_start_in_time_keeps_its_place_until_a_record_comes(one: OneShard) -> None:
    """A start AT_TIMESTAMP stays as it is over idle plans, and one iterator serves them all."""
    start = ShardOffset(AtTimestamp(one.stream.now_ms()))
    for _ in range(5):
        one.stream.clock.sleep(60)
        assert plan_end(one.state, start, MANY) is start
    assert len(one.stream.calls_of("GetShardIterator")) == 1
    record = one.put(1)[0]
    assert plan_end(one.state, start, MANY) == end_after(record, record)
