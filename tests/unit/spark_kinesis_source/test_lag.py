"""The lag that a query reports."""

from __future__ import annotations

from spark_kinesis_source.lag import describe_lag


def test_lag() -> None:
    """The report has the lag of each shard, and the maximum, mean and minimum over all streams."""
    assert describe_lag({"orders": {"a": 10, "b": 0}, "payments": {"a": 5}}) == {
        "msBehindLatest": {"orders": {"a": 10, "b": 0}, "payments": {"a": 5}},
        "maxMsBehindLatest": 10,
        "avgMsBehindLatest": 5,
        "minMsBehindLatest": 0,
    }


def test_nothing_asked_yet() -> None:
    """There is no report before the first plan."""
    assert describe_lag({"orders": {}}) is None
