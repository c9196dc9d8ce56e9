"""When a producer gives up: not while a shard accepts records, and not soon while it throttles."""

from __future__ import annotations

from attrs import define, field

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

    A throttle is no failure, because it shows that the shard works: other producers may get the whole quota for a while.
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
        return (
            f"their shard throttled for {LONGEST_THROTTLE * self.ttl_s:g} s, and accepted nothing meanwhile"
        )
