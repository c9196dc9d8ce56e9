"""Retries and rate limits: how many calls are made at most, and when."""

from __future__ import annotations

import contextlib
import random

from hypothesis import given, settings, strategies as st

from kinesis_core.aws import ReadRateLimiter, RetryBudget, RetryPolicy, call_with_retries
from kinesis_core.aws.retry import BUDGET, TOKEN_S
from kinesis_core.errors import ServiceError, UnavailableError
from support.fake_stream import FakeClock

policies = st.builds(RetryPolicy, st.integers(0, 20), st.floats(0, 60), st.floats(0, 120), st.floats(0, 720))


class CountingClock(FakeClock):
    """Records the length of each sleep."""

    slept: list[float]

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


@given(policies, st.integers(0, 60), st.integers())
def test_attempts_and_waits_stay_within_the_policy(policy: RetryPolicy, failures: int, seed: int) -> None:
    """
    Before the first response there is at most one attempt more than retries. The n-th wait is at most interval * 2**n, and
    at most the longest wait.
    """
    clock = CountingClock()
    clock.slept = []
    calls = 0

    def call() -> bool:
        nonlocal calls
        calls += 1
        if calls <= failures:
            raise UnavailableError("no")
        return True

    try:
        assert call_with_retries("Test", call, policy, clock, random.Random(seed), RetryBudget())
    except ServiceError:
        assert failures > policy.max_retries
    assert calls == min(failures, policy.max_retries) + 1
    for attempt, waited_s in enumerate(clock.slept):
        assert 0 <= waited_s <= min(policy.max_interval_s, policy.interval_s * 2**attempt)


@given(
    st.floats(0.01, 1),
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["call", "doze", "wake", "pause"]), st.floats(0, 3)), max_size=60),
)
def test_bells_do_not_raise_the_rate(period_s: float, burst: int, steps: list[tuple[str, float]]) -> None:
    """However often a rest begins and is ended early, there are no more calls than the rate and the burst allow."""
    limiter, now_s, calls = ReadRateLimiter(period_s, burst), 1000.0, 0
    for step, amount_s in steps:
        match step:
            case "pause":
                now_s += amount_s
            case "doze":
                limiter.doze(now_s + amount_s)
            case "wake":
                limiter.wake()
            case "call" if limiter.wait_s(now_s) == 0:
                limiter.spend(now_s)
                calls += 1
    assert calls <= burst + (now_s - 1000.0) / period_s + 0.001 * calls / period_s + 1


@given(st.lists(st.tuples(st.sampled_from(["take", "succeed", "fail", "respond"]), st.floats(-5, 20))))
def test_a_budget_is_never_overdrawn(steps: list[tuple[str, float]]) -> None:
    """Retries never exceed the sum of budget, successes and seconds, even if the clock is set back."""
    budget, now_s, passed_s, retries, successes = RetryBudget(), 0.0, 0.0, 0, 0
    for step, pause_s in steps:
        now_s += pause_s
        passed_s += max(0.0, pause_s)
        if step == "take":
            retries += budget.take(now_s)
        elif step == "succeed":
            budget.succeeded()
            successes += 1
        elif step == "fail":
            budget.failed(now_s)
        else:
            budget.responded()
        assert 0 <= budget.tokens <= BUDGET
        assert retries <= BUDGET + successes + passed_s / TOKEN_S + 1e-6


@settings(deadline=None)
@given(policies, st.integers(1, 60), st.integers())
def test_an_outage_bounds_its_own_load(policy: RetryPolicy, calls: int, seed: int) -> None:
    """
    During an outage every call ends in bounded time, however many calls there are.

    There are no more retries than the budget and the elapsed seconds allow, and no more than the policy allows.
    """
    clock, rng, budget = FakeClock(0.0), random.Random(seed), RetryBudget()
    budget.succeeded()
    attempts = 0

    def call() -> None:
        nonlocal attempts
        attempts += 1
        raise UnavailableError("down")

    for made in range(1, calls + 1):
        started_s = clock.now
        with contextlib.suppress(UnavailableError):
            call_with_retries("Test", call, policy, clock, rng, budget)
        assert attempts - made <= BUDGET + clock.now / TOKEN_S + 1e-6
        retries_s = policy.max_retries * (policy.max_interval_s + TOKEN_S)
        assert (
            clock.now - started_s
            <= retries_s + policy.outage_timeout_s + policy.max_interval_s + TOKEN_S + 1e-6
        )


@given(st.floats(0.01, 10), st.integers(1, 5), st.lists(st.floats(0, 30), max_size=60))
def test_the_rate_holds_over_every_window(period_s: float, burst: int, pauses: list[float]) -> None:
    """Over any stretch of time there are at most as many calls as periods, plus the burst."""
    clock = FakeClock(0.0)
    limiter = ReadRateLimiter(period_s, burst)
    times = []
    for pause_s in pauses:
        clock.sleep(pause_s)
        clock.sleep(limiter.wait_s(clock.now))
        limiter.spend(clock.now)
        times.append(clock.now)
    for i, started in enumerate(times):
        for j in range(i, len(times)):
            calls = j - i + 1
            # a call may come a millisecond early, which counts as due
            assert calls <= (times[j] - started + 0.0011 * calls) / period_s + burst


@given(st.floats(0.01, 10), st.integers(1, 5))
def test_a_rested_shard_allows_its_burst_at_once(period_s: float, burst: int) -> None:
    """After a rest exactly as many calls as the burst need not wait."""
    limiter = ReadRateLimiter(period_s, burst)
    now_s = 1000.0
    for _ in range(burst):
        assert limiter.wait_s(now_s) == 0
        limiter.spend(now_s)
    assert limiter.wait_s(now_s) > 0


@given(st.sampled_from([0.0, 0.02, 0.2, 1.0]), st.integers(1, 3000), st.integers())
def test_backing_off_is_bounded_and_never_nothing(period_s: float, throttles: int, seed: int) -> None:
    """However many throttles come in a row, each wait is at least 0.1 s and at most 5 s, also without a period."""
    limiter, rng = ReadRateLimiter(period_s), random.Random(seed)
    now_s, waits = 1000.0, []
    for _ in range(throttles):
        limiter.throttled(now_s, rng)
        waits.append(limiter.wait_s(now_s))
        now_s += waits[-1]
    assert min(waits) >= 0.1
    assert max(waits) <= 5.0 + 1e-6
    if throttles >= 10:
        assert waits[-1] >= 2.5 - 1e-6
