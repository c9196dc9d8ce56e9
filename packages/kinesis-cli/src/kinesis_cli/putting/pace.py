"""Keeps a rate: how long to wait before the next records."""

from __future__ import annotations

from attrs import define

_PARTS = 10
"""Of a second's records: so even is the rate."""


@define
class Pace:
    """At most *rate* records a second. Time that passes without records gives no credit."""

    rate: float
    _due_s: float = 0.0

    @property
    def part(self) -> int:
        """Records to send at a time."""
        return max(1, int(self.rate / _PARTS))

    def wait_s(self, records: int, now_s: float) -> float:
        """Return how long to wait before so many *records* are sent. It counts them."""
        start_s = max(self._due_s, now_s)
        self._due_s = start_s + records / self.rate
        return start_s - now_s
