"""Changes are refused while workers run."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import CommandError
from kinesis_cli.lease_table.activity import Life, SeenWorker
from kinesis_cli.lease_table.guarding import check_release, check_reset

ONE, TWO = SeenWorker("one", 2, Life.RUNNING), SeenWorker("two", 1, Life.SILENT)
FRESH = SeenWorker("three", 0, Life.REPORTED, report_age_s=12)
UNKNOWN = SeenWorker("four", 1, Life.UNKNOWN)


def test_a_reset_needs_silence() -> None:
    """No worker may run, also none without leases that has just reported."""
    check_reset([TWO], "billing", force=False)
    check_reset([ONE], "billing", force=True)
    with pytest.raises(
        CommandError, match=r"Workers of billing run: one \(it renews its leases\)\. Stop them first"
    ):
        check_reset([ONE, TWO], "billing", force=False)
    with pytest.raises(CommandError, match=r"three \(it reported 12\.0 s ago\)"):
        check_reset([FRESH], "billing", force=False)


def test_a_worker_that_was_not_watched() -> None:
    """It may run. The error says how to find out."""
    expected = (
        r"^Workers of billing may run: four\. They were not watched long enough to tell: "
        r"add --watch-for 4s, or --force\. Nothing was changed\.$"
    )
    with pytest.raises(CommandError, match=expected):
        check_reset([TWO, UNKNOWN], "billing", force=False)
    with pytest.raises(CommandError, match=expected):
        check_release([TWO, UNKNOWN], "four", "billing", force=False)
    check_reset([TWO, UNKNOWN], "billing", force=True)
    with pytest.raises(CommandError, match=r"run: one \(it renews its leases\)\. Stop them first"):
        check_reset([ONE, UNKNOWN], "billing", force=False)


def test_a_release_needs_one_silent_worker() -> None:
    """Only the worker itself must not run."""
    check_release([ONE, TWO], "two", "billing", force=False)
    with pytest.raises(CommandError, match="one"):
        check_release([ONE, TWO], "one", "billing", force=False)
    check_release([ONE, TWO], "one", "billing", force=True)


@pytest.mark.parametrize("name", ["three", "nobody"])
def test_a_worker_without_leases(name: str) -> None:
    """A worker without leases has nothing to release. The error names those that have."""
    with pytest.raises(
        CommandError, match=f"{name} owns no leases of billing. Leases are owned by: one, two"
    ):
        check_release([ONE, TWO, FRESH], name, "billing", force=True)
