"""Starts and ends compared before anything is read."""

from __future__ import annotations

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.model import (
    OPTION_NAMES,
    After,
    At,
    AtTimestamp,
    EndingPosition,
    ForeignCheckpoint,
    Latest,
    OneStreamStart,
    PerShard,
    ShardEnd,
    TrimHorizon,
    check_order,
)

A, B = "shardId-000000000000", "shardId-000000000001"
NINE, TEN = AtTimestamp(1769850000000), AtTimestamp(1769853600000)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (TEN, NINE),
        (PerShard({A: TEN, B: TEN}), NINE),
        (TEN, PerShard({A: NINE, B: NINE})),
        (PerShard({A: At(3), B: TEN}), PerShard({A: At(2), B: NINE})),
        (PerShard({B: At(7)}), PerShard({B: At(6)})),
        (PerShard({B: After(7)}), PerShard({B: At(7)})),
        (PerShard({B: At(7)}), PerShard({B: After(6)})),
        (PerShard({B: ShardEnd()}), PerShard({B: At(6)})),
        (ForeignCheckpoint({B: After(7)}), PerShard({B: After(6)})),
    ],
)
def test_a_start_after_the_end_is_refused(start: OneStreamStart, end: EndingPosition) -> None:
    """A read cannot start after its end: neither by times, nor by the records of its shards."""
    with pytest.raises(OptionError, match="is after its end"):
        check_order(["orders"], start, end, OPTION_NAMES)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (NINE, NINE),
        (NINE, TEN),
        (TEN, Latest()),
        (TrimHorizon(), NINE),
        (Latest(), NINE),
        (PerShard({B: After(7)}), PerShard({B: After(7)})),
        (PerShard({B: At(7)}), PerShard({B: At(7)})),
        (PerShard({B: At(7)}), PerShard({B: After(7)})),
        (PerShard({A: At(7)}), PerShard({B: At(6)})),
        (PerShard({A: At(7)}), NINE),
        (TEN, PerShard({A: At(7)})),
        (PerShard({A: ShardEnd()}), NINE),
        (PerShard({A: ShardEnd()}), PerShard({A: After(6)})),
        (PerShard({A: Latest()}), PerShard({A: At(7)})),
        (PerShard({A: NINE, B: TEN}), NINE),
        (TEN, PerShard({A: Latest(), B: NINE})),
        (PerShard({A: At(1), B: After(9)}), PerShard({A: At(2), B: At(7)})),
    ],
)
def test_other_reads_are_accepted(start: OneStreamStart, end: EndingPosition) -> None:
    """
    Equal positions are an empty read. A time and a record cannot be compared, nor can LATEST before the read.

    A shard that alone starts after its end is an empty range: it hides no record of the others.
    """
    check_order(["orders"], start, end, OPTION_NAMES)


def test_the_error_names_both_positions() -> None:
    """The error shows both positions, the stream, the shard where they differ, and what to change."""
    with pytest.raises(OptionError) as times:
        check_order(["orders"], TEN, NINE, OPTION_NAMES)
    assert str(times.value) == (
        "The start of the read, AT_TIMESTAMP 2026-01-31 10:00:00 UTC, is after its end, AT_TIMESTAMP 2026-01-31 09:00:00 "
        "UTC. Exchange 'startingPosition' and 'endingPosition', or correct one of them. [stream=orders]"
    )
    with pytest.raises(OptionError, match=rf"AFTER 7, .* AT 7\. .* \[stream=orders shard={B}\]"):
        check_order(["orders"], PerShard({B: After(7)}), PerShard({B: At(7)}), OPTION_NAMES)
