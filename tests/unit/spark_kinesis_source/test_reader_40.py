"""The reader for Spark 4.0 and 4.1 derives the start of a batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from kinesis_core.errors import OffsetError
from kinesis_core.model import After, Estimate, Offset, RangeGroup, ShardOffset, StreamOffset
from kinesis_core.planning.schedule import LastPlan
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.reader_40 import StreamReader40

OPTIONS = {"streamName": "orders", "region": "eu-west-1"}


def at(number: int) -> Offset:
    position = ShardOffset(After(number), first=number, estimate=Estimate(10, 0))
    return Offset({"orders": StreamOffset(1, {"shardId-000000000000": position})})


def large(number: int) -> Offset:
    """Return an offset of more shards than version 1 is written for."""
    return Offset(
        {"orders": StreamOffset(1, {f"shardId-{i:012d}": ShardOffset(After(number)) for i in range(201)})}
    )


def ten_later(start: Offset) -> Offset:
    cut = start.streams["orders"].shards["shardId-000000000000"].cut
    assert isinstance(cut, After)
    return at(cut.number + 10)


class ScriptedPlanner:
    """Starts at 0. Every plan ends ten records later, unless `plan` is another one, and is recorded."""

    last_plan = LastPlan()

    def __init__(self) -> None:
        self.plans: list[tuple[Offset, bool]] = []
        self.plan: Callable[[Offset], Offset] = ten_later
        self.closed = False

    def initial_offset(self, position: object) -> Offset:  # noqa: ARG002 - the planner's signature
        return at(0)

    def set_awaited(self, is_awaited: bool) -> None:
        pass

    def next_offset(self, start: Offset, *, bounded: bool) -> Offset:
        self.plans.append((start, bounded))
        return self.plan(start)

    def range_groups(self, start: Offset, end: Offset) -> list[RangeGroup]:  # noqa: ARG002 - the planner's signature
        return []

    def lag_ms(self) -> dict[str, dict[str, int]]:
        return {}

    def close(self) -> None:
        self.closed = True


class RecordingPublisher:
    """Records the published offsets."""

    def __init__(self) -> None:
        self.published: list[Offset] = []
        self.closed = False

    def publish(self, offset: Offset) -> None:
        self.published.append(offset)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def planner() -> ScriptedPlanner:
    return ScriptedPlanner()


@pytest.fixture
def make_reader(planner: ScriptedPlanner) -> Any:
    def make_reader(**options: str) -> StreamReader40:
        reader = StreamReader40(SourceOptions.parse({**OPTIONS, **options}), ("data",))
        reader._opened = planner  # type: ignore[assignment] # plans by script
        return reader

    return make_reader


def test_new_query(planner: ScriptedPlanner, make_reader: Any) -> None:
    """A query that asks for the latest offset before it names a batch is new, and starts at its initial offset."""
    reader = make_reader()
    assert reader.latestOffset() == at(10).to_json()
    assert reader.initialOffset() == at(0).to_json()
    reader.partitions(at(0).to_json(), at(10).to_json())
    reader.latestOffset()
    assert [start for start, _ in planner.plans] == [at(0), at(10)]


def test_each_batch_starts_at_the_end_of_the_last_one(planner: ScriptedPlanner, make_reader: Any) -> None:
    """Every batch is planned from the end of the batch before it, not only the second one."""
    reader = make_reader()
    for i in range(4):
        end = reader.latestOffset()
        assert end == at(10 * (i + 1)).to_json()
        reader.partitions(at(10 * i).to_json(), end)
    assert [start for start, _ in planner.plans] == [at(10 * i) for i in range(4)]


def test_restarted_query(planner: ScriptedPlanner, make_reader: Any) -> None:
    """A restarted query continues at the end of the last batch that it names, with or without a replay."""
    reader = make_reader()
    reader.partitions(at(40).to_json(), at(40).to_json())
    reader.partitions(at(30).to_json(), at(40).to_json())
    assert reader.latestOffset() == at(50).to_json()
    assert [start for start, _ in planner.plans] == [at(40)]


def test_batch_that_starts_elsewhere(make_reader: Any) -> None:
    """A batch that Spark starts at another offset than it was planned from is refused."""
    reader = make_reader()
    end = reader.latestOffset()
    with pytest.raises(OffsetError, match="starts this batch at another offset"):
        reader.partitions(at(5).to_json(), end)


def test_a_batch_without_records_after_a_plan(planner: ScriptedPlanner, make_reader: Any) -> None:
    """Spark may run a batch that starts and ends where the last plan ends. It is accepted, and reading continues there."""
    reader = make_reader()
    end = reader.latestOffset()
    assert reader.partitions(end, end) == []
    assert reader.latestOffset() == at(20).to_json()
    assert [start for start, _ in planner.plans] == [at(0), at(10)]


def test_an_offset_of_an_older_release_keeps_its_text(planner: ScriptedPlanner, make_reader: Any) -> None:
    """A new text starts a batch. So an offset that stays the same is written as it was read, and a later one as today."""
    saved = large(40).to_json(max_shards=201)
    planner.plan = lambda start: start  # nothing is new
    reader = make_reader()
    reader.partitions(saved, saved)
    assert reader.latestOffset() == saved
    planner.plan = lambda _: large(50)
    assert reader.latestOffset() == large(50).to_json()
    assert large(40).to_json() != saved


@pytest.mark.parametrize(
    ("options", "bounded"),
    [({}, False), ({"maxRecordsPerShard": "5"}, True), ({"maxBytesPerShard": "5mb"}, True)],
)
def test_bound(planner: ScriptedPlanner, make_reader: Any, options: dict[str, str], bounded: bool) -> None:
    """A batch contains everything, because AvailableNow is one batch, unless the user sets a limit."""
    make_reader(**options).latestOffset()
    assert [plan[1] for plan in planner.plans] == [bounded]


def test_the_first_plan_of_a_run_does_not_wait(make_reader: Any) -> None:
    """It may be the only plan, with AvailableNow or Once. The next one returns its start until there are enough records."""
    options = {"minRecordsPerTrigger": "11", "maxTriggerDelay": "1h"}
    for restarted in (False, True):
        reader = make_reader(**options)
        if restarted:
            reader.partitions(at(0).to_json(), at(0).to_json())
        assert reader.latestOffset() == at(10).to_json()
        reader.partitions(at(0).to_json(), at(10).to_json())
        assert reader.latestOffset() == at(10).to_json()


def test_enough_records_do_not_wait(make_reader: Any) -> None:
    """A batch with as many records as the option names is planned at once."""
    reader = make_reader(minRecordsPerTrigger="10", maxTriggerDelay="1h")
    for end in (10, 20, 30):
        assert reader.latestOffset() == at(end).to_json()
        reader.partitions(at(end - 10).to_json(), at(end).to_json())


def test_creating_one_makes_no_call() -> None:
    """Creating a reader makes no call. It pickles before it is used, and is small. Stopping it then has no effect."""
    reader = StreamReader40(SourceOptions.parse(OPTIONS), ("data",))
    assert len(pickle.dumps(reader)) < 4000
    reader.stop()


def test_stop(planner: ScriptedPlanner, make_reader: Any) -> None:
    """Stopping a reader closes its planner."""
    make_reader().stop()
    assert planner.closed


def test_publishing(make_reader: Any) -> None:
    """A plan publishes what is done by then, and a commit publishes what Spark commits."""
    reader = make_reader()
    reader._publisher = publisher = RecordingPublisher()
    reader.latestOffset()
    reader.partitions(at(0).to_json(), at(10).to_json())
    assert publisher.published == [at(0)]
    reader.latestOffset()
    reader.commit(at(10).to_json())
    assert publisher.published == [at(0), at(10), at(10)]
    reader.stop()
    assert publisher.closed


def test_not_publishing(make_reader: Any) -> None:
    """Without a table a commit has no effect."""
    make_reader().commit(at(10).to_json())


def test_the_first_plan_may_be_the_only_one() -> None:
    """AvailableNow is one plan here and looks like other triggers, so the first plan of a run crosses gaps to their end."""
    assert StreamReader40.may_be_planned_once


@pytest.mark.parametrize("limit", [{}, {"maxRecordsPerShard": "9"}])
def test_a_consumer_that_wakes_the_driver_needs_a_limit(limit: dict[str, str]) -> None:
    """Without one each batch looks at all shards. No consumer is registered then, and the log says why."""
    options = StreamReader40(
        SourceOptions.parse({**OPTIONS, **limit, "wakeConsumer": "bell"}), ("data",)
    ).options
    assert (options.wake is not None) is bool(limit)
    assert [reason.split("'")[1] for reason in options.ignored] == ([] if limit else ["wakeConsumer"])
