"""What `kinesis top` says of a reader: its lag, and its speed."""

from __future__ import annotations

import pytest

from kinesis_cli.lag import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.live import LiveReader, Speeds, readers_by

AT_MS = 1_790_000_000_000
CURRENT = ShardLag("shardId-0", State.CURRENT, 0)
BEHIND = ShardLag("shardId-1", State.BEHIND, 4000)
EXPIRED = ShardLag("shardId-2", State.EXPIRED, 90_000)
FINISHED = ShardLag("shardId-3", State.FINISHED, 0)


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        (
            ReaderLag(reader="a", kind="spark", shards=[CURRENT, FINISHED]),
            LiveReader("a", "checkpoint", 0, "current", AT_MS),
        ),
        (
            ReaderLag(reader="a", kind="awslabs", shards=[CURRENT, BEHIND, FINISHED], committed_ms=5),
            LiveReader("a", "checkpoint", 4000, "behind in 1 of 2 shards", AT_MS, 5),
        ),
        (
            ReaderLag(reader="a", kind="application", shards=[BEHIND, EXPIRED]),
            LiveReader("a", "application", 90_000, "records lost in 1 of 2 shards", AT_MS),
        ),
        (
            ReaderLag(reader="a", kind="", problem="no table"),
            LiveReader("a", "unknown", None, "no table", AT_MS),
        ),
    ],
)
def test_a_reader(measured: ReaderLag, shown: LiveReader) -> None:
    """The worst thing is shown: a problem, lost records, then lag."""
    asked = []

    def measure(stream: str) -> StreamLag:
        asked.append(stream)
        return StreamLag(
            stream=stream, arn="arn", measured_ms=AT_MS, retention_ms=86_400_000, readers=[measured]
        )

    assert readers_by(measure)("orders") == [shown]
    assert asked == ["orders"]


def reader(lag_ms: int | None, at_s: int, committed_s: int | None = None) -> LiveReader:
    committed_ms = None if committed_s is None else 1000 * committed_s
    return LiveReader("billing", "checkpoint", lag_ms, "", 1000 * at_s, committed_ms)


@pytest.mark.parametrize(
    ("lags", "speed"),
    [
        ([0] * 11, 1.0),
        ([1000 * second for second in range(11)], 0.0),
        ([60_000 - 2000 * second for second in range(11)], 3.0),
        ([2000 * second for second in range(11)], 0.0),
        ([5000] * 4, None),
    ],
)
@pytest.mark.parametrize("has_commits", [True, False])
def test_speeds(lags: list[int], speed: float | None, *, has_commits: bool) -> None:
    """A reader with an even lag keeps up, one whose lag grows with time stands still, one whose lag falls catches up."""
    speeds = Speeds()
    for second, lag_ms in enumerate(lags):
        speeds.note([reader(lag_ms, second, second if has_commits else None)])
    assert speeds.of("billing") == (None if speed is None else pytest.approx(speed))


def test_the_last_minute_counts() -> None:
    """A reader that stood still and goes on has the speed of the last minute."""
    speeds = Speeds()
    for second in range(120):
        speeds.note([reader(1000 * min(second, 60), second)])
    assert speeds.of("billing") == pytest.approx(1, abs=0.02)


def test_a_reader_that_commits_nothing() -> None:
    """
    A query that ended when it was current has no speed, though its lag only grows from the first new record on. Neither has one
    that ended a while ago, once its last commit is older than a minute.
    """
    speeds = Speeds()
    for second in range(60):
        speeds.note([reader(1000 * max(0, second - 20), second, -480)])
    assert speeds.of("billing") is None
    speeds = Speeds()
    for second in range(120):
        speeds.note([reader(0, second, min(second, 30))])
        assert (speeds.of("billing") is None) == (not 5 <= second < 90)


def test_a_measurement_counts_for_its_time() -> None:
    """A measurement that is on the screen for some seconds is not several ones: a reader that stands still is not seen to keep up."""
    speeds = Speeds()
    for second in range(12):
        speeds.note([reader(5000 * (second // 5), 5 * (second // 5))])
        assert speeds.of("billing") in (None, 0.0)
    assert speeds.of("billing") == 0.0


def test_a_reader_whose_lag_is_no_longer_known() -> None:
    """Its speed is not known either, until it was measured for some seconds again."""
    speeds = Speeds()
    for second in range(11):
        speeds.note([reader(0, second)])
    speeds.note([reader(None, 11)])
    assert speeds.of("billing") is None
    speeds.note([reader(0, 12)])
    assert speeds.of("billing") is None


def test_readers_without_a_lag() -> None:
    """A reader whose lag is not known has no speed."""
    speeds = Speeds()
    for second in range(11):
        speeds.note([reader(None, second)])
    assert speeds.of("billing") is None
