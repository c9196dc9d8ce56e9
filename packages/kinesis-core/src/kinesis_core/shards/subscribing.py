"""When a shard is subscribed to again after a subscription has failed."""

from __future__ import annotations

import math

from attrs import frozen

from kinesis_core.clock import doubled_s
from kinesis_core.errors import ResourceInUseError, ServiceError
from kinesis_core.shards.stalls import NO_PROGRESS


@frozen
class SubscriptionPolicy:
    """Which failures of subscriptions pass, and the pauses after them."""

    pause_s: float
    """The pause after one failure. Each further one in a row doubles it."""
    longest_pause_s: float
    waits_for_others: bool = True
    """Whether a shard to which another reader has subscribed is waited for."""
    retries: float = math.inf
    """Further attempts in a row."""
    timeout_s: float = math.inf
    """The maximum time without an event."""

    def passes(self, error: ServiceError, attempts: int = 1, silent_s: float = 0.0) -> bool:
        """Return whether another subscription is made after *attempts* in a row, and *silent_s* seconds without an event."""
        waits = error.retryable or (self.waits_for_others and isinstance(error, ResourceInUseError))
        has_time = attempts <= self.retries and silent_s <= self.timeout_s
        return waits and has_time and error.code != NO_PROGRESS

    def pause_after_s(self, failures: int) -> float:
        """Return the pause after *failures* in a row, or after none if it worked before."""
        return doubled_s(self.pause_s, max(0, failures - 1), self.longest_pause_s)
