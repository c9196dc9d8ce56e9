"""Times as messages show them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kinesis_core.model import LAST_EPOCH_MS, AtTimestamp, show_time
from kinesis_core.options import starting_position


@pytest.mark.parametrize(
    ("epoch_ms", "shown"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1769850000000, "2026-01-31 09:00:00 UTC"),
        (1769850000007, "2026-01-31 09:00:00.007 UTC"),
        (-1, "1969-12-31 23:59:59.999 UTC"),
        (10**18, "1000000000000000000 ms since the epoch"),
    ],
)
def test_shown(epoch_ms: int, shown: str) -> None:
    """A time is shown in UTC, with milliseconds if it has any. A number that is no time is shown as it is."""
    assert show_time(epoch_ms) == shown


@given(st.integers(0, LAST_EPOCH_MS))
def test_a_shown_position_is_accepted(epoch_ms: int) -> None:
    """A position in time can be copied from a message into an option."""
    position = AtTimestamp(epoch_ms)
    assert (
        starting_position().parse(str(position)) == starting_position().parse(show_time(epoch_ms)) == position
    )
