"""The read rate limiter: how long the calls on a shard wait."""

from __future__ import annotations

import random

import pytest

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


def test_a_doze_ends_early() -> None:
    """Then the next call is due when the rate allows it, and not before."""
    limiter = ReadRateLimiter(0.2)
    limiter.spend(NOW_S)
    limiter.doze(NOW_S + 5)
    limiter.doze(NOW_S + 6)
    assert limiter.wait_s(NOW_S) == 6
    limiter.wake()
    assert abs(limiter.wait_s(NOW_S) - 0.2) < 1e-6


@pytest.mark.parametrize("back_off", [True, False], ids=["throttled", "spent"])
def test_a_wait_that_began_in_a_doze_does_not_end_early(back_off: bool) -> None:
    """A throttle, or calls that a task makes, count after a doze has ended."""
    limiter = ReadRateLimiter(0.2)
    limiter.doze(NOW_S + 5)
    if back_off:
        limiter.throttled(NOW_S + 5, random.Random(0))
    else:
        limiter.spend(NOW_S + 5)
    wait_s = limiter.wait_s(NOW_S + 5)
    limiter.wake()
    assert limiter.wait_s(NOW_S + 5) == wait_s >= 0.2 - 1e-6


def test_a_shard_that_is_looked_at_now_and_then_wakes_at_once() -> None:
    """Its looks are a doze apart. Each leaves a part of the calls to others, and the bell after it has not to wait for those."""
    limiter, now_s = ReadRateLimiter(0.2, burst=3), NOW_S
    for _ in range(50):
        now_s += limiter.wait_s(now_s)
        limiter.spend(now_s, 2)
        limiter.doze(now_s + 0.4)
    limiter.wake()
    assert limiter.wait_s(now_s + 0.01) == 0


def test_nothing_wakes_what_does_not_doze() -> None:
    limiter = ReadRateLimiter(0.2)
    limiter.rest(NOW_S + 5)
    limiter.wake()
    assert limiter.wait_s(NOW_S) == 5


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


def test_a_clock_set_back_does_not_lengthen_the_wait_after_a_doze() -> None:
    limiter = ReadRateLimiter(0.2)
    limiter.spend(NOW_S)
    limiter.doze(NOW_S + 5)
    assert limiter.wait_s(NOW_S) == 5
    assert limiter.wait_s(NOW_S - 3600) == 5
    limiter.wake()
    assert abs(limiter.wait_s(NOW_S - 3600) - 0.2) < 1e-6
