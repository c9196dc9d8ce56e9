"""Retries: which errors are retried, for how long, and at what cost."""

from __future__ import annotations

import logging
import math
import random

import pytest
from attrs import define, field

from kinesis_core.aws import RetryBudget, RetryPolicy, Throttles, call_with_retries, log_retry
from kinesis_core.aws.retry import BUDGET
from kinesis_core.errors import (
    AccessDeniedError,
    IteratorExpiredError,
    MalformedResponseError,
    ServiceError,
    StreamNotReadyError,
    ThrottledError,
    UnavailableError,
)
from support.fake_stream import FakeClock

POLICY = RetryPolicy()
DOWN, SLOW = UnavailableError("down", "InternalFailure"), ThrottledError("slow", "LimitExceededException")


@define
class Caller:
    """Makes calls on one stream that fail with given errors, and counts the attempts."""

    policy: RetryPolicy = POLICY
    clock: FakeClock = field(factory=FakeClock)
    budget: RetryBudget = field(factory=RetryBudget)
    rng: random.Random = field(factory=lambda: random.Random(0))
    attempts: int = 0

    def run(self, *errors: BaseException, throttles: Throttles = Throttles.WAITED_OUT) -> int:
        """Make a call that raises *errors*, one per attempt. Return the attempts of all calls so far."""
        left = list(errors)

        def call() -> int:
            self.attempts += 1
            if left:
                raise left.pop(0)
            return self.attempts

        target = {"stream": "orders", "shard": "shardId-7"}
        return call_with_retries(
            "Test", call, self.policy, self.clock, self.rng, self.budget, throttles=throttles, **target
        )

    def run_for_good(self, error: ServiceError, throttles: Throttles = Throttles.WAITED_OUT) -> float:
        """Make a call that never succeeds. Return after how many seconds it failed for good."""
        started_s = self.clock.now
        with pytest.raises(type(error)):
            self.run(*[error] * 10_000, throttles=throttles)
        return self.clock.now - started_s


@pytest.mark.parametrize("kind", [UnavailableError, MalformedResponseError])
def test_the_first_call_ends_with_its_retries(kind: type[ServiceError]) -> None:
    """Before any response, as with a wrong endpoint, a call fails after its retries."""
    assert Caller().run(*[kind("no")] * 5) == 6
    caller = Caller()
    caller.run_for_good(kind("no"))
    assert caller.attempts == 6


@pytest.mark.parametrize("error", [AccessDeniedError("no"), IteratorExpiredError("no"), ValueError("no")])
def test_permanent_errors_are_raised_at_once(error: Exception) -> None:
    """An error that is not retryable, or not of the service, ends the attempts."""
    caller = Caller()
    with pytest.raises(type(error)):
        caller.run(error)
    assert caller.attempts == 1


def test_an_outage_ends_a_minute_after_it_began() -> None:
    """A call that used up its retries continues until a minute has passed without a response, and at most one wait longer."""
    caller = Caller()
    caller.run()
    assert 60 <= caller.run_for_good(DOWN) <= 60 + POLICY.max_interval_s
    assert caller.attempts > 1 + 6


@pytest.mark.parametrize("timeout_s", [1.0, 600.0])
def test_the_outage_timeout_is_not_bound_to_the_waits(timeout_s: float) -> None:
    """The outage timeout does not depend on the waits. The retries are made in any case."""
    policy = RetryPolicy(max_retries=2, interval_s=0.1, max_interval_s=0.2, outage_timeout_s=timeout_s)
    caller = Caller(policy)
    caller.run()
    took_s = caller.run_for_good(DOWN)
    assert took_s <= timeout_s + 1
    assert took_s >= timeout_s or caller.attempts >= 1 + 3


def test_later_calls_of_an_outage_end_with_their_retries() -> None:
    """Once an outage has lasted a minute, later calls do not wait that long again: Spark reruns failed tasks."""
    caller = Caller()
    caller.run()
    caller.run_for_good(DOWN)
    before = caller.attempts
    caller.run_for_good(DOWN)
    assert caller.attempts - before == 6


def test_a_long_pause_is_no_outage() -> None:
    """An hour without calls is not an outage: the next call that fails has the whole timeout."""
    caller = Caller()
    caller.run()
    caller.clock.sleep(3600)
    assert caller.run_for_good(DOWN) >= 60


def test_a_response_to_another_call_extends_the_retries() -> None:
    """While the service responds to other calls on the stream, even with throttles, a call is retried for two minutes."""
    for sign in (RetryBudget.succeeded, RetryBudget.responded):
        caller = Caller()

        class Clock(FakeClock):
            def sleep(self, seconds: float) -> None:
                super().sleep(seconds)
                sign(caller.budget)  # noqa: B023 # it is used within this round

        caller.clock = Clock()
        caller.run()
        assert 120 <= caller.run_for_good(DOWN) <= 120 + POLICY.max_interval_s


def test_all_retries_are_made_before_the_outage_timeout_counts() -> None:
    """A policy of 40 retries makes all 40, although they take longer than a minute."""
    caller = Caller(RetryPolicy(max_retries=40))
    caller.run()
    assert caller.run_for_good(DOWN) > 120
    assert caller.attempts == 1 + 41


def test_no_retries_mean_one_attempt() -> None:
    """A policy of 0 retries makes one attempt, also after the service has responded before."""
    caller = Caller(RetryPolicy(max_retries=0))
    caller.run()
    assert caller.run_for_good(DOWN) == 0
    assert caller.attempts == 2


@pytest.mark.parametrize("max_retries", [0, 5])
def test_throttles_are_waited_out(max_retries: int) -> None:
    """Throttles end no call, however many there are. They come at most 5 s apart and use up no retry."""
    caller = Caller(RetryPolicy(max_retries))
    assert caller.run(*[SLOW] * 1000, *[DOWN] * max_retries) == 1001 + max_retries
    assert caller.clock.now - FakeClock().now <= 1000 * 5.0 + 60


def test_throttles_may_have_a_timeout() -> None:
    """A call raises a throttle that lasts for longer, and at most one wait later. A shorter one passes."""
    caller = Caller(RetryPolicy(max_retries=0, throttle_timeout_s=5.0))
    assert 5 <= caller.run_for_good(SLOW) <= 10
    assert caller.run(SLOW, SLOW) == caller.attempts


def test_throttles_may_be_left_to_the_caller() -> None:
    """A caller that limits its own rate gets the first throttle. Other errors are still retried."""
    caller = Caller()
    with pytest.raises(ThrottledError):
        caller.run(DOWN, SLOW, throttles=Throttles.RAISED)
    assert caller.attempts == 2


def test_throttles_may_count_as_failures() -> None:
    """A limit that does not pass, such as 20 consumers of a stream, ends the call after its retries."""
    caller = Caller()
    caller.run()
    caller.run_for_good(SLOW, Throttles.COUNTED)
    assert caller.attempts == 1 + 6


@pytest.mark.parametrize(
    "seed",  # with 0, 1, 4 and 7 fewer fail in a row
    [2, *(pytest.param(seed, marks=pytest.mark.tests) for seed in (3, 5, 6, 8, 9, 10, 11))],
)
def test_where_a_fifth_of_all_attempts_fails_no_call_does(seed: int) -> None:
    """8 times 25,000 calls of which each attempt fails with a chance of 20 % all succeed, six failures in a row included."""
    caller, rng, longest = Caller(), random.Random(seed), 0
    for _ in range(25_000):
        failures = 0
        while rng.random() < 0.2:
            failures += 1
        caller.run(*[DOWN] * failures)
        longest = max(longest, failures)
    assert longest >= 6


def test_an_empty_budget_spreads_retries() -> None:
    """Once the budget is empty there is one retry per second, however short the waits of the policy are."""
    caller = Caller(RetryPolicy(200, 0.0, 0.0))
    took_s = caller.run_for_good(DOWN)
    assert caller.attempts == 201
    assert took_s == pytest.approx(200 - BUDGET, abs=2)


def test_successes_fill_the_budget_up_to_its_size() -> None:
    """Each success earns one retry, up to the size of the budget."""
    budget = RetryBudget()
    for _ in range(BUDGET):
        assert budget.take(0.0)
    assert not budget.take(0.0)
    budget.succeeded()
    assert budget.take(0.0)
    assert not budget.take(0.0)
    for _ in range(1000):
        budget.succeeded()
    assert budget.tokens == BUDGET
    assert budget.silent_s(math.inf) == 0


def test_every_retry_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The log line of a retry has the call, the reason, the number of the retry, the wait, the stream and the shard."""
    with caplog.at_level(logging.INFO):
        Caller().run(DOWN, SLOW)
    first, second = (record.__dict__["context"] for record in caplog.records)
    assert first | {"wait_s": "?"} == {
        "call": "Test",
        "reason": "InternalFailure",
        "attempt": "1",
        "wait_s": "?",
        "stream": "orders",
        "shard": "shardId-7",
    }
    assert second["attempt"] == "2"
    assert second["reason"] == "LimitExceededException"
    assert set(caplog.messages) == {m for m in caplog.messages if m.startswith("call.retried call=Test ")}


def test_a_wait_that_is_over_is_logged_as_zero(caplog: pytest.LogCaptureFixture) -> None:
    """A retry that is due already is logged with a wait of 0 s."""
    with caplog.at_level(logging.INFO):
        log_retry("Test", "InternalFailure", 1, -3.0, stream="orders")
    assert "wait_s=0.0 stream=orders" in caplog.text


def test_waits_stay_finite_after_any_number_of_attempts() -> None:
    """The longest wait limits every attempt, however many came before."""
    assert RetryPolicy(10**6, 1.0, 10.0).longest_s(10**6) == 10.0


NOT_READY = StreamNotReadyError("the stream is CREATING", "CREATING")


@pytest.mark.parametrize("throttles", Throttles)
@pytest.mark.parametrize("max_retries", [0, 5])
def test_a_stream_that_is_not_ready_is_awaited_for_two_minutes(
    max_retries: int, throttles: Throttles, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the retries nor the budget limit that, before the first success of all too. One warning says what is awaited."""
    caller = Caller(RetryPolicy(max_retries, outage_timeout_s=1.0))
    caller.budget.tokens = 0.0
    took_s = caller.run_for_good(NOT_READY, throttles)
    assert 120 <= took_s <= 124
    assert [record.levelname for record in caplog.records if "stream.awaited" in record.message] == [
        "WARNING"
    ]
    assert caller.attempts < 100
    assert caller.run(NOT_READY, NOT_READY, throttles=throttles)


def test_a_caller_that_has_other_things_to_do_does_not_await_a_stream() -> None:
    """With `ready_timeout_s=0` the error is raised at once."""
    caller = Caller(RetryPolicy(ready_timeout_s=0.0))
    assert caller.run_for_good(NOT_READY) == 0
    assert caller.attempts == 1


def test_waiting_for_a_stream_is_no_outage() -> None:
    """A stream that is not ready shows that the service works: what fails afterwards has the whole outage timeout."""
    caller = Caller()
    caller.run_for_good(NOT_READY)
    assert caller.run_for_good(DOWN) >= 60
