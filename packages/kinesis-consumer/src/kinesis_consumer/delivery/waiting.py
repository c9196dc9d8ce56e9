"""What the log tells of a shard that waits for others: nothing of a short wait, then a line each minute."""

from __future__ import annotations

from attrs import define, field

from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

SHORT_S = 10.0
"""A child usually waits for less: its lease is made a moment before its parent is finished."""
REPEAT_S = 60.0


@define
class Waiting:
    """How long one shard waits. Times are seconds of any clock."""

    _since_s: float | None = field(default=None, init=False)
    _logged_s: float = field(default=float("-inf"), init=False)

    def note(self, lease: str, reason: str, now_s: float) -> None:
        """Note that the shard of *lease* still waits, and why."""
        if self._since_s is None:
            self._since_s = now_s
        waited_s = now_s - self._since_s
        if waited_s >= SHORT_S and now_s - self._logged_s >= REPEAT_S:
            self._logged_s = now_s
            log.info("shard.waiting", lease=lease, reason=reason, waited_s=round(waited_s))

    def end(self) -> None:
        """Note that the shard waits no longer."""
        self._since_s, self._logged_s = None, float("-inf")
