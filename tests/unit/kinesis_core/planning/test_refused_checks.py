"""What a plan found is kept while the check whether records were lost before it is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import define, evolve, field

from kinesis_core.errors import DataLossError, IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import After, At, AtTimestamp, Cut, Page, ShardOffset
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.data_loss import DataLoss
from kinesis_core.planning.loss import LossReport
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.shards import VISIT_PAGES
from support.fake_stream import FakeClock
from support.one_shard import OneShard
from support.planned import Planned, Read, everything
from support.scripted_stream import ScriptedStream, throttle

A = "shardId-000000000000"
HOUR_S = 3600
BATCH = 10


def expired() -> IteratorExpiredError:
    return IteratorExpiredError("Iterator expired", "ExpiredIteratorException")


@define
class RefusedChecks(ScriptedStream):
    """Refuses looks for the record that a query has read last."""

    refusals: int = 0
    every: int = 0
    """Each such call of GetRecords is refused; 0 for none."""
    error: Callable[[], ServiceError] = throttle

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        if isinstance(cut, At) and self.refusals:
            self.refusals -= 1
            raise self.error()
        return super().get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        if self.every and len(self.calls_of("GetRecords")) % self.every == self.every - 1:
            self.fail("GetRecords", A, [self.error()])
        return super().get_records(iterator, limit, with_data, shard_id)


def far_behind(*, fails: bool = True, retention_hours: int = 168) -> tuple[RefusedChecks, Planned]:
    """Return a query that has read one batch of a backlog, which is more than a day old, and its stream."""
    stream = RefusedChecks(FakeClock(), retention_hours=retention_hours)
    stream.create(1)
    settings = PlanSettings(Limits(BATCH), fail_on_data_loss=fails, first_plan_crosses_gaps=False)
    query = Planned([stream], settings=settings)
    stream.put_many(A, 10 * BATCH, every_s=1)
    query.batch()
    stream.clock.sleep(30 * HOUR_S)
    query.restart()
    return stream, query


@pytest.mark.parametrize("every", range(2, 8))
@pytest.mark.parametrize("error", [throttle, expired])
def test_a_backlog_of_a_day_is_read_though_calls_are_refused(
    error: Callable[[], ServiceError], every: int
) -> None:
    """Plans of a backlog advance whichever of their calls is refused each time, also in a query that is far behind."""
    stream, query = far_behind()
    left = unread(stream, query)
    stream.every, stream.error = every, error
    assert query.batches(100) == left


def last_read(query: Planned) -> int:
    """Return the number of the last record that the query has read."""
    cut = query.start.streams["orders"].shards[A].cut
    assert isinstance(cut, After)
    return cut.number


def unread(stream: ScriptedStream, query: Planned) -> Read:
    return [record for record in everything(stream) if int(record[1]) > last_read(query)]


def test_a_refused_check_is_repeated_alone() -> None:
    """The next plan makes the refused calls, and no other one of the plan again."""
    stream, query = far_behind()
    stream.refusals = 1
    assert query.batch() == []
    stream.log.clear()
    read, left = last_read(query), unread(stream, query)
    batch = query.batch()
    assert batch
    assert batch == left[: len(batch)]
    looks = [call.cut for call in stream.calls_of("GetShardIterator")]
    assert looks[0] == At(read)
    assert len(stream.calls_of("GetRecords")) == 2, "the check, and the record after the end"


@pytest.mark.parametrize("refusals", [1, 3])
def test_a_kept_plan_is_not_used_before_the_check(refusals: int) -> None:
    """Records that expire while the check is refused are reported by it."""
    stream, query = far_behind(retention_hours=24)
    stream.refusals = refusals
    for _ in range(refusals):
        assert query.batch() == []
    stream.trim(A, 3 * BATCH)
    with pytest.raises(DataLossError, match="retention 24 h"):
        query.batch()


def test_a_kept_plan_is_not_used_after_a_loss() -> None:
    """Reading continues at the oldest record that is left, where the check shows a loss and the query continues."""
    stream, query = far_behind(fails=False, retention_hours=24)
    stream.refusals = 1
    assert query.batch() == []
    stream.trim(A, 3 * BATCH)
    assert query.batches(20) == everything(stream)[3 * BATCH :]


def test_a_batch_without_a_bound_uses_no_kept_plan() -> None:
    """A batch that has to reach the tip does so, though a bounded plan waits for its check."""
    stream, query = far_behind()
    stream.refusals = 1
    assert query.batch() == []
    left = unread(stream, query)
    assert query.batch(bounded=False) == left


def far_after_a_time() -> tuple[RefusedChecks, Planned]:
    """Return a query that begins at the time of a record, 30 hours ago: no record that is gone shows a loss."""
    stream = RefusedChecks(FakeClock(), retention_hours=168)
    stream.create(1)
    stream.put_many(A, 3 * BATCH, every_s=1)
    settings = PlanSettings(Limits(BATCH), first_plan_crosses_gaps=False)
    since_ms = stream.shards[A].records[BATCH].arrived_ms
    assert since_ms is not None
    query = Planned([stream], AtTimestamp(since_ms), settings)
    query.restart()
    stream.clock.sleep(30 * HOUR_S)
    return stream, query


def test_a_search_that_takes_several_plans_keeps_what_was_found() -> None:
    """While the search for the oldest record is not done, the plan before it is not made again."""
    stream, query = far_after_a_time()
    stream.gaps[A, 0] = 2 * VISIT_PAGES + 1
    assert query.batch() == []
    stream.log.clear()
    assert query.batch() == []
    assert [call.action for call in stream.log] == ["GetRecords"] * VISIT_PAGES
    stream.log.clear()
    assert query.batch()[0] == everything(stream)[BATCH]
    assert len(stream.calls_of("GetRecords")) == 3, "the rest of the search, and the record after the end"


def test_a_gap_is_followed_while_the_search_is_not_done() -> None:
    """A plan that has found nothing yet is not kept: the next one continues in the gap beside the search."""
    stream, query = far_after_a_time()
    stream.trim(A, BATCH)
    stream.gaps[A, BATCH] = 2 * VISIT_PAGES
    for _ in range(2):
        assert query.batch() == []
    assert query.batch()[0] == everything(stream)[BATCH]


def test_a_closed_shard_is_passed_though_calls_are_refused() -> None:
    """That a shard ended is kept as well, until the check shows that nothing was lost before: its children are read then."""
    stream, query = far_behind()
    assert query.batch(bounded=False)
    children = stream.split(A)
    record = stream.put(children[0], b"x")
    stream.clock.sleep(30 * HOUR_S)
    query.restart()
    stream.every = 2
    assert query.batches(20) == [(children[0], record.sequence_number)]


LIMITS = Limits(5, 1000)
TARGET = ShardOffset(After(1), 1, 1)


@define
class CountedPlans:
    """Guards plans of a shard whose first records are old and still there, and counts those that are made."""

    one: OneShard = field(factory=OneShard)
    made: list[ShardOffset] = field(factory=list)
    loss: DataLoss = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.one.put(3)
        self.loss = DataLoss(
            LossReport("orders", is_fatal=True), StreamFacts("orders", self.one.stream, self.one.stream.clock)
        )

    def after(self, index: int, arrived_ms: int | None = 1) -> ShardOffset:
        """Return the offset after a record, as if it had arrived long ago."""
        return ShardOffset(After(self.one.records[index].number), arrived_ms)

    def plan(
        self, index: int, target: ShardOffset | None, limits: Limits | None, *, is_old: bool = True
    ) -> ShardOffset:
        started = self.after(index, 1 if is_old else self.one.records[index].arrived_ms)

        def find(begin: ShardOffset) -> ShardOffset:
            self.made.append(begin)
            return evolve(self.after(2), first=self.one.records[index + 1].number)

        return self.loss.find_end(self.one.state, started, find, target, limits)

    def refused(self, index: int, target: ShardOffset | None, limits: Limits | None) -> None:
        """Plan while the check is refused."""
        self.one.stream.fail("GetShardIterator", A, [throttle()])
        with pytest.raises(ThrottledError):
            self.plan(index, target, limits)


@pytest.mark.parametrize(
    ("index", "target", "limits", "is_kept"),
    [
        (0, None, LIMITS, True),
        (0, None, Limits(6, 2000), True),
        (0, None, Limits(), True),
        (0, None, evolve(LIMITS, until_ms=0.0), True),
        (0, None, Limits(4, 1000), False),
        (0, None, Limits(5, 999), False),
        (0, None, None, False),
        (0, TARGET, LIMITS, False),
        (1, None, LIMITS, False),
    ],
)
def test_what_a_kept_plan_is_used_for(
    index: int, target: ShardOffset | None, limits: Limits | None, is_kept: bool
) -> None:
    """A kept plan serves the same start and the same target, within its limits or larger ones."""
    counted = CountedPlans()
    counted.refused(0, None, LIMITS)
    counted.refused(index, target, limits)
    assert len(counted.made) == (1 if is_kept else 2)


def test_a_kept_plan_is_used_once() -> None:
    """It serves until its check succeeds, or until another plan is made."""
    counted = CountedPlans()
    for _ in range(3):
        counted.refused(0, None, LIMITS)
    assert counted.plan(0, None, LIMITS).cut == counted.after(2).cut
    assert len(counted.made) == 1
    counted.refused(0, None, LIMITS)
    assert len(counted.made) == 2
    counted.plan(1, None, LIMITS, is_old=False)
    counted.refused(0, None, LIMITS)
    assert len(counted.made) == 4
