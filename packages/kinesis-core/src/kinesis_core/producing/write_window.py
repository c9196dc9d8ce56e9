"""How much of a shard's quota a producer uses at once, adjusted by what the shard refuses."""

from __future__ import annotations

import random

from attrs import define

from kinesis_core.clock import doubled_s

RECORDS_PER_S = 1000
BYTES_PER_S = 1024 * 1024
"""The quota of a shard, which all its producers share."""
_FIRST_REST_S, _LONGEST_REST_S = 0.05, 2.0
_FIRST_WINDOW_S, _SMALLEST_WINDOW_S = 1.0, 0.02


@define
class WriteWindow:
    """
    Limits the records of one shard that wait or are in flight to so many seconds of the shard's quota.

    The window grows while the shard accepts everything, and is halved when the shard throttles. So several producers
    come to share a shard, and what waits is written before its deadline. The caller passes the time.
    """

    longest_window_s: float
    window_s: float = _FIRST_WINDOW_S
    rests_until_s: float = 0.0
    _failures: int = 0
    _was_throttled: bool = False

    @property
    def window_records(self) -> int:
        return int(self.window_s * RECORDS_PER_S)

    @property
    def window_bytes(self) -> int:
        return int(self.window_s * BYTES_PER_S)

    def accepted(self, records: int, size_bytes: int) -> None:
        """Grow the window: the shard accepted all its records of a request."""
        self._failures = 0
        took_s = max(records / RECORDS_PER_S, size_bytes / BYTES_PER_S)
        growth_s = took_s / 4 if self._was_throttled else took_s
        self.window_s = min(self.longest_window_s, self.window_s + growth_s)

    def throttled(self, now_s: float, rng: random.Random) -> None:
        """Halve the window and rest: the shard refused records because of its rate."""
        self._was_throttled = True
        self.window_s = max(_SMALLEST_WINDOW_S, self.window_s / 2)
        self.failed(now_s, rng)

    def failed(self, now_s: float, rng: random.Random) -> None:
        """Rest, with jitter and longer after each failure, and keep the window: the rate was not the reason."""
        longest_s = doubled_s(_FIRST_REST_S, self._failures, _LONGEST_REST_S)
        self._failures += 1
        self.rests_until_s = max(self.rests_until_s, now_s + rng.uniform(longest_s / 2, longest_s))
