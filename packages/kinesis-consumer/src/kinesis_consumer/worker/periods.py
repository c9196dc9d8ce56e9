"""Things to do again and again: each at its own pace, and after a failure again, with longer and longer pauses."""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import define, field

from kinesis_consumer.worker.outages import LONGEST_RETRY_S, Outage
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@define
class Periodic:
    """One thing to do. *run* returns after how many seconds it is to be done again."""

    name: str
    run: Callable[[], float]
    clock: Clock
    rng: random.Random
    due_s: float = field(default=float("-inf"))
    longest_retry_s: float = LONGEST_RETRY_S
    """The longest pause after a failure."""
    _outage: Outage = field(factory=Outage, init=False)

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
            self._fail(error)
        else:
            self._succeed()

    def _fail(self, error: ServiceError) -> None:
        if not error.retryable:
            raise error
        now_s = self.clock.now_s()
        if (failures := self._outage.failed(now_s)) is not None:
            facts = {"code": error.code, "reason": str(error), "failures": failures}
            log.warning("coordination.failed", task=self.name, **facts)
        self.due_s = now_s + self._outage.pause_s(self.rng, self.longest_retry_s)

    def _succeed(self) -> None:
        if (recovery := self._outage.succeeded(self.clock.now_s())) is not None:
            facts = {"failures": recovery.failures, "failed_s": round(recovery.failed_s)}
            log.info("coordination.recovered", task=self.name, **facts)
