"""A clock that stands still until it is told to go on."""

from __future__ import annotations

from collections.abc import Callable


class ManualClock:
    """
    Seconds since the epoch, for `Emulator(clock=...)`.

    It makes retention, iterator life and rates a matter of `advance`, not of waiting.
    """

    def __init__(self, now_s: float = 1_700_000_000.0) -> None:
        self.now_s = now_s
        self._watchers: list[Callable[[], None]] = []

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass."""
        self.now_s += seconds
        for watcher in list(self._watchers):
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call *watcher* after each `advance`: an emulator's subscriptions wait for time to pass."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        """Call *watcher* no more."""
        self._watchers = [other for other in self._watchers if other != watcher]
