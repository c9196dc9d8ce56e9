"""What `kinesis top` says of a reader whose lag was measured."""

from __future__ import annotations

import pytest

from kinesis_cli.lag import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.live import LiveReader, readers_by

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
