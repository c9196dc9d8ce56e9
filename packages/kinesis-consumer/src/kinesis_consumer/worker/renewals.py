"""What the log tells of failed writes to the leases of one worker: one line for all of them, each minute."""

from __future__ import annotations

from threading import Lock

from attrs import define, field

from kinesis_consumer.worker.outages import Outage
from kinesis_core import ServiceError
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@define
class RenewalLog:
    """Notes which writes to leases succeed. Thread-safe. Times are seconds of any clock."""

    _outage: Outage = field(factory=Outage, init=False)
    _keys: set[str] = field(factory=set, init=False)
    """The leases that failed since the last line."""
    _has_failed: bool = field(default=False, init=False)
    _has_succeeded: bool = field(default=False, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def fail(self, key: str, error: ServiceError, now_s: float) -> None:
        """Note that the lease *key* could not be written."""
        with self._lock:
            self._has_failed = True
            self._keys.add(key)
            failures = self._outage.failed(now_s)
            if failures is None:
                return
            leases = len(self._keys)
            self._keys.clear()
        facts = {"code": error.code, "reason": str(error), "failures": failures}
        log.warning("renewal.failed", leases=leases, lease=key, **facts)

    def succeed(self) -> None:
        """Note that a lease was written."""
        self._has_succeeded = True

    def end(self, now_s: float) -> None:
        """Note that all leases that were due had an attempt."""
        with self._lock:
            is_well = self._has_succeeded and not self._has_failed
            self._has_succeeded = self._has_failed = False
            recovery = self._outage.succeeded(now_s) if is_well else None
        if recovery is not None:
            facts = {"failures": recovery.failures, "failed_s": round(recovery.failed_s)}
            log.info("coordination.recovered", task="renewal", **facts)
