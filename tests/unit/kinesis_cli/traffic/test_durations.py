"""The option --sample."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import UsageError
from kinesis_cli.traffic import parse_sample


@pytest.mark.parametrize(("text", "ms"), [("1s", 1000), ("1500ms", 1500), ("5m", 300_000), ("1h", 3_600_000)])
def test_times(text: str, ms: int) -> None:
    """A sample is of 1 second to 1 hour."""
    assert parse_sample(text) == ms


@pytest.mark.parametrize("text", ["", "10", "999ms", "61m", "now", "-5s"])
def test_other_values_are_refused(text: str) -> None:
    """Any other value is an error that names the option and the value."""
    with pytest.raises(UsageError, match=f"--sample accepts .* got '{text}'"):
        parse_sample(text)
