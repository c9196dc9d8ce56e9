"""Shards that no worker may have: it is logged once they have had none for as long as a lease is valid."""

from __future__ import annotations

from attrs import define, field

from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@define
class Unassigned:
    """Counts the shards without a worker, and logs each number that stays."""

    max_leases: int
    settled_s: float
    """How long a number has to stay: a worker that has just come may still take some."""
    _count: int = field(default=0, init=False)
    _since_s: float = field(default=0.0, init=False)
    _logged: int = field(default=0, init=False)

    def note(self, count: int, now_s: float) -> None:
        """Note that *count* shards have no worker, because all have as many as they may have."""
        if count != self._count:
            self._count, self._since_s = count, now_s
        if self._count != self._logged and now_s - self._since_s >= self.settled_s:
            self._logged = self._count
            if self._count:
                log.warning("shards.unassigned", shards=self._count, max_leases=self.max_leases)
