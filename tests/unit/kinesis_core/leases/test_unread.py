"""The checkpoint of a shard that begins at a time: the last record before it, found in few calls."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from kinesis_core.errors import StreamNotFoundError, ThrottledError, UnavailableError
from kinesis_core.leases.lease import ALL_USER_RECORDS
from kinesis_core.leases.unread import last_before
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood

A = "shardId-000000000000"
HOUR_S = 3600.0


def make_stream(mood: Mood | None = None) -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0), mood or Mood()).create(1)


def found(stream: FakeStream, until_ms: int) -> str:
    checkpoint = last_before(stream, A, until_ms, stream.clock)
    assert checkpoint.sub_sequence_number == (ALL_USER_RECORDS if checkpoint.is_number else 0)
    return checkpoint.number


@pytest.mark.parametrize("later", [0, 1])
def test_few_records(later: int) -> None:
    """One call finds the record if a page holds all that the shard has."""
    stream = make_stream()
    for _ in range(50):
        last = stream.put(A, b"x")
        stream.clock.sleep(HOUR_S / 10)
    start_ms = stream.now_ms()
    for _ in range(later):
        stream.put(A, b"after the start")
    assert found(stream, start_ms) == last.sequence_number
    assert stream.calls["GetRecords"] == 1


def test_many_records() -> None:
    """A search over a day of records takes a number of calls that grows with the logarithm of the time."""
    stream = make_stream()
    for _ in range(20_000):
        last = stream.put(A, b"x")
        stream.clock.sleep(4.0)
    stream.clock.sleep(2 * HOUR_S)
    started_s = stream.clock.now_s()
    assert found(stream, stream.now_ms()) == last.sequence_number
    assert stream.calls["GetRecords"] <= 20
    assert stream.clock.now_s() - started_s <= 10


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.sampled_from([0.0, 0.01, 1.0, 60.0, 4000.0])), max_size=8),
    st.floats(0, 1),
    st.builds(
        Mood,
        throttles=st.sampled_from([0, 20]),
        empty_pages=st.sampled_from([0, 40]),
        short_pages=st.sampled_from([0, 30]),
        expiries=st.sampled_from([0, 20]),
        boasts=st.sampled_from([0, 50]),
    ),
)
def test_any_history(bursts: list[tuple[int, float]], where: float, mood: Mood) -> None:
    """Wherever the start is, the record found is the last one before it."""
    stream = make_stream(mood)
    first_ms = stream.now_ms()
    for count, pause_s in bursts:
        for _ in range(count):
            stream.put(A, b"x")
        stream.clock.sleep(pause_s)
    until_ms = first_ms + int((stream.now_ms() - first_ms) * where)
    before = [r.sequence_number for r in stream.shards[A].records if (r.arrived_ms or 0) < until_ms]
    try:
        assert found(stream, until_ms) == (before[-1] if before else "TRIM_HORIZON")
    except ThrottledError:
        assert mood.throttles


def test_calls_that_fail() -> None:
    """A call that fails for good, or is throttled again and again, is raised."""
    with pytest.raises(StreamNotFoundError):
        last_before(make_stream(), "shardId-000000000009", 1, FakeClock())
    throttled = make_stream(Mood(throttles=100))
    with pytest.raises(ThrottledError):
        found(throttled, throttled.now_ms())


def test_stopping() -> None:
    """A search ends at its next call once the query stops."""
    stream = make_stream()
    with pytest.raises(UnavailableError, match=r"Reading stops\."):
        last_before(stream, A, stream.now_ms(), stream.clock, lambda: True)
    assert stream.calls == {}
