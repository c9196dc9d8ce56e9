"""What a query reports of itself."""

from __future__ import annotations

from spark_kinesis_source.reader_42 import describe_lag


def test_lag() -> None:
    """The report has the lag of each shard, and the maximum, mean and minimum over all streams. Retention and losses go with it."""
    hours, losses = {"orders": 24, "payments": 168}, {"orders": 0, "payments": 2}
    assert describe_lag({"orders": {"a": 10, "b": 0}, "payments": {"a": 5}}, hours, losses) == {
        "msBehindLatest": {"orders": {"a": 10, "b": 0}, "payments": {"a": 5}},
        "maxMsBehindLatest": 10,
        "avgMsBehindLatest": 5,
        "minMsBehindLatest": 0,
        "retentionHours": {"orders": 24, "payments": 168},
        "dataLosses": {"orders": 0, "payments": 2},
    }


def test_nothing_asked_yet() -> None:
    """There is no report before the first plan."""
    assert describe_lag({"orders": {}}, {}, {"orders": 0}) is None
