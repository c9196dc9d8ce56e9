"""
Retries: which errors are retried, when, at what cost, and when a call fails finally.

There are four kinds of errors:

* A *throttle* comes from a service that works. Calls on a stream wait throttles out, however long that takes. Readers and
  writers of a shard limit their own rate (`rate_limits.py`, `producing/write_window.py`), so throttles are raised to them.
* A stream that is *not ready* was just created, or is being changed. Calls wait for it for up to two minutes.
* A *failure* (5xx, no response, or a malformed one) may pass. The call is retried with full jitter.
* Any other error does not pass by waiting. It is raised at once.

A failing call ends when its retries are used up and no call on the stream has succeeded for `RetryPolicy.outage_timeout_s`.
The number of retries alone is the wrong limit. If a fifth of all attempts fail, six in a row fail once in 16,000 calls. A query
makes more calls in an hour. A minute holds about fifteen attempts, which all fail once in 30,000,000,000 calls. A call that fails
while others succeed ends after two minutes. Once an outage has lasted a minute, further calls end after their retries alone. So
do calls before the first success of all: a wrong endpoint is reported early.

Retries are paid from a budget, so that many threads do not multiply the load on a service that is down.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from attrs import define, field, frozen

from kinesis_core.aws.rate_limits import ReadRateLimiter
from kinesis_core.clock import Clock, doubled_s
from kinesis_core.errors import ServiceError, StreamNotReadyError, ThrottledError
from kinesis_core.model import Cut
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")
T = TypeVar("T")

LONGEST_CALL = 2
"""In units of `outage_timeout_s`: for how long one call may fail while others succeed."""
BUDGET = 50
"""Retries on a stream that one process may make before it has to spread them."""
TOKEN_S = 1.0
"""In this time the budget earns one retry."""
READY_TIMEOUT_S = 120.0
"""For how long a call waits for a stream. It is created in less than a minute, unless it has thousands of shards."""
_READY_WAIT_S, _LONGEST_READY_WAIT_S = 0.25, 4.0


@frozen
class RetryPolicy:
    """
    How often and for how long a failed call is retried.

    A call has at least *max_retries* retries (0: one attempt in all); the n-th comes after up to interval * 2**n seconds. The
    call fails after these retries once no call on the stream has succeeded for *outage_timeout_s*.
    """

    max_retries: int = 5
    interval_s: float = 1.0
    max_interval_s: float = 10.0
    outage_timeout_s: float = 60.0
    throttle_timeout_s: float = math.inf
    """For how long a call waits throttles out before it raises one."""
    ready_timeout_s: float = READY_TIMEOUT_S
    """For how long a call waits for a stream that is not ready."""

    def longest_s(self, attempt: int) -> float:
        return doubled_s(self.interval_s, attempt, self.max_interval_s)

    @property
    def longest_call_s(self) -> float:
        """For how long one call may fail while others succeed."""
        return LONGEST_CALL * self.outage_timeout_s


class Throttles(Enum):
    """How a call handles throttles."""

    WAITED_OUT = "waited out"
    RAISED = "raised"
    """To a caller that limits its own rate."""
    COUNTED = "counted"
    """As failures: the limit may not pass by waiting, such as the number of consumers of a stream."""


@define
class RetryBudget:
    """
    The tokens that retries on one stream cost, for all threads of a process.

    A retry takes a token. A successful call gives one back, and so does each second. So there are never more retries than
    successes, seconds and `BUDGET` together. Times are seconds since the epoch, given by the caller.
    """

    tokens: float = float(BUDGET)
    _counted_s: float = field(default=-math.inf, init=False)
    _failing_since_s: float | None = field(default=-math.inf, init=False)
    """The first failure since the last response; minus infinity before the first response."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def take(self, now_s: float) -> bool:
        """Take a token for a retry, if there is one."""
        with self._lock:
            self._earn(max(0.0, now_s - self._counted_s) / TOKEN_S)
            self._counted_s = now_s
            is_there = self.tokens >= 1
            self.tokens -= is_there
            return is_there

    def succeeded(self) -> None:
        """Count a successful call."""
        with self._lock:
            self._earn(1)
            self._failing_since_s = None

    def responded(self) -> None:
        """Note that the service refused a call, which shows that it works."""
        with self._lock:
            self._failing_since_s = None

    def failed(self, now_s: float) -> None:
        """Note that the service failed or could not be reached."""
        with self._lock:
            if self._failing_since_s is None:
                self._failing_since_s = now_s

    def silent_s(self, now_s: float) -> float:
        """Return for how long calls have brought nothing but failures."""
        with self._lock:
            return 0.0 if self._failing_since_s is None else now_s - self._failing_since_s

    def _earn(self, tokens: float) -> None:
        self.tokens = min(float(BUDGET), self.tokens + tokens)


def log_retry(call: str, reason: str, attempt: int, wait_s: float, **target: object) -> None:
    """
    Log that *call* is retried because of *reason*, AWS's error code. Every retry has this one line.

    *attempt* is 1 for the first retry. *target* is the stream and the shard, as far as they are known.
    """
    known = {name: value for name, value in target.items() if value != ""}
    log.info(
        "call.retried", call=call, reason=reason, attempt=attempt, wait_s=round(max(0.0, wait_s), 3), **known
    )


def log_renewal(stream: str, shard: str, cut: Cut) -> None:
    """Log that a new iterator at *cut* replaces an expired one. The retry has a separate line."""
    log.debug("iterator.renewed", stream=stream, shard=shard, cut=cut)


def call_with_retries(
    name: str,
    call: Callable[[], T],
    policy: RetryPolicy,
    clock: Clock,
    rng: random.Random,
    budget: RetryBudget,
    *,
    throttles: Throttles = Throttles.WAITED_OUT,
    **target: str,
) -> T:
    """
    Return the result of *call*, retried by *policy*. *target* names the stream and the shard in the log.

    Raises:
        ServiceError: The last error, if retries do not help or are used up.
    """
    attempts: _Attempts | None = None
    while True:
        try:
            response = call()
        except ServiceError as error:
            attempts = attempts or _Attempts(policy, clock, rng, budget, throttles)
            wait_s = attempts.wait_s(error)
            if wait_s is None:
                raise
            if attempts.begins_to_await_stream(error):
                log.warning(
                    "stream.awaited", call=name, reason=error, timeout_s=policy.ready_timeout_s, **target
                )
            log_retry(name, error.code, attempts.made, wait_s, **target)
            clock.sleep(wait_s)
        else:
            budget.succeeded()
            return response


@define
class _Attempts:
    """The attempts at one call."""

    policy: RetryPolicy
    clock: Clock
    rng: random.Random
    budget: RetryBudget
    throttles: Throttles
    made: int = 0
    _failures: int = 0
    _failing_since_s: float = field(default=math.inf, init=False)
    _throttled_since_s: float = field(default=math.inf, init=False)
    _not_ready: int = field(default=0, init=False)
    """How often the stream was not ready."""
    _not_ready_since_s: float = field(default=math.inf, init=False)
    _limiter: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(0.0), init=False)

    def wait_s(self, error: ServiceError) -> float | None:
        """Return how long to wait after *error* before the next attempt, or None if there is no further attempt."""
        self.made += 1
        is_throttle = isinstance(error, ThrottledError)
        if isinstance(error, StreamNotReadyError):
            self.budget.responded()
            return self._await_stream()
        if not error.retryable or (is_throttle and self.throttles is Throttles.RAISED):
            self.budget.responded()
            return None
        if is_throttle and self.throttles is Throttles.WAITED_OUT:
            self.budget.responded()
            return self._back_off()
        return self._after_failure(has_response=is_throttle)

    def begins_to_await_stream(self, error: ServiceError) -> bool:
        return isinstance(error, StreamNotReadyError) and self._not_ready == 1

    def _await_stream(self) -> float | None:
        now_s = self.clock.now_s()
        self._not_ready_since_s = min(self._not_ready_since_s, now_s)
        if now_s - self._not_ready_since_s >= self.policy.ready_timeout_s:
            return None
        longest_s = doubled_s(_READY_WAIT_S, self._not_ready, _LONGEST_READY_WAIT_S)
        self._not_ready += 1
        return self.rng.uniform(longest_s / 2, longest_s)

    def _back_off(self) -> float | None:
        now_s = self.clock.now_s()
        self._throttled_since_s = min(self._throttled_since_s, now_s)
        if now_s - self._throttled_since_s >= self.policy.throttle_timeout_s:
            return None
        self._limiter.throttled(now_s, self.rng)
        return self._limiter.wait_s(now_s)

    def _after_failure(self, *, has_response: bool) -> float | None:
        now_s = self.clock.now_s()
        self._failing_since_s = min(self._failing_since_s, now_s)
        if has_response:
            self.budget.responded()
        else:
            self.budget.failed(now_s)
        while not self._is_over(has_response=has_response):
            if self.budget.take(self.clock.now_s()):
                self._failures += 1
                return self.rng.uniform(0, self.policy.longest_s(self._failures - 1))
            self.clock.sleep(self.rng.uniform(TOKEN_S / 2, TOKEN_S))
        return None

    def _is_over(self, *, has_response: bool) -> bool:
        if self._failures < self.policy.max_retries:
            return False
        now_s = self.clock.now_s()
        return (
            has_response
            or self.policy.max_retries == 0
            or self.budget.silent_s(now_s) >= self.policy.outage_timeout_s
            or now_s - self._failing_since_s >= self.policy.longest_call_s
        )
