"""What a plan estimates of the records in its batch."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_core.model import AtTimestamp, Estimate, ShardOffset, TrimHorizon
from kinesis_core.planning import Limits
from kinesis_core.planning.batch_end import plan_end
from kinesis_core.planning.probe import READ_ON_BYTES
from kinesis_core.planning.tip import plan_tip
from support.one_shard import OneShard

START = ShardOffset(TrimHorizon())
MANY = Limits(max_records=100_000)


@pytest.fixture
def one() -> OneShard:
    return OneShard()


def estimate(end: ShardOffset) -> Estimate:
    assert end.estimate is not None
    return end.estimate


def test_a_quiet_shard_is_counted(one: OneShard) -> None:
    """Of a page that reaches the tip the number of records and the first one's age are exact."""
    one.put(7, every_s=0.5)
    assert estimate(plan_end(one.state, START, MANY)) == Estimate(7, 3500)


def test_a_batch_that_is_cut_off_by_bytes_is_counted(one: OneShard) -> None:
    """Records after the end do not count."""
    one.put(7, data=b"x" * 100)
    assert estimate(plan_end(one.state, START, Limits(max_bytes=350))).records == 3


def test_records_that_were_not_looked_at_are_estimated(one: OneShard) -> None:
    """A shard with more records than a look reads counts by the rate of those that were read."""
    one.put(4000, every_s=0.02, data=b"x" * 100)
    plan_end(one.state, START, MANY)  # the first look is short, for nothing is known of the shard
    end = plan_end(one.state, START, MANY)
    held = len(one.between(START.cut, end))
    assert held > 3900
    assert estimate(end).records == pytest.approx(held, rel=0.05)
    assert estimate(end).age_ms == pytest.approx(80_000, abs=5)


def test_a_shard_that_is_still_busy_is_estimated(one: OneShard) -> None:
    """A plan that looks at the tip alone knows the rate from the plan before it."""
    one.put(3000, every_s=0.02, data=b"x" * 100)
    plan_end(one.state, START, MANY)
    first = plan_end(one.state, START, MANY)
    one.put(300, every_s=0.02, data=b"x" * 100)
    one.calls()
    second = plan_end(one.state, first, MANY)
    assert one.calls() == ["GetShardIterator", "GetRecords"]
    assert estimate(second).records == pytest.approx(len(one.between(first.cut, second)), rel=0.05)


def test_the_time_before_a_burst_counts(one: OneShard) -> None:
    """Bursts that are longer apart than a look reads are not taken for one that continues."""
    one.put(1, data=b"x" * 1000)
    start = plan_end(one.state, START, MANY)
    for _ in range(6):
        one.stream.clock.sleep(10)
        one.put(500, data=b"x" * 1000)
    one.stream.clock.sleep(1)
    end = plan_end(one.state, start, MANY)
    held = len(one.between(start.cut, end))
    assert held > 2500
    assert 500 < estimate(end).records <= held


def test_a_start_at_a_time_counts_from_there(one: OneShard) -> None:
    """A query that began at LATEST or a time knows how long nothing came, too."""
    since_ms = one.state.calls.now_ms()
    one.stream.clock.sleep(10)
    for _ in range(2):
        one.put(26, data=b"x")
        one.stream.clock.sleep(10)
    end = plan_end(one.state, ShardOffset(AtTimestamp(since_ms)), MANY)
    assert estimate(end).records == pytest.approx(52, abs=2)


def test_a_burst_is_no_rate(one: OneShard) -> None:
    """What is put in one moment counts as put in one second, where nothing else shows how fast records come."""
    one.put(26)
    one.stream.clock.sleep(60)
    one.put(1)
    one.stream.clock.sleep(60)
    assert estimate(plan_end(one.state, START, MANY)).records <= 25 + 25 * 61


def test_records_without_arrival_times_are_counted_as_seen(one: OneShard) -> None:
    """Without times nothing is estimated: those that were read, one more, and no age."""
    one.put(2000, data=b"x" * 100)
    for record in one.records:
        record.arrived_s = None
    end = plan_end(one.state, START, MANY)
    assert estimate(end).age_ms is None
    assert 0 < estimate(end).records <= len(one.between(START.cut, end))


def test_one_record_without_an_arrival_time_adds_nothing(one: OneShard) -> None:
    """The last record that was read may lack its time where others have theirs."""
    one.put(600, every_s=0.02, data=b"x" * 5000)
    plan_tip(one.state, START)  # from here on the rate is known
    read = one.state.cache.sampling.records_for(READ_ON_BYTES)
    one.records[read - 1].arrived_s = None
    assert estimate(plan_tip(one.state, START)).records == read + 1


def test_everything_up_to_the_tip_is_estimated(one: OneShard) -> None:
    """A batch without a bound has an estimate as well."""
    one.put(4000, every_s=0.1, data=b"x" * 100)
    end = plan_tip(one.state, START)
    assert estimate(end).records == pytest.approx(4000, rel=0.05)


def test_a_finished_shard_is_estimated(one: OneShard) -> None:
    """The records of a shard that ends with the batch are counted as far as they were seen."""
    one.put(3)
    one.stream.split(one.shard_id)
    assert estimate(plan_end(one.state, START, MANY)) == Estimate(3, 0)


def test_it_is_no_part_of_a_position() -> None:
    """Positions are equal whatever was estimated, and neither text nor a later batch has it."""
    plain = ShardOffset(TrimHorizon(), first=1)
    estimated = evolve(plain, estimate=Estimate(5, 0))
    assert estimated == plain
    assert estimated.to_json() == plain.to_json()
    assert ShardOffset.from_json(estimated.to_json()).estimate is None
    assert estimated.carried_over().estimate is None
