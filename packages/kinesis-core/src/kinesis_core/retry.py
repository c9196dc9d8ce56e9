"""Retries: how often a call that may succeed later is made again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from attrs import frozen

from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError, ThrottledError
from kinesis_core.logs import get_logger

log = get_logger("kinesis_core")
T = TypeVar("T")


@frozen
class RetryPolicy:
    """*max_retries* further attempts (0: one attempt in all), the n-th after up to interval * 2**n seconds."""

    max_retries: int = 5
    interval_s: float = 1.0
    max_interval_s: float = 10.0

    def longest_s(self, attempt: int) -> float:
        return min(self.max_interval_s, self.interval_s * 2.0 ** min(attempt, 64))


def call_with_retries(
    name: str,
    call: Callable[[], T],
    policy: RetryPolicy,
    clock: Clock,
    rng: random.Random,
    *,
    retry_throttles: bool = True,
) -> T:
    """
    Return what *call* returns; try again, with full jitter, while its error is retryable.

    Throttles of GetRecords are left to those who read a shard: they pace themselves (`kinesis_core.pace`).

    Raises:
        ServiceError: The last one, when it is not retryable or no attempt is left.
    """
    attempt = 0
    while True:
        try:
            return call()
        except ServiceError as error:
            hopeless = not error.retryable or attempt >= policy.max_retries
            if hopeless or (isinstance(error, ThrottledError) and not retry_throttles):
                raise
            wait_s = rng.uniform(0, policy.longest_s(attempt))
            log.info(
                "call.retried", call=name, reason=error.code, attempt=attempt + 1, wait_s=round(wait_s, 3)
            )
            clock.sleep(wait_s)
            attempt += 1
