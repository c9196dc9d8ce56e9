"""Calls while a group is opened: a throttle or a short outage does not end the program."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from kinesis_core.aws import RetryBudget, RetryPolicy, Throttles, call_with_retries
from kinesis_core.clock import Clock

T = TypeVar("T")

OPENING = RetryPolicy(max_retries=10)
"""Pauses of about 37 s together, and seldom less than 20 s."""


def patiently(name: str, call: Callable[[], T], clock: Clock, rng: random.Random) -> T:
    """
    Return the result of *call*, which is repeated while its errors are retryable. Each repetition has a line in the log.

    Raises:
        ServiceError: The last error.
    """
    return call_with_retries(name, call, OPENING, clock, rng, RetryBudget(), throttles=Throttles.COUNTED)
