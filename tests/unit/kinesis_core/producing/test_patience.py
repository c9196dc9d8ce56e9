from __future__ import annotations

import pytest

from kinesis_core.producing.patience import Patience


def attempts(patience: Patience, every_s: float, *, is_throttled: bool = False) -> float:
    """Fail until the patience is over, and return after how many seconds that is."""
    now_s = began_s = 1_000.0
    patience.failed(now_s, is_throttled=is_throttled)
    while not patience.is_over:
        now_s += every_s
        patience.failed(now_s, is_throttled=is_throttled)
    return now_s - began_s


@pytest.mark.parametrize("every_s", [0.5, 2.0, 15.0])
def test_failures_end_after_the_ttl(every_s: float) -> None:
    """Failures without a success end after the TTL. Before the first attempt, nothing is over."""
    patience = Patience(30)
    assert not patience.is_over
    assert 30 <= attempts(patience, every_s) < 30 + every_s


def test_throttles_end_after_twenty_times_the_ttl() -> None:
    """A throttle shows that the shard works, so throttles are waited out for longer."""
    assert attempts(Patience(30), 1.0, is_throttled=True) == 600


def test_a_success_starts_anew() -> None:
    """The time counts from the last success."""
    patience = Patience(30)
    for second in range(29):
        patience.failed(second)
    patience.succeeded()
    assert 30 <= attempts(patience, 1.0) < 31


def test_a_throttle_ends_an_outage() -> None:
    """Failures before and after a throttle are two outages."""
    patience = Patience(30)
    for second in range(0, 58, 2):
        patience.failed(second, is_throttled=second == 28)
    assert not patience.is_over
    patience.failed(58)
    assert patience.is_over


def test_a_process_that_stands_still_does_not_fail() -> None:
    """An hour between two attempts counts as half the TTL: a process that was stopped has not tried for an hour."""
    patience = Patience(30)
    patience.failed(0)
    patience.failed(3_600)
    assert not patience.is_over
    patience.failed(7_200)
    assert patience.is_over


def test_no_patience_is_over_at_the_first_failure() -> None:
    """With a TTL of 0 there is one attempt."""
    patience = Patience(0)
    patience.failed(0)
    assert patience.is_over
