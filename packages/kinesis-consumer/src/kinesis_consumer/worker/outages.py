"""Things to do again and again: after a failure again with longer and longer pauses, and with few lines in the log."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from attrs import define, field

from kinesis_core import ServiceError
from kinesis_core.clock import Clock, doubled_s
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

LOG_S = 60.0
"""Failures have one line in this time, from the first one on."""
RETRY_S = 1.0
LONGEST_RETRY_S = 15.0


@define
class Outage:
    """Failures in a row of one thing that is done again and again. Times are seconds of any clock."""

    task: str
    """What it is called in the log."""
    failures: int = field(default=0, init=False)
    """In a row."""
    _unlogged: int = field(default=0, init=False)
    _logged_s: float = field(default=float("-inf"), init=False)
    _total: int = field(default=0, init=False)
    """Since the first line in the log after the last recovery that it tells of."""
    _since_s: float | None = field(default=None, init=False)

    def failed(self, now_s: float) -> int | None:
        """Note a failure. Returns how many there were since the last line, including this one, if another line is due; else None."""
        self.failures += 1
        self._unlogged += 1
        self._total += 1
        if now_s - self._logged_s < LOG_S:
            return None
        if self._since_s is None:
            self._since_s, self._total = now_s, self._unlogged
        count, self._unlogged, self._logged_s = self._unlogged, 0, now_s
        return count

    def warn(self, code: str, reason: object, now_s: float) -> None:
        """Note a failure, and log it if another line is due."""
        if (failures := self.failed(now_s)) is not None:
            log.warning("coordination.failed", task=self.task, code=code, reason=reason, failures=failures)

    def succeeded(self, now_s: float) -> None:
        """Note a success. If the failures were logged, their end is logged, too."""
        self.failures = 0
        since_s, self._since_s = self._since_s, None
        if since_s is not None:
            facts = {"failures": self._total, "failed_s": round(now_s - since_s)}
            log.info("coordination.recovered", task=self.task, **facts)

    def pause_s(self, rng: random.Random, longest_s: float = LONGEST_RETRY_S) -> float:
        """Return how long to wait after a failure: longer after each one in a row, and differently for each worker."""
        grown_s = doubled_s(RETRY_S, self.failures - 1, longest_s)
        return grown_s * rng.uniform(0.8, 1.0)


@define
class Periodic:
    """One thing to do. *run* returns the seconds after which it must be called again."""

    name: str
    run: Callable[[], float]
    clock: Clock
    rng: random.Random
    due_s: float = field(default=float("-inf"))
    longest_retry_s: float = LONGEST_RETRY_S
    """The longest pause after a failure."""
    _outage: Outage = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._outage = Outage(self.name)

    def step(self) -> None:
        """
        Do it if it is due.

        Raises:
            ServiceError: It failed, and trying again does not help.
        """
        now_s = self.clock.now_s()
        if now_s < self.due_s:
            return
        try:
            self.due_s = now_s + self.run()
        except ServiceError as error:
            if not error.retryable:
                raise
            now_s = self.clock.now_s()
            self._outage.warn(error.code, error, now_s)
            self.due_s = now_s + self._outage.pause_s(self.rng, self.longest_retry_s)
        else:
            self._outage.succeeded(self.clock.now_s())


WriteAttempt = tuple[str, ServiceError | None]
"""A write to a lease: its key, and the error."""


@define
class RenewalLog:
    """What the log tells of failed writes to the leases of one worker: one line for all of them, each minute."""

    _outage: Outage = field(factory=lambda: Outage("renewal"), init=False)
    _keys: set[str] = field(factory=set, init=False)
    """The leases that failed since the last line."""

    def note(self, attempts: Iterable[WriteAttempt], clock: Clock) -> None:
        """Note the writes to all leases that were due. A failure has its line as soon as it is there."""
        errors = []
        for key, error in attempts:
            errors.append(error)
            if error is not None:
                self._fail(key, error, clock.now_s())
        if errors and not any(errors):
            self._outage.succeeded(clock.now_s())

    def _fail(self, key: str, error: ServiceError, now_s: float) -> None:
        self._keys.add(key)
        if (failures := self._outage.failed(now_s)) is not None:
            facts = {"code": error.code, "reason": error, "failures": failures}
            log.warning("renewal.failed", leases=len(self._keys), lease=key, **facts)
            self._keys.clear()
