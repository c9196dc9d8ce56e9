"""A rate of records."""

from __future__ import annotations

from kinesis_cli.putting import PutPace


def test_a_rate_is_kept() -> None:
    """Records wait until those before them have had their time."""
    pace = PutPace(100)
    assert pace.part == 10
    assert pace.wait_s(10, now_s=5.0) == 0
    assert round(pace.wait_s(10, now_s=5.0), 6) == 0.1
    assert round(pace.wait_s(10, now_s=5.15), 6) == 0.05


def test_idle_time_gives_no_credit() -> None:
    """After an idle minute there is no burst."""
    pace = PutPace(1)
    pace.wait_s(1, now_s=0.0)
    assert pace.wait_s(1, now_s=60.0) == 0
    assert pace.wait_s(1, now_s=60.0) == 1
