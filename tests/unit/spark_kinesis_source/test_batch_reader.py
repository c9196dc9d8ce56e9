"""Batch reads whose positions contradict each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.model import AtTimestamp
from spark_kinesis_source import KinesisDataSource, default_schema

SHARD = "shardId-000000000000"
OPTIONS = {"streamName": "orders", "region": "eu-west-1"}
NINE, TEN = "2026-01-31T09:00:00Z", "2026-01-31T10:00:00Z"


def source(**options: Any) -> KinesisDataSource:
    return KinesisDataSource({**OPTIONS, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"startingPosition": TEN, "endingPosition": NINE},
        {
            "streamName": "orders,returns",
            "startingPosition": json.dumps({"orders": TEN, "returns": TEN}),
            "endingPosition": NINE,
        },
    ],
)
def test_a_start_after_the_end_is_refused_before_any_call(options: dict[str, Any]) -> None:
    """A batch read whose start is after its end is refused by the positions alone."""
    message = "is after its end.*Exchange startingPosition and endingPosition, or correct one of them"
    with pytest.raises(OptionError, match=message):
        source(**options).reader(default_schema())


def test_a_streaming_query_ignores_the_end() -> None:
    """An end before the start has no effect on a streaming query."""
    assert source(startingPosition=TEN, endingPosition=NINE).streamReader(default_schema())


def test_a_duration_is_a_time_when_the_reader_is_made() -> None:
    """So it means the same moment in all plans of a query, and in its checkpoint."""
    reader = source(startingPosition="3h ago").streamReader(default_schema())
    assert isinstance(reader.options.starting_position, AtTimestamp)  # type: ignore[attr-defined] # our own


def test_durations_in_the_wrong_order_are_refused() -> None:
    """A read from one hour ago to three hours ago is refused before any call."""
    with pytest.raises(OptionError, match="is after its end"):
        source(startingPosition="1h", endingPosition="3h ago").reader(default_schema())


def test_a_start_at_the_end_is_accepted() -> None:
    """Equal times are an empty read."""
    assert source(startingPosition=TEN, endingPosition=TEN).reader(default_schema())
