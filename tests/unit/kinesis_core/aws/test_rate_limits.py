from __future__ import annotations

import random

from kinesis_core.aws import ReadRateLimiter

NOW_S = 1000.0


def test_calls_made_by_somebody_else_count() -> None:
    """Calls that a task will make soon take up the shard's quota as the planner's own do."""
    limiter = ReadRateLimiter(0.2)
    limiter.spend(NOW_S, calls=3)
    assert abs(limiter.wait_s(NOW_S) - 0.6) < 1e-6


def test_a_rest_is_kept_and_never_shortened() -> None:
    """Of two rests the longer one holds."""
    limiter = ReadRateLimiter(0.2)
    limiter.rest(NOW_S + 5)
    limiter.rest(NOW_S + 1)
    assert limiter.wait_s(NOW_S) == 5
    assert limiter.wait_s(NOW_S + 5) == 0


def test_success_ends_backing_off() -> None:
    """After a success the next throttle waits as little as a first one."""
    limiter, rng = ReadRateLimiter(0.2), random.Random(0)
    for _ in range(8):
        limiter.throttled(NOW_S, rng)
    limiter.succeeded()
    now_s = NOW_S + 100
    limiter.throttled(now_s, rng)
    assert limiter.wait_s(now_s) <= 0.4


def test_a_clock_that_is_set_back_holds_nobody_up() -> None:
    """A wait is as long as before when the clock is set back by an hour while it lasts."""
    limiter = ReadRateLimiter(0.2)
    limiter.rest(NOW_S + 5)
    assert limiter.wait_s(NOW_S + 1) == 4
    assert abs(limiter.wait_s(NOW_S + 1 - 3600) - 4) < 1e-6
    assert limiter.wait_s(NOW_S + 5 - 3600) == 0
