"""The emulator's clocks: both can be moved on, and tell whom time has passed for."""

from __future__ import annotations

from collections.abc import Callable


class ManualClock:
    """
    Seconds since the epoch, for `Emulator(clock=...)`.

    Retention, statuses, iterator expiry and rate limits then depend on `advance`, and no test has to wait.
    """

    def __init__(self, now_s: float = 1_700_000_000.0) -> None:
        self.now_s = now_s
        self._watchers: list[Callable[[], None]] = []

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Move the clock on by *seconds*."""
        self.now_s += seconds
        for watcher in list(self._watchers):
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call *watcher* after each `advance`, so that an emulator's subscriptions see the new time."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        """Stop calling *watcher*."""
        self._watchers = [other for other in self._watchers if other != watcher]


class ShiftedClock(ManualClock):
    """Another clock, moved on by all that `advance` was called with."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(0.0)
        self._clock = clock

    def __call__(self) -> float:
        return self._clock() + self.now_s
