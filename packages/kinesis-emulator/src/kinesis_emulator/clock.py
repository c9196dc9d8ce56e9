"""A clock that stands still until it is told to go on."""

from __future__ import annotations


class ManualClock:
    """
    Seconds since the epoch, for `Emulator(clock=...)`.

    It makes retention, iterator life and rates a matter of `advance`, not of waiting.
    """

    def __init__(self, now_s: float = 1_700_000_000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass."""
        self.now_s += seconds
