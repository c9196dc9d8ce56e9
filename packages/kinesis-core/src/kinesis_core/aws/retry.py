"""
Retries: which errors are worth another attempt, when it is made, what it may cost, and when to give up.

An error says one of three things of the service:

* A *throttle* comes from a service that works. Calls on a stream wait throttles out, however long that takes; whoever
  reads or writes a shard spreads its calls (`pace.py`, `producing/shard_pace.py`) and is handed each throttle.
* A *failure* (5xx, no answer, or one that is none) may pass. The call is made again with full jitter.
* Anything else does not pass by waiting, and is raised at once.

Failures end a call when its retries are used up and, besides, nothing on the stream has been answered for
`RetryPolicy.outage_timeout_s`. The count alone would be wrong: where a fifth of all attempts fail, six in a row do so once in
16,000 calls, and a query makes more than that in an hour. A minute of patience holds about fifteen attempts, of which all
fail once in 30,000,000,000 calls; and a call that fails while others are answered ends after two. An outage ends all the same: a
minute after its first failure a call that has used up its retries is over, the next ones with their retries alone.
Before the first answer of all there is nothing to be patient about: a wrong endpoint is told after the retries.

Retries are paid from a budget, so that many threads do not multiply the load of a service that is down.
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
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError, ThrottledError
from kinesis_core.logs import get_logger

log = get_logger("kinesis_core")
T = TypeVar("T")

LONGEST_CALL = 2
"""Times `outageTimeout`: for how long one call may fail while others succeed."""
BUDGET = 50
"""Retries that one process may make on a stream before it has to spread them."""
TOKEN_S = 1.0
"""In this time an empty budget earns a retry, whatever comes of it."""


@frozen
class RetryPolicy:
    """
    How often and for how long a failed call is retried.

    A call has *max_retries* retries at least (0: one attempt in all), the n-th after up to interval * 2**n seconds. It fails
    after these retries once no call on the stream has succeeded for *outage_timeout_s*.
    """

    max_retries: int = 5
    interval_s: float = 1.0
    max_interval_s: float = 10.0
    outage_timeout_s: float = 60.0

    def longest_s(self, attempt: int) -> float:
        return min(self.max_interval_s, self.interval_s * 2.0 ** min(attempt, 64))

    @property
    def longest_call_s(self) -> float:
        """For how long one call may fail while others succeed."""
        return LONGEST_CALL * self.outage_timeout_s


class Throttles(Enum):
    """What becomes of a call's throttles."""

    WAITED_OUT = "waited out"
    RAISED = "raised"
    """To a caller that paces itself."""
    COUNTED = "counted"
    """As failures: they may be of a limit that does not pass, such as the number of a stream's consumers."""


@define
class RetryBudget:
    """
    What retries of failures cost on one stream, for all threads of a process.

    A retry takes a token; a call that succeeds, and each second, give one back. So there are never more retries than
    successes, seconds and `BUDGET` together. Times are seconds since the epoch, given by the caller.
    """

    tokens: float = float(BUDGET)
    _counted_s: float = field(default=-math.inf, init=False)
    _failing_since_s: float | None = field(default=-math.inf, init=False)
    """When the first failure came after which nothing was answered; always, before anything was."""
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
        """Note that a call brought what it was made for."""
        with self._lock:
            self._earn(1)
            self._failing_since_s = None

    def responded(self) -> None:
        """Note that the service said no, and so that it works."""
        with self._lock:
            self._failing_since_s = None

    def failed(self, now_s: float) -> None:
        """Note that the service failed, or could not be reached."""
        with self._lock:
            if self._failing_since_s is None:
                self._failing_since_s = now_s

    def silent_s(self, now_s: float) -> float:
        """Return for how long nothing but failures came."""
        with self._lock:
            return 0.0 if self._failing_since_s is None else now_s - self._failing_since_s

    def _earn(self, tokens: float) -> None:
        self.tokens = min(float(BUDGET), self.tokens + tokens)


def log_retry(call: str, reason: str, attempt: int, wait_s: float, **place: object) -> None:
    """
    Log that *call* is made again because of *reason*, AWS's error code; the one line that every retry has.

    *attempt* counts from 1, for the first retry; *place* is the stream, and the shard, as far as they are known.
    """
    known = {name: value for name, value in place.items() if value != ""}
    log.info(
        "call.retried", call=call, reason=reason, attempt=attempt, wait_s=round(max(0.0, wait_s), 3), **known
    )


def call_with_retries(
    name: str,
    call: Callable[[], T],
    policy: RetryPolicy,
    clock: Clock,
    rng: random.Random,
    budget: RetryBudget,
    *,
    throttles: Throttles = Throttles.WAITED_OUT,
    **place: str,
) -> T:
    """
    Return what *call* returns; make it again while that may help. *place* is what the log says of where it went.

    Raises:
        ServiceError: The last one, when waiting does not help, or has not helped.
    """
    attempts = _Attempts(policy, clock, rng, budget, throttles)
    while True:
        try:
            response = call()
        except ServiceError as error:
            wait_s = attempts.wait_s(error)
            if wait_s is None:
                raise
            log_retry(name, error.code, attempts.made, wait_s, **place)
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
    _pace: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(0.0), init=False)

    def wait_s(self, error: ServiceError) -> float | None:
        """Return how long to wait after *error* before the next attempt; None when there is to be none."""
        self.made += 1
        is_throttle = isinstance(error, ThrottledError)
        if not error.retryable or (is_throttle and self.throttles is Throttles.RAISED):
            self.budget.responded()
            return None
        if is_throttle and self.throttles is Throttles.WAITED_OUT:
            self.budget.responded()
            return self._back_off()
        return self._after_failure(has_response=is_throttle)

    def _back_off(self) -> float:
        now_s = self.clock.now_s()
        self._pace.throttled(now_s, self.rng)
        return self._pace.wait_s(now_s)

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
