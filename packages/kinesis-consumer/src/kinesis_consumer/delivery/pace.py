"""Pace: when the next step with a shard is due, and why: a value, and pure functions from one value to the next."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kinesis_core.clock import doubled_s

WAIT_S = 1.0
"""Time between two checks whether a shard's parents are finished, or its children are listed."""
SHORT_WAIT_S = 10.0
"""A child usually waits for less: its lease is made a moment before its parent is finished."""
WAIT_LOG_S = 60.0
"""A longer wait has a line in the log each minute."""
FAILURE_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
"""Pauses of one shard after failed steps in a row: each is twice as long as the one before, up to this."""
_NEVER_S = float("-inf")


class Pace(Struct, frozen=True):
    """How one shard is read on. Times are seconds of any clock."""

    due_s: float = _NEVER_S
    """When the next step is due."""
    arrivals: int = 0
    """How often a page arrived by itself."""
    failures: int = 0
    """Failed steps in a row."""
    waits_s: float | None = None
    """Since when it waits for other shards."""
    logged_s: float = _NEVER_S
    """When the log was told of this wait."""
    measured_s: float = _NEVER_S
    """When the lag was reported."""

    def hurry(self) -> Pace:
        """Return the pace once the next step can be made at once."""
        return replace(self, due_s=_NEVER_S)

    def arrive(self) -> Pace:
        """Return the pace once a page can be fetched at once."""
        return replace(self, due_s=_NEVER_S, arrivals=self.arrivals + 1)

    def fetch(self, arrivals: int, due_s: float) -> Pace:
        """Return the pace after a page was fetched: the next one is due at *due_s*, or at once if there are no longer *arrivals*."""
        return replace(self, due_s=due_s if self.arrivals == arrivals else _NEVER_S)

    def fail(self, now_s: float) -> Pace:
        """Return the pace after a failed step."""
        failures = self.failures + 1
        return replace(
            self, failures=failures, due_s=now_s + doubled_s(FAILURE_PAUSE_S, failures, LONGEST_PAUSE_S)
        )

    def succeed(self) -> Pace:
        """Return the pace after a step that did not fail."""
        return replace(self, failures=0) if self.failures else self

    def wait(self, now_s: float) -> Pace:
        """Return the pace of a shard that waits for others. *logged_s* is *now_s* where the log has a line of it."""
        waited_s = self.waited_s(now_s)
        is_long = waited_s >= SHORT_WAIT_S and now_s - self.logged_s >= WAIT_LOG_S
        logged_s = now_s if is_long else self.logged_s
        return replace(self, due_s=now_s + WAIT_S, waits_s=now_s - waited_s, logged_s=logged_s)

    def waited_s(self, now_s: float) -> float:
        """Return for how long it waits."""
        return 0.0 if self.waits_s is None else now_s - self.waits_s

    def begin(self) -> Pace:
        """Return the pace once the shard waits no longer."""
        return replace(self, waits_s=None, logged_s=_NEVER_S)

    def measure(self, now_s: float) -> Pace:
        """Return the pace once the lag is reported."""
        return replace(self, measured_s=now_s)
