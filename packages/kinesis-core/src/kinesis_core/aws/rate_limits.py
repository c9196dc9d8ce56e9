"""Limits the rate of calls, so that those on one shard stay within its quota of 5 calls/s."""

from __future__ import annotations

import random

from attrs import define, field

LEAST_BACKOFF_S = 0.2
"""The first wait after a throttle if `period_s` is shorter: Kinesis allows 5 calls a second."""
MAX_DOUBLINGS = 10
"""How often the wait doubles after throttles in a row."""


@define
class ReadRateLimiter:
    """
    Computes when the next call is due. Times are seconds since the epoch, given by the caller.

    On average it allows one call every *period_s*; *burst* calls may follow each other at once.
    """

    period_s: float
    burst: int = 1
    _due_s: float = field(default=0.0, init=False)
    _asked_s: float = field(default=0.0, init=False)
    _soonest_s: float = field(default=0.0, init=False)
    """When it would be due if the shard had never dozed. Calls that a doze has saved may be made at once, up to *burst*."""
    throttles: int = field(default=0, init=False)
    """How many throttles came in a row."""

    def wait_s(self, now_s: float) -> float:
        """Return how long to wait before the next call; 0 when it is due, to the millisecond."""
        if now_s < self._asked_s:  # the clock was set back: the wait must not grow by that step
            self._due_s -= self._asked_s - now_s
            self._soonest_s -= self._asked_s - now_s
        self._asked_s = now_s
        left_s = self._due_s - now_s
        return left_s if left_s > 0.001 else 0.0

    def spend(self, now_s: float, calls: float = 1) -> None:
        """Count *calls* made now, or soon by another thread."""
        earliest = now_s - (self.burst - 1) * self.period_s
        self._due_s = max(self._due_s, earliest) + calls * self.period_s
        self._soonest_s = max(self._soonest_s, earliest) + calls * self.period_s

    def rest(self, until_s: float) -> None:
        """Make no call before *until_s*."""
        self._due_s, self._soonest_s = max(self._due_s, until_s), max(self._soonest_s, until_s)

    def doze(self, until_s: float) -> None:
        """Make no call before *until_s*, unless `wake` says that there is a reason to."""
        self._due_s = max(self._due_s, until_s)

    def early_s(self, now_s: float) -> float:
        """Return by how much calls were made earlier than the rate alone allows, because of *burst*."""
        return max(0.0, self._soonest_s - now_s)

    def wake(self) -> None:
        """End what `doze` began. The next call is due when the rate allows it."""
        self._due_s = self._soonest_s

    def succeeded(self) -> None:
        self.throttles = 0

    def throttled(self, now_s: float, rng: random.Random, longest_s: float = 5.0) -> None:
        """Back off with jitter: twice as long after each throttle in a row, at most *longest_s*."""
        self.throttles += 1
        doublings = min(self.throttles, MAX_DOUBLINGS)
        longest = min(longest_s, max(self.period_s, LEAST_BACKOFF_S) * 2**doublings)
        self.rest(now_s + rng.uniform(longest / 2, longest))
