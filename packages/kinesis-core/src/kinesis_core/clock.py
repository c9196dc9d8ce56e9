"""Time as an argument: whatever waits or looks at the clock takes one of these."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch, and a way to wait."""

    def now_s(self) -> float:
        """Return seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait *seconds*; values below zero do not wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class SteadyClock(SystemClock):
    """For deadlines and pauses: counts from some moment of its own, and nobody can set it."""

    def now_s(self) -> float:
        return time.monotonic()
