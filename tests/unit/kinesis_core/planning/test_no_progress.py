"""Shards where nothing can be read after some record: pages stay empty, and come no closer to the tip."""

from __future__ import annotations

import pytest
from attrs import define

from kinesis_core.errors import DataLossError, UnavailableError
from kinesis_core.model import At, AtTimestamp, Latest, Page, StartingPosition
from kinesis_core.planning import Limits, PlanSettings
from support.fake_stream import FakeClock
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"
HOUR_S = 3600
MOST_CALLS = 15_000


@define
class Stuck(ScriptedStream):
    """
    One shard of which no iterator brings the record at *stuck_at* or a later one.

    *expires*: a day passes as soon as it is stuck, and the records before it expire.
    """

    stuck_at: int = 5
    expires: bool = False

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        assert len(self.log) < MOST_CALLS, "it polls without end"
        found, index = self._iterators[int(iterator)]
        page = super().get_records(iterator, limit, with_data, shard_id)
        if found != A or index < self.stuck_at:
            return page
        if self.expires and not self.shards[A].trimmed:
            expire(self)
        return Page([], 90_000, iterator)

    def _up_to_next_gap(self, shard_id: str, index: int, limit: int) -> int:  # noqa: ARG002 # it has one shard
        return min(limit, self.stuck_at - index) if index < self.stuck_at else limit


def stuck_query(*, fails: bool, crosses: bool = True) -> tuple[Stuck, Planned]:
    """Return a stream of one shard, and a query on it."""
    stream = Stuck(FakeClock(), name="orders")
    stream.create(1)
    settings = PlanSettings(Limits(max_records=5), fail_on_data_loss=fails, first_plan_crosses_gaps=crosses)
    return stream, Planned([stream], settings=settings)


def expire(stream: Stuck) -> None:
    """Let the first 5 records expire."""
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, 5)


either = pytest.mark.parametrize("fails", [False, True])


@either
@pytest.mark.parametrize("end", [Latest(), AtTimestamp(1_790_000_007_000), "record"])
def test_a_batch_up_to_now_stops_the_query(
    end: StartingPosition | str, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What follows the first records cannot be read: a query that reads once neither hangs nor ends before them in silence."""
    stream, query = stuck_query(fails=fails)
    put = stream.put_many(A, 10, every_s=1)
    position = At(put[7].number) if end == "record" else end
    said = f"only empty pages after .*shard={A}"
    with pytest.raises(UnavailableError, match=said):
        query.planner.end_offset(query.start, position)  # type: ignore[arg-type]
    query.restart()
    with pytest.raises(UnavailableError, match=said):
        query.batch(bounded=False)
    query.restart()
    query.planner.fix_targets()
    with pytest.raises(UnavailableError, match=said):
        query.batch()
    assert "data.lost" not in caplog.text


@either
def test_what_cannot_be_read_shows_no_loss(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Where the records before it have expired, and the oldest one that is left cannot be read, nothing is known to be lost."""
    stream, query = stuck_query(fails=fails)
    stream.expires = True
    stream.put_many(A, 10, every_s=1)
    with pytest.raises(UnavailableError, match="only empty pages"):
        query.planner.next_offset(query.start, bounded=False)
    assert "data.lost" not in caplog.text


@either
@pytest.mark.parametrize("crosses", [False, True])
def test_an_oldest_record_that_cannot_be_read_is_an_error(
    fails: bool, crosses: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The search for the oldest record ends as well, in one plan or over several. Once it can be read, the loss is found."""
    stream, query = stuck_query(fails=fails, crosses=crosses)
    stream.put_many(A, 5, every_s=1)
    assert len(query.batch()) == 5
    stream.put_many(A, 5, every_s=1)
    expire(stream)
    query.restart()
    with pytest.raises(UnavailableError, match=f"only empty pages after AFTER .*shard={A}"):
        query.batches(4000)
    assert "data.lost" not in caplog.text
    stream.stuck_at = 11
    if fails:
        with pytest.raises(DataLossError, match="and the oldest record left is"):
            query.batches(2)
    else:
        assert query.batches(2) == everything(stream)[5:]
        assert caplog.text.count("data.lost") == 1


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_run_ends(is_closed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A run of AvailableNow ends also where its target cannot be reached, whether that is a record or the end of the shard."""
    stream, query = stuck_query(fails=False)
    stream.stuck_at = 11
    stream.put_many(A, 10, every_s=1)
    if is_closed:
        stream.split(A)
    query.planner.fix_targets()
    assert len(query.batch()) == 5
    stream.stuck_at = 5
    expire(stream)
    with pytest.raises(UnavailableError, match="only empty pages"):
        query.batches(10)
    assert "data.lost" not in caplog.text
