"""How much of a shard's quota a producer may ask for at once, learned from what the shard refuses."""

from __future__ import annotations

import random

from attrs import define

RECORDS_PER_S = 1000
BYTES_PER_S = 1024 * 1024
"""A shard's quota for all its producers together."""
_FIRST_REST_S, _LONGEST_REST_S = 0.05, 2.0
_FIRST_WINDOW_S, _SMALLEST_WINDOW_S = 1.0, 0.02


@define
class WriteWindow:
    """
    A window on one shard: what waits for it or is on the way may take so much of its quota.

    It grows while the shard takes everything and is halved when it does not, so that several producers come to
    share a shard, and what waits for it is written before its time is up. Times are given by the caller.
    """

    longest_window_s: float
    window_s: float = _FIRST_WINDOW_S
    rests_until_s: float = 0.0
    _setbacks: int = 0
    _was_throttled: bool = False

    @property
    def window_records(self) -> int:
        return int(self.window_s * RECORDS_PER_S)

    @property
    def window_bytes(self) -> int:
        return int(self.window_s * BYTES_PER_S)

    def accepted(self, records: int, size_bytes: int) -> None:
        """Note that the shard took everything that a request had for it."""
        self._setbacks = 0
        took_s = max(records / RECORDS_PER_S, size_bytes / BYTES_PER_S)
        growth_s = took_s / 4 if self._was_throttled else took_s
        self.window_s = min(self.longest_window_s, self.window_s + growth_s)

    def throttled(self, now_s: float, rng: random.Random) -> None:
        """Note that the shard refused records for its rate: rest with jitter, longer each time, then ask for less."""
        self._was_throttled = True
        self.window_s = max(_SMALLEST_WINDOW_S, self.window_s / 2)
        self.failed(now_s, rng)

    def failed(self, now_s: float, rng: random.Random) -> None:
        """Note that records were not written for a reason that has nothing to do with their number."""
        longest_s = min(_LONGEST_REST_S, _FIRST_REST_S * 2.0**self._setbacks)
        self._setbacks += 1
        self.rests_until_s = max(self.rests_until_s, now_s + rng.uniform(longest_s / 2, longest_s))
