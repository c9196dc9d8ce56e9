"""The times of a start and an end compared before anything is read."""

from __future__ import annotations

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.model import (
    AtTimestamp,
    EndingPosition,
    Latest,
    PerShard,
    PerStream,
    StartingPosition,
    TrimHorizon,
    check_times,
)

A = "shardId-000000000000"
NINE, TEN = AtTimestamp(1769850000000), AtTimestamp(1769853600000)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (TEN, NINE),
        (PerStream({"orders": TEN, "teas": TEN}), NINE),
        (TEN, PerStream({"orders": NINE, "teas": NINE})),
    ],
)
def test_a_start_after_the_end_is_refused(start: StartingPosition, end: EndingPosition) -> None:
    """A read cannot start at a later time than it ends, in all of its streams."""
    with pytest.raises(OptionError, match="is after its end"):
        check_times(["orders", "teas"], start, end)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (NINE, NINE),
        (NINE, TEN),
        (TEN, Latest()),
        (TrimHorizon(), NINE),
        (Latest(), NINE),
        (PerStream({"orders": TEN, "teas": TrimHorizon()}), NINE),
        (PerStream({"orders": TEN, "teas": NINE}), PerStream({"orders": NINE, "teas": TEN})),
        (PerShard({A: TEN}), NINE),
        (TEN, PerShard({A: NINE})),
    ],
)
def test_other_reads_are_accepted(start: StartingPosition, end: EndingPosition) -> None:
    """
    Equal times are an empty read. A stream that alone starts after its end hides no record of the others. Positions of shards are left
    to the planner: it knows those that are not named.
    """
    streams = ["orders"] if isinstance(start, PerShard) or isinstance(end, PerShard) else ["orders", "teas"]
    check_times(streams, start, end)


def test_the_error_names_both_positions() -> None:
    """The error shows both positions, the stream, and what to change."""
    with pytest.raises(OptionError) as times:
        check_times(["orders"], TEN, NINE)
    assert str(times.value) == (
        "The start of the read, AT_TIMESTAMP 2026-01-31 10:00:00 UTC, is after its end, AT_TIMESTAMP 2026-01-31 09:00:00 "
        "UTC. Exchange start and end, or correct one of them. [stream=orders]"
    )
