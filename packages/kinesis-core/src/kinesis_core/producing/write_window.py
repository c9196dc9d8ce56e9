"""How fast a producer writes to a shard, and for how long it tries: adjusted by what the shard refuses."""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_core.clock import doubled_s

RECORDS_PER_S = 1000
BYTES_PER_S = 1024 * 1024
"""The quota of a shard, which all its producers share."""
_FIRST_WINDOW_S, _SMALLEST_WINDOW_S, LONGEST_WINDOW_S = 1.0, 0.02, 7.5
_FIRST_REST_S, _LONGEST_REST_S = 0.05, 2.0
"""The rests after failures in a row."""

_GROWTH = 0.1
"""What the rate grows by in a second."""
_KEPT, _KEPT_OF_MOST = 0.75, 0.95
"""The part of the rate that a throttle leaves: if no record is accepted, and if nearly all are."""
_CUT_EVERY_S = 1.0
"""A shard that has refused one request often refuses others until the second is over. All these count as one throttle."""
_MOST_AFTER_THROTTLE_S = 1.25
"""A little more than the quota, so that a producer without others uses all of it."""
_REQUESTS_PER_WINDOW = 4
_LONGEST_PACE_S = 1.0
_POLL_S = 0.05
"""The rest after a request that is refused as a whole, for a producer that has the whole quota."""


@define
class WriteWindow:
    """
    Limits the records of one shard that wait or are in flight to some seconds of the shard's quota.

    The window grows by what the shard accepts, until the shard throttles. From then on it is a rate as well: the
    seconds of the quota that are sent in a second, in several requests with rests between them.

    The rate grows by the same amount for every producer, and a throttle takes a part of it. So producers that share a
    shard come to equal rates, and leave room for each other. After a throttle, a producer rests for no longer than
    others with its rate. The caller passes the time.
    """

    window_s: float = _FIRST_WINDOW_S
    rests_until_s: float = 0.0
    sent_s: float = 0.0
    """When the last request was sent. The rests between requests count from then, so that slow responses cost no rate."""
    _failures: int = 0
    _cut_s: float | None = None
    """When a throttle last reduced the rate."""

    @property
    def window_records(self) -> int:
        return int(self.window_s * RECORDS_PER_S)

    @property
    def window_bytes(self) -> int:
        return int(self.window_s * BYTES_PER_S)

    @property
    def request_records(self) -> int:
        """The most records that may be in flight."""
        return self.window_records // self._requests

    @property
    def request_bytes(self) -> int:
        """The most bytes that may be in flight."""
        return self.window_bytes // self._requests

    @property
    def _requests(self) -> int:
        return 1 if self._cut_s is None else _REQUESTS_PER_WINDOW

    def accepted(self, records: int, size_bytes: int, rng: random.Random) -> None:
        """Grow the window: the shard accepted all its records of a request."""
        self._failures = 0
        took_s = _quota_s(records, size_bytes)
        if self._cut_s is None:
            self._grow(took_s)
            return
        pace_s = min(_LONGEST_PACE_S, took_s / self.window_s)
        self._grow(_GROWTH * pace_s)
        self._rest(pace_s, self.sent_s, rng)

    def throttled(
        self, records: int, size_bytes: int, refused: int, now_s: float, rng: random.Random
    ) -> None:
        """Reduce the rate, and rest: the shard accepted *records*, and *refused* others because of its rate."""
        self._failures = 0
        if self._cut_s is None or now_s >= self._cut_s + _CUT_EVERY_S:
            kept = _KEPT + (_KEPT_OF_MOST - _KEPT) * records / (records + refused)
            self.window_s = max(_SMALLEST_WINDOW_S, min(_MOST_AFTER_THROTTLE_S, self.window_s) * kept)
            self._cut_s = now_s
        took_s = _quota_s(records, size_bytes) if records else _POLL_S
        self._rest(min(_LONGEST_PACE_S, took_s / self.window_s), now_s, rng)

    def failed(self, now_s: float, rng: random.Random) -> None:
        """Rest, with jitter and longer after each failure, and keep the window: the rate was not the reason."""
        longest_s = doubled_s(_FIRST_REST_S, self._failures, _LONGEST_REST_S)
        self._failures += 1
        self.rests_until_s = max(self.rests_until_s, now_s + rng.uniform(longest_s / 2, longest_s))

    def _grow(self, by_s: float) -> None:
        self.window_s = min(LONGEST_WINDOW_S, self.window_s + by_s)

    def _rest(self, seconds: float, from_s: float, rng: random.Random) -> None:
        self.rests_until_s = max(self.rests_until_s, from_s) + seconds * rng.uniform(0.5, 1.5)


def _quota_s(records: int, size_bytes: int) -> float:
    """Return for how long these records use up the quota."""
    return max(records / RECORDS_PER_S, size_bytes / BYTES_PER_S)


LONGEST_THROTTLE = 20
"""In units of the TTL: for how long a shard may throttle and accept nothing. That is 10 minutes by default."""
_PARTS_OF_TTL = 2
"""
What one attempt adds at most is the TTL divided by this. A process that stood still for an hour between two attempts has
not tried for an hour.
"""


@define
class Patience:
    """
    For how long attempts have failed in a row. The caller passes the time.

    A throttle is not a failure, because it shows that the shard works: other producers may get the whole quota for a while.
    """

    ttl_s: float
    _failing_s: float = field(default=0.0, init=False)
    """The time of failures since the last success or throttle."""
    _fruitless_s: float = field(default=0.0, init=False)
    """The time of failures and throttles since the last success."""
    _failed_s: float | None = field(default=None, init=False)
    """When the last attempt failed; None after a success."""

    def succeeded(self) -> None:
        self._failing_s, self._fruitless_s, self._failed_s = 0.0, 0.0, None

    def failed(self, now_s: float, *, is_throttled: bool = False) -> None:
        """Note a failed attempt."""
        passed_s = 0.0 if self._failed_s is None else min(now_s - self._failed_s, self.ttl_s / _PARTS_OF_TTL)
        self._failed_s = now_s
        self._fruitless_s += passed_s
        self._failing_s = 0.0 if is_throttled else self._failing_s + passed_s

    @property
    def is_over(self) -> bool:
        """Whether to give up."""
        return self._failed_s is not None and (
            self._failing_s >= self.ttl_s or self._fruitless_s >= LONGEST_THROTTLE * self.ttl_s
        )

    def __str__(self) -> str:
        if self._failing_s >= self.ttl_s:
            return f"their shard accepted nothing for {self.ttl_s:g} s"
        return f"their shard throttled for {LONGEST_THROTTLE * self.ttl_s:g} s, and accepted no record in this time"
