"""Time as an argument: code that waits or reads the time takes a clock, so that tests can control it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Protocol

from attrs import frozen


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
    """
    A clock for deadlines and pauses: it counts from an arbitrary moment, and cannot be set.

    It also runs while the machine is suspended. A worker that wakes up must know that its leases have expired.
    """

    def now_s(self) -> float:
        return _steady_s()


@frozen
class StoppableClock:
    """Raises *error* where somebody is about to wait or to call Kinesis, once *is_stopped*."""

    clock: Clock
    is_stopped: Callable[[], bool]
    error: Callable[[], Exception]

    def now_s(self) -> float:
        return self.clock.now_s()

    def sleep(self, seconds: float) -> None:
        if self.is_stopped():
            raise self.error()
        self.clock.sleep(seconds)


def doubled_s(first_s: float, times: int, longest_s: float) -> float:
    """Return a pause: *first_s*, doubled *times* times, and at most *longest_s*. After a day of failures *times* is large."""
    return min(longest_s, first_s * 2.0 ** min(times, 64))


def find_steady(of: ModuleType = time) -> Callable[[], float]:
    """
    Return the platform's function for seconds that also pass while the machine is suspended. *of* is the module `time`.

    That is CLOCK_BOOTTIME on Linux, whose CLOCK_MONOTONIC stands still while the machine is suspended; CLOCK_MONOTONIC on macOS,
    whose `time.monotonic` does; and `time.monotonic` on Windows.
    """
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        if hasattr(of, name):
            return partial(of.clock_gettime, getattr(of, name))
    return partial(of.monotonic)


_steady_s = find_steady()
