"""Time as an argument: code that waits or reads the time takes a clock, so that tests can control it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Reads the time and waits."""

    def now_s(self) -> float:
        """Return seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Zero and negative values return at once."""
        ...


class SystemClock:
    """The clock of the machine. An administrator or NTP may set it."""

    def now_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class SteadyClock(SystemClock):
    """A clock for deadlines and pauses: it counts from an arbitrary moment, and cannot be set."""

    def now_s(self) -> float:
        return time.monotonic()
