"""The read rate limiter: how long the calls on a shard wait."""

from __future__ import annotations

import random

from kinesis_core.aws import ReadRateLimiter

NOW_S = 1000.0


def test_calls_of_tasks_count() -> None:
    """Calls that a task will make soon use the shard's quota like the planner's own calls."""
    limiter = ReadRateLimiter(0.2)
    limiter.spend(NOW_S, calls=3)
    assert abs(limiter.wait_s(NOW_S) - 0.6) < 1e-6


def test_a_rest_is_kept_and_never_shortened() -> None:
    """The longer of two rests counts."""
    limiter = ReadRateLimiter(0.2)
    limiter.rest(NOW_S + 5)
    limiter.rest(NOW_S + 1)
    assert limiter.wait_s(NOW_S) == 5
    assert limiter.wait_s(NOW_S + 5) == 0


def test_success_ends_backing_off() -> None:
    """After a success the next throttle waits no longer than a first one."""
    limiter, rng = ReadRateLimiter(0.2), random.Random(0)
    for _ in range(8):
        limiter.throttled(NOW_S, rng)
    limiter.succeeded()
    now_s = NOW_S + 100
    limiter.throttled(now_s, rng)
    assert limiter.wait_s(now_s) <= 0.4


def test_a_clock_set_back_does_not_lengthen_a_wait() -> None:
    """If the clock is set back by an hour during a wait, the wait stays as long as before."""
    limiter = ReadRateLimiter(0.2)
    limiter.rest(NOW_S + 5)
    assert limiter.wait_s(NOW_S + 1) == 4
    assert abs(limiter.wait_s(NOW_S + 1 - 3600) - 4) < 1e-6
    assert limiter.wait_s(NOW_S + 5 - 3600) == 0
