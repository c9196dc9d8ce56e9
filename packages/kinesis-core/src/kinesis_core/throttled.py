"""How long Kinesis has refused every call on one shard, of the planner or of a producer."""

from __future__ import annotations

from attrs import define, field

from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

LONG_S = 60.0
"""Refusals for this long are a warning, once in this time. Shorter ones are usual beside other consumers."""
MANY = 3
"""A query that plans rarely may see two refusals in this time, and that is no warning."""


@define
class Throttled:
    """The refusals since the last success of one shard. Its records grow old in this time, and nothing else shows it."""

    stream: str
    shard_id: str
    _count: int = field(default=0, init=False)
    _first_s: float = field(default=0.0, init=False)
    _last_s: float = field(default=0.0, init=False)
    _warned_s: float = field(default=0.0, init=False)

    @property
    def lag_ms(self) -> int:
        """The time from the first refusal to the last one, in ms: unread records may be as old. 0 if it is short."""
        lasted_s = self._last_s - self._first_s
        return int(lasted_s * 1000) if lasted_s >= LONG_S else 0

    def refused(self, now_s: float) -> None:
        """Count a refusal at *now_s*, and log a warning if there were many for long."""
        if not self._count:
            self._first_s = self._warned_s = now_s
        self._count, self._last_s = self._count + 1, now_s
        if self._count >= MANY and now_s - self._warned_s >= LONG_S:
            self._warned_s = now_s
            for_s = round(now_s - self._first_s)
            log.warning(
                "shard.throttled", stream=self.stream, shard=self.shard_id, for_s=for_s, throttles=self._count
            )

    def clear(self) -> None:
        """Forget the refusals: a call succeeded, or the shard is gone."""
        self._count, self._first_s, self._last_s = 0, 0.0, 0.0
