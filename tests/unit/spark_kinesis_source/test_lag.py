"""What a query reports of itself."""

from __future__ import annotations

from spark_kinesis_source.reader_42 import describe_lag


def test_lag() -> None:
    """The report has the lag of each shard, and the maximum, mean and minimum over all streams. Retention and losses go with it."""
    hours, losses = {"orders": 24, "payments": 168}, {"orders": 0, "payments": 2}
    assert describe_lag({"orders": {"a": 10, "b": 0}, "payments": {"a": 5}}, hours, losses) == {
        "msBehindLatest": {"orders": {"a": 10, "b": 0}, "payments": {"a": 5}},
        "shardCounts": {"orders": 2, "payments": 1},
        "maxMsBehindLatest": 10,
        "avgMsBehindLatest": 5,
        "minMsBehindLatest": 0,
        "retentionHours": {"orders": 24, "payments": 168},
        "dataLosses": {"orders": 0, "payments": 2},
    }


def test_a_large_stream() -> None:
    """Of a stream with more than 200 shards, the 20 that are furthest behind are reported. The summary is of all shards."""
    lag_ms = {f"shardId-{i:03d}": i % 200 for i in range(201)}
    small = {shard_id: lag_ms[shard_id] for shard_id in sorted(lag_ms)[:200]}
    report = describe_lag({"large": lag_ms, "small": small}, {}, {})
    assert report is not None
    worst = {f"shardId-{i:03d}": i for i in range(199, 179, -1)}
    assert report["msBehindLatest"] == {"large": worst, "small": small}
    assert report["shardCounts"] == {"large": 201, "small": 200}
    assert (report["maxMsBehindLatest"], report["minMsBehindLatest"]) == (199, 0)
    assert report["avgMsBehindLatest"] == sum([*lag_ms.values(), *small.values()]) // 401


def test_nothing_asked_yet() -> None:
    """There is no report before the first plan."""
    assert describe_lag({"orders": {}}, {}, {"orders": 0}) is None
