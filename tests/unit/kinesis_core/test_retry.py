from __future__ import annotations

import logging
import random

import pytest

from kinesis_core.errors import (
    AccessDeniedError,
    IteratorExpiredError,
    MalformedAnswerError,
    ServiceError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.retry import RetryPolicy, call_with_retries
from support.fake_stream import FakeClock


class Flaky:
    """Raises its errors, one a call, then returns how often it was called."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.calls


def run(flaky: Flaky, policy: RetryPolicy | None = None, *, retry_throttles: bool = True) -> int:
    rng = random.Random(0)
    return call_with_retries(
        "Test", flaky, policy or RetryPolicy(), FakeClock(), rng, retry_throttles=retry_throttles
    )


@pytest.mark.parametrize("kind", [ThrottledError, UnavailableError, MalformedAnswerError])
def test_what_may_succeed_later_is_tried_again(kind: type[ServiceError]) -> None:
    """Each retryable error is followed by another attempt, up to the number that the policy allows."""
    assert run(Flaky(*[kind("no")] * 5)) == 6
    flaky = Flaky(*[kind("no")] * 6)
    with pytest.raises(kind):
        run(flaky)
    assert flaky.calls == 6


@pytest.mark.parametrize("error", [AccessDeniedError("no"), IteratorExpiredError("no"), ValueError("no")])
def test_what_cannot_succeed_later_is_raised_at_once(error: Exception) -> None:
    """An error that is not retryable, or not the service's at all, ends the attempts."""
    flaky = Flaky(error)
    with pytest.raises(type(error)):
        run(flaky)
    assert flaky.calls == 1


def test_no_retries_mean_one_attempt() -> None:
    """A policy of 0 retries makes one attempt in all."""
    flaky = Flaky(UnavailableError("no"))
    with pytest.raises(UnavailableError):
        run(flaky, RetryPolicy(max_retries=0))
    assert flaky.calls == 1


def test_throttles_may_be_left_to_the_caller() -> None:
    """A caller who paces itself gets the first throttle; other errors are still tried again."""
    flaky = Flaky(UnavailableError("no"), ThrottledError("slow"))
    with pytest.raises(ThrottledError):
        run(flaky, retry_throttles=False)
    assert flaky.calls == 2


def test_every_retry_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """One line a retry tells the call, the reason and the attempt."""
    with caplog.at_level(logging.INFO):
        run(Flaky(UnavailableError("no", "InternalFailure"), UnavailableError("no", "InternalFailure")))
    assert caplog.text.count("call.retried") == 2
    assert "InternalFailure" in caplog.text


def test_waits_stay_finite_after_any_number_of_attempts() -> None:
    """The longest wait holds for an attempt of any number."""
    assert RetryPolicy(10**6, 1.0, 10.0).longest_s(10**6) == 10.0
