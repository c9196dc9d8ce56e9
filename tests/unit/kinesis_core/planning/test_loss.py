"""Single judgements whether records were lost. `tests/property/test_loss_judgement.py` has generated ones."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_core.errors import DataLossError
from kinesis_core.model import HOUR_MS, After, At, AtTimestamp, Cut, Record, ShardOffset, TrimHorizon
from kinesis_core.planning.data_loss import DataLoss, Doubtful, Lost, Planned, PlanOutcome
from kinesis_core.planning.loss import (
    Doubt,
    Loss,
    LossReport,
    NoProgress,
    OffsetExpired,
    RecordExpired,
    judge,
)
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.shards import STALLED_PAGES, VISIT_PAGES, Expired, Left
from support.one_shard import OneShard, end_after

NOW_MS = 1_790_000_000_000


def ago(hours: float) -> int:
    return int(NOW_MS - hours * HOUR_MS)


def record(number: int, hours: float | None) -> Record:
    """Return a record that arrived so many hours ago, or does not say when."""
    return Record(str(number), arrived_s=None if hours is None else ago(hours) / 1000)


def judged(doubt: Doubt, oldest: Record | None, hours: int) -> Loss | None:
    return judge(doubt, Expired(oldest), lambda: hours, lambda: NOW_MS)


def doubt(cut: Cut, hours: float, *, names_seen: bool = False, following: Record | None = None) -> Doubt:
    """Return a doubt at *cut*, after which no record arrived until so many hours ago."""
    return Doubt(cut, ago(hours), None, following, is_stuck=False, names_seen=names_seen)


def test_an_oldest_record_without_a_time_after_a_start_at_a_time() -> None:
    """It may have arrived before or after the start, so records between may have expired."""
    start = doubt(AtTimestamp(ago(40)), 30)
    oldest = record(7, None)
    assert judged(start, oldest, 24) == OffsetExpired(30 * HOUR_MS, 24, oldest)


def test_an_oldest_record_from_before_a_start_at_a_time() -> None:
    """It is no later than what was promised, so nothing after that has expired."""
    start = doubt(AtTimestamp(ago(40)), 30)
    assert judged(start, record(7, 31), 24) is None
    assert judged(start, record(7, 30), 24) is not None


@pytest.mark.parametrize("oldest", [record(9, 2), None])
@pytest.mark.parametrize(("names_seen", "is_loss"), [(True, True), (False, False)])
def test_a_record_that_was_read_and_is_gone(oldest: Record | None, names_seen: bool, is_loss: bool) -> None:
    """It shows that records after it may have expired, whatever retention anybody saw. A time of emptiness shows nothing."""
    found = judged(doubt(After(5), 30, names_seen=names_seen), oldest, 168)
    assert found == (OffsetExpired(30 * HOUR_MS, 168, oldest) if is_loss else None)


@pytest.mark.parametrize("oldest", [record(9, 2), None])
@pytest.mark.parametrize("hours", [1, 30, 200])
def test_a_record_to_read_that_is_gone(oldest: Record | None, hours: float) -> None:
    """It was seen and not read: that is a loss at any age."""
    assert judged(doubt(At(5), hours, names_seen=True), oldest, 168) == RecordExpired(5, oldest)


def test_a_record_that_is_gone_while_the_next_one_is_there() -> None:
    """Nothing was between the two."""
    following = record(9, 2)
    assert judged(doubt(After(5), 30, names_seen=True, following=following), following, 24) is None


@pytest.mark.parametrize(
    ("cut", "is_loss"),
    [(After(5), True), (At(5), True), (TrimHorizon(), False), (AtTimestamp(ago(2)), False)],
)
def test_reading_that_is_stuck(cut: Cut, is_loss: bool) -> None:
    """From a time, Kinesis finds the oldest record by itself. A record that is gone may be what reading is stuck at."""
    stuck = evolve(doubt(cut, 2), is_stuck=True)
    oldest = record(9, 1)
    assert judged(stuck, oldest, 24) == (NoProgress(2 * HOUR_MS, 24, oldest) if is_loss else None)
    assert judged(evolve(stuck, is_stuck=False), oldest, 24) is None


@pytest.mark.parametrize(("oldest", "is_loss"), [(6, False), (7, False), (8, True), (None, True)])
def test_a_record_that_was_seen_after_the_cut(oldest: int | None, is_loss: bool) -> None:
    """Once a later record is the oldest one, or none is left, it has expired at any age."""
    left = None if oldest is None else record(oldest, 1)
    found = judged(evolve(doubt(After(5), 2), expected=7), left, 24)
    assert found == (RecordExpired(7, left) if is_loss else None)


def test_a_search_for_another_record_begins_anew() -> None:
    """What an unfinished search has shown of one record says nothing of another one."""
    one = OneShard()
    put = one.put(3)
    one.stream.gaps[one.shard_id, 0] = one.stream.gaps[one.shard_id, 1] = 2 * VISIT_PAGES
    assert one.state.look_for(At(put[1].number)) is None
    assert one.state.look_for(At(put[2].number)) == Left(put[2])


@pytest.mark.parametrize(
    ("gap", "stall_s", "moves"), [(0, 0, True), (1, 0, True), (3, 0, True), (0, 60, False)]
)
def test_a_shard_that_can_be_read_again(gap: int, stall_s: float, moves: bool) -> None:
    """Records show it, and so does a gap whose second page has some, or is closer to the tip than its first."""
    one = OneShard()
    first, _ = one.put(2)
    one.stream.gaps[one.shard_id, 1] = gap
    one.stream.stall(one.shard_id, stall_s)
    assert one.state.moves(After(first.number)) is moves


def test_a_plan_is_worth_one_of_three_values() -> None:
    """What it found, nothing that is certain yet, or a loss. A loss is reported by who asks for an end."""
    one = OneShard()
    first, second, last = one.put(3)
    facts = StreamFacts("orders", one.stream, one.stream.clock)
    loss = DataLoss(LossReport("orders", is_fatal=True), facts)
    started, end = ShardOffset(After(first.number), 1), end_after(last, second)

    def plan() -> PlanOutcome:
        return loss.plan(one.state, started, lambda _: end, None, None)

    assert plan() == Planned(end)
    one.stream.trim(one.shard_id, 2)
    one.stream.stall(one.shard_id, 60)
    assert plan() == Doubtful()
    assert loss.find_end(one.state, started, lambda _: end) == started
    one.stream.clock.sleep(61)
    age_ms = one.stream.now_ms() - 1
    assert plan() == Lost(OffsetExpired(age_ms, 24, last), 1)
    with pytest.raises(DataLossError, match=f"the oldest record left is {last.sequence_number}"):
        loss.find_end(one.state, started, lambda _: end)


def test_a_search_that_finds_nothing_leaves_a_plan_in_doubt() -> None:
    """The next plans continue it. Once its pages are too many without progress, the shard counts as stalled."""
    one = OneShard()
    first, _, last = one.put(3)
    facts = StreamFacts("orders", one.stream, one.stream.clock)
    loss = DataLoss(LossReport("orders", is_fatal=True), facts)
    one.stream.stall(one.shard_id, 3600)
    started, end = ShardOffset(After(first.number), 1), end_after(last, last)
    stalled = []
    for _ in range(2 * STALLED_PAGES // VISIT_PAGES):
        assert loss.plan(one.state, started, lambda _: end, None, None) == Doubtful()
        stalled.append(one.state.stall.is_on)
    assert not stalled[0]
    assert stalled[-1]
