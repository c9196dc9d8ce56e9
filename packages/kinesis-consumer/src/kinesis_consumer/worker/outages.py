"""Failures that are repeated: how many lines they have in the log, and how long the pauses between attempts are."""

from __future__ import annotations

import random

from attrs import define, field, frozen

from kinesis_core.clock import doubled_s

LOG_S = 60.0
"""Failures have one line in this time, from the first one on."""
RETRY_S = 1.0
LONGEST_RETRY_S = 15.0


@frozen
class Recovery:
    """The end of failures of which the log tells."""

    failures: int
    """All since the first line in the log."""
    failed_s: float
    """How long they lasted."""


@define
class Outage:
    """Failures in a row of one thing that is done again and again. Times are seconds of any clock."""

    failures: int = field(default=0, init=False)
    """In a row."""
    _unlogged: int = field(default=0, init=False)
    _logged_s: float = field(default=float("-inf"), init=False)
    _total: int = field(default=0, init=False)
    """Since the first line in the log after the last recovery that it tells of."""
    _since_s: float | None = field(default=None, init=False)

    def failed(self, now_s: float) -> int | None:
        """Note a failure. Returns how many there were since the last line, with this one, if another line is due; else None."""
        self.failures += 1
        self._unlogged += 1
        self._total += 1
        if now_s - self._logged_s < LOG_S:
            return None
        if self._since_s is None:
            self._since_s, self._total = now_s, self._unlogged
        count, self._unlogged, self._logged_s = self._unlogged, 0, now_s
        return count

    def succeeded(self, now_s: float) -> Recovery | None:
        """Note a success. Returns the recovery, if the log tells of the failures."""
        self.failures = 0
        since_s, self._since_s = self._since_s, None
        return None if since_s is None else Recovery(self._total, now_s - since_s)

    def pause_s(self, rng: random.Random, longest_s: float = LONGEST_RETRY_S) -> float:
        """Return how long to wait after a failure: longer after each one in a row, and differently for each worker."""
        grown_s = doubled_s(RETRY_S, self.failures - 1, longest_s)
        return grown_s * rng.uniform(0.8, 1.0)
