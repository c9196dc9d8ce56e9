"""What `kinesis top` says of a reader: its lag, and its speed."""

from __future__ import annotations

import pytest

from kinesis_cli.lag import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.live import LiveReader, Speeds, readers_by

CURRENT = ShardLag("shardId-0", State.CURRENT, 0)
BEHIND = ShardLag("shardId-1", State.BEHIND, 4000)
EXPIRED = ShardLag("shardId-2", State.EXPIRED, 90_000)
FINISHED = ShardLag("shardId-3", State.FINISHED, 0)


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        (
            ReaderLag(reader="a", kind="spark", shards=[CURRENT, FINISHED]),
            LiveReader("a", "checkpoint", 0, "current"),
        ),
        (
            ReaderLag(reader="a", kind="awslabs", shards=[CURRENT, BEHIND, FINISHED]),
            LiveReader("a", "checkpoint", 4000, "behind in 1 of 2 shards"),
        ),
        (
            ReaderLag(reader="a", kind="application", shards=[BEHIND, EXPIRED]),
            LiveReader("a", "application", 90_000, "records lost in 1 of 2 shards"),
        ),
        (ReaderLag(reader="a", kind="", problem="no table"), LiveReader("a", "unknown", None, "no table")),
    ],
)
def test_a_reader(measured: ReaderLag, shown: LiveReader) -> None:
    """The worst thing is shown: a problem, lost records, then lag."""
    asked = []

    def measure(stream: str) -> StreamLag:
        asked.append(stream)
        return StreamLag(stream=stream, arn="arn", measured_ms=0, retention_ms=86_400_000, readers=[measured])

    assert readers_by(measure)("orders") == [shown]
    assert asked == ["orders"]


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
def test_speeds(lags: list[int], speed: float | None) -> None:
    """A reader with an even lag keeps up, one whose lag grows with time stands still, one whose lag falls catches up."""
    speeds = Speeds()
    for second, lag_ms in enumerate(lags):
        speeds.note([LiveReader("billing", "checkpoint", lag_ms)], 1000 * second)
    assert speeds.of("billing") == (None if speed is None else pytest.approx(speed))


def test_the_last_minute_counts() -> None:
    """A reader that stood still and goes on has the speed of the last minute."""
    speeds = Speeds()
    for second in range(120):
        lag_ms = 1000 * min(second, 60)
        speeds.note([LiveReader("billing", "checkpoint", lag_ms)], 1000 * second)
    assert speeds.of("billing") == pytest.approx(1, abs=0.02)


def test_readers_without_a_lag() -> None:
    """A reader whose lag is not known has no speed."""
    speeds = Speeds()
    for second in range(11):
        speeds.note([LiveReader("fan-out", "enhanced fan-out")], 1000 * second)
    assert speeds.of("fan-out") is None
