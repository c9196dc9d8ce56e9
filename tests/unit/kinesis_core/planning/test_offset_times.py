"""Times in offsets that are still to come: nothing has arrived then, so they are a mistake."""

from __future__ import annotations

import pytest

from kinesis_core.errors import OffsetError
from kinesis_core.model import AtTimestamp, Cut, Offset, ShardOffset, StreamOffset, StreamSummary, TrimHorizon
from kinesis_core.planning.offset_times import ARRIVAL_MARGIN_MS, TIME_MARGIN_MS
from support.fake_stream import Mood
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = "shardId-000000000000", "shardId-000000000001"
FAR_MS = 4_000_000_000_000


def started_at(stream: ScriptedStream, started: ShardOffset) -> Planned:
    """Return a query whose checkpoint holds an offset that somebody made."""
    query = Planned([stream])
    query.start = Offset({"orders": StreamOffset(stream.created_ms, {A: started})})
    query.restart()
    return query


def ahead(
    stream: ScriptedStream, *, time_ms: int | None = None, arrived_ms: int | None = None
) -> ShardOffset:
    """Return an offset with times that are so much later than now."""
    cut: Cut = TrimHorizon() if time_ms is None else AtTimestamp(stream.now_ms() + time_ms)
    return ShardOffset(cut, None if arrived_ms is None else stream.now_ms() + arrived_ms)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(
    ("started", "what"),
    [
        (ShardOffset(AtTimestamp(FAR_MS)), "'AT_TIMESTAMP' is 2096-10-02 07:06:40 UTC"),
        (ShardOffset(TrimHorizon(), FAR_MS), "'arrived' or 'empty_until' is 2096-10-02 07:06:40 UTC"),
    ],
)
def test_a_time_to_come_is_refused(started: ShardOffset, what: str, bounded: bool) -> None:
    """An offset with a time in the future is refused. The error names the field, the shard and the service's time."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = started_at(stream, started)
    said = rf"{what}, .*clock is at 2026-09-21.*Restore the saved offset.*\[stream=orders shard={A}\]"
    for _ in range(2):
        with pytest.raises(OffsetError, match=said):
            query.batch(bounded=bounded)


def test_times_that_clocks_may_be_off_by() -> None:
    """Clocks and arrival times are not exact, so a time in the near future is accepted."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    near = ahead(stream, arrived_ms=ARRIVAL_MARGIN_MS)
    assert started_at(stream, near).batches(2) == everything(stream)
    near = ahead(stream, time_ms=TIME_MARGIN_MS)
    query = started_at(stream, near)
    stream.clock.sleep(TIME_MARGIN_MS / 1000)
    record = stream.put(A, b"x")
    assert query.batches(2) == [(A, record.sequence_number)]


@pytest.mark.parametrize("started", [{"time_ms": TIME_MARGIN_MS}, {"arrived_ms": ARRIVAL_MARGIN_MS}])
def test_the_margins(started: dict[str, int]) -> None:
    """A time later than that is refused, at the millisecond."""
    stream = scripted_stream()
    (name, margin_ms), *_ = started.items()
    query = started_at(stream, ahead(stream, **{name: margin_ms + 1}))
    stream.clock.now -= 1  # the first plan waits a moment
    with pytest.raises(OffsetError, match="is later than"):
        query.batch()


def test_our_own_clock_was_set_back() -> None:
    """Before a time counts as one to come, a call shows the service's clock: our own may have been set back since the last one."""
    stream = UnsureClock(scripted_stream().clock)
    stream.create(1)
    stream.put_many(A, 5)
    query = started_at(stream, ahead(stream, arrived_ms=0))
    read = query.batch()
    stream.put_many(A, 5)
    stream.behind_ms = 2 * ARRIVAL_MARGIN_MS
    assert read + query.batch() == everything(stream)
    assert stream.behind_ms == 0


class UnsureClock(ScriptedStream):
    """Takes the service's clock for an earlier one until it gets a response."""

    behind_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() - self.behind_ms

    def describe(self) -> StreamSummary:
        self.behind_ms = 0
        return super().describe()


def test_a_server_whose_arrival_times_are_to_come() -> None:
    """No offset gets a time from a record that says it arrived hours from now, so the next plan is not refused."""
    stream = scripted_stream()
    stream.mood = Mood(jitter_ms=30 * ARRIVAL_MARGIN_MS)
    query = Planned([stream])
    read = []
    for _ in range(10):
        stream.put_many(A, 3)
        read += query.batch()
        query.restart()
    assert read == everything(stream)[: len(read)]
    assert read
