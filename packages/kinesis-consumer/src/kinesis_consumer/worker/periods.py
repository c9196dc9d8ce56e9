"""Things to do again and again: each at its own pace, and sooner after a failure."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_core.logs import get_logger

log = get_logger("kinesis_consumer")

RETRY_S = 1.0


@define
class Periodic:
    """One thing to do. *run* returns after how many seconds it is to be done again."""

    name: str
    run: Callable[[], float]
    clock: Clock
    due_s: float = field(default=float("-inf"))

    def step(self) -> None:
        """
        Do it if it is due.

        Raises:
            ServiceError: It failed, and trying again does not help.
        """
        now_s = self.clock.now_s()
        if now_s < self.due_s:
            return
        self.due_s = now_s + RETRY_S
        try:
            self.due_s = now_s + self.run()
        except ServiceError as error:
            if not error.retryable:
                raise
            log.warning("coordination.failed", task=self.name, code=error.code, reason=str(error))
