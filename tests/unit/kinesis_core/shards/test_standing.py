"""Whether a record is still in its shard."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.errors import UnavailableError
from kinesis_core.model import At, Cut, Record, TrimHorizon
from kinesis_core.shards import (
    LONGEST_S,
    STALLED_PAGES,
    Expired,
    Left,
    Passed,
    Search,
    ShardCalls,
    Stall,
    Standing,
    Unseen,
    await_record,
    find_record,
)
from support.examples import examples
from support.fake_stream import FakeClock, Mood
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"


def calls_on(stream: ScriptedStream) -> ShardCalls:
    return ShardCalls(stream, A, stream.clock, ReadRateLimiter(0.2, 2), random.Random(0), "orders")


def filled(mood: Mood | None = None, records: int = 10) -> tuple[ScriptedStream, list[Record]]:
    stream = ScriptedStream(FakeClock(), mood=mood or Mood())
    stream.create(1)
    return stream, stream.put_many(A, records, 1.0, b"")


@pytest.mark.parametrize("is_absent", [True, False])
def test_a_record_that_is_left(is_absent: bool) -> None:
    """It takes one call pair. It may be the oldest record, where it was not found itself."""
    stream, put = filled()
    stream.trim(A, 4)
    assert find_record(calls_on(stream), put[4].number, is_absent=is_absent) == Left(put[4])
    assert len(stream.log) == 2


@pytest.mark.parametrize("is_stuck", [True, False])
@pytest.mark.parametrize("trimmed", [5, 10])
def test_a_record_that_expired(is_stuck: bool, trimmed: int) -> None:
    """Whether Kinesis goes on at the oldest record in silence or brings nothing, the oldest record shows it."""
    stream, put = filled()
    stream.is_stuck_when_trimmed = is_stuck
    stream.trim(A, trimmed)
    oldest = put[trimmed] if trimmed < len(put) else None
    assert find_record(calls_on(stream), put[4].number) == Expired(oldest)


def test_a_number_that_is_no_record() -> None:
    """An older record would expire first. So no record after the number has."""
    stream, put = filled()
    for number in (put[4].number + 1, put[-1].number + 1):
        assert find_record(calls_on(stream), number) == Passed(put[0], is_absent=True)
    assert find_record(calls_on(stream), put[0].number - 1) == Expired(put[0])


def test_a_shard_that_brings_nothing() -> None:
    """Empty pages prove nothing, neither those from the record nor those from the oldest one. A visit ends sooner."""
    stream, put = filled()
    stream.stall(A, 3600)
    assert find_record(calls_on(stream), put[4].number) == Unseen()
    assert len(stream.calls_of("GetRecords")) == 2 * STALLED_PAGES
    assert find_record(calls_on(stream), put[4].number, 5) == Unseen()
    assert len(stream.calls_of("GetRecords")) == 2 * STALLED_PAGES + 10


@pytest.mark.parametrize("cut", [At(0), TrimHorizon()])
def test_a_search_is_continued(cut: Cut) -> None:
    """Each visit costs a few pages. A gap is crossed by all of them together, and its end is found again by the cursor that is left."""
    stream, put = filled()
    stream.trim(A, 5)
    stream.gaps[A, 5] = 20
    search, calls = Search(At(put[4].number) if cut == At(0) else cut), calls_on(stream)
    visits = 0
    while (found := search.proceed(calls, 5)) == Unseen():
        visits += 1
        assert len(stream.calls_of("GetRecords")) <= 6 * visits
        assert not search.is_stuck
    assert found == Expired(put[5])
    assert search.oldest is not None
    assert calls.read(search.oldest, 1).records == [put[5]]


def test_one_waits_until_it_can_be_seen() -> None:
    """A shard that brings nothing for some minutes is waited for, and after ten minutes it is an error that is no loss."""
    stream, put = filled()
    calls = calls_on(stream)
    stream.stall(A, 0.9 * LONGEST_S)
    assert not isinstance(await_record(calls, put[4].number, Stall("orders", A)), Expired)
    stream.stall(A, 3 * LONGEST_S)
    with pytest.raises(UnavailableError, match="Nothing is lost as far as can be seen") as raised:
        await_record(calls, put[4].number, Stall("orders", A))
    assert raised.value.code == "NoProgress"


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(0, 9),
    st.integers(0, 10),
    st.integers(0, 5000),
    st.booleans(),
    st.integers(0, 4),
    st.builds(
        Mood,
        throttles=st.sampled_from([0, 20]),
        empty_pages=st.sampled_from([0, 40]),
        expiries=st.sampled_from([0, 20]),
        stalls=st.sampled_from([0, 10]),
    ),
    st.integers(),
)
def test_any_shard(
    index: int, trimmed: int, gap: int, is_stuck: bool, gap_at: int, mood: Mood, seed: int
) -> None:
    """Whatever the service does, a record that is left is not reported as expired, nor the reverse."""
    stream, put = filled(mood)
    stream.rng = random.Random(seed)
    stream.trim(A, trimmed)
    stream.is_stuck_when_trimmed = is_stuck
    stream.gaps[A, gap_at] = gap % 70
    found: Standing = await_record(calls_on(stream), put[index].number, Stall("orders", A))
    oldest = put[trimmed] if trimmed < len(put) else None
    if index < trimmed:
        assert found == Expired(oldest)
    else:  # an older record in front of a gap proves as much
        assert found in (Left(put[index]), Passed(put[trimmed], is_absent=False))
