"""The choices of the planner's user. They are options, so this module imports nothing of planning."""

from __future__ import annotations

from attrs import evolve, field, frozen

SHARD_BYTES_PER_MS = 1024 * 1024 / 1000
"""A shard takes in at most 1 MiB and 1,000 records a second: 1,049 bytes and one record a millisecond."""
FULL_MS = 5000
"""A batch that ends this far before the tip of a shard was ended by a limit."""
USED_UP = 0.75
"""A shard that took this part of its limits may have more records. What was taken is an estimate."""


@frozen
class Limits:
    """
    The limits of a batch in one shard.

    A batch holds at least one record. It can exceed the limits if arrival times are wrong, and `max_bytes` by one record.
    """

    max_records: int | None = None
    max_bytes: int | None = None
    until_ms: float = float("inf")
    """In ms since the epoch. A plan looks for no records that arrived later. It limits no batch: the records that it comes across are in it."""

    @property
    def span_ms(self) -> float:
        """The time in which a shard cannot receive more than this."""
        by_records = float("inf") if self.max_records is None else float(self.max_records)
        by_bytes = float("inf") if self.max_bytes is None else self.max_bytes / SHARD_BYTES_PER_MS
        return min(by_records, by_bytes)

    def allow(self, other: Limits) -> bool:
        """Return whether a batch within the *other* limits is within these, too."""
        return _allows(self.max_records, other.max_records) and _allows(self.max_bytes, other.max_bytes)

    def within(self, other: Limits) -> Limits:
        """Return the tighter one of each limit."""
        return evolve(
            self,
            max_records=_tighter(self.max_records, other.max_records),
            max_bytes=_tighter(self.max_bytes, other.max_bytes),
        )

    def are_used_up(self, records: float, size_bytes: float) -> bool:
        """Return whether these limits may have ended a batch of this size."""
        by_records = self.max_records is not None and records >= USED_UP * self.max_records
        return by_records or (self.max_bytes is not None and size_bytes >= USED_UP * self.max_bytes)


def _allows(most: int | None, other: int | None) -> bool:
    return most is None or (other is not None and other <= most)


def _tighter(one: int | None, other: int | None) -> int | None:
    return min((most for most in (one, other) if most is not None), default=None)


@frozen
class PlanSettings:
    """How the ends of batches are found. Times are in seconds. For `Stream.open(..., plan=PlanSettings(...))`."""

    limits: Limits = field(factory=Limits)
    """The limits of a batch in each shard."""
    batch_limits: Limits = field(factory=Limits)
    """The limits of a batch in all shards of all streams together. Each plan divides them by what the shards need."""
    min_fetch_period_s: float = 0.2
    """On average, the minimum time between two calls of GetRecords for one shard."""
    quota_share: float = 0.5
    """
    Which part of these calls a planner makes at the tip of a shard: above 0, up to 1. Other consumers of the stream share the quota of
    its shards. A shard with so many new records that tasks have to read them is planned as often as *min_fetch_period_s* allows.
    """
    inline_records: bool = True
    """Whether a range has its records with it if they are few and the planner has read them, so that no task reads them again."""
    shard_discovery_interval_s: float = 10.0
    """A list of the shards that is older than this is fetched again."""
    fail_on_data_loss: bool = True
    """
    Whether a plan raises a `DataLossError` if records after its start have expired. If false, it logs the loss, and the batch starts at
    the oldest record that is left.
    """
    trim_horizon_margin_s: float = 300.0
    """How much of their retention the first records have left, at least, at a start at TRIM_HORIZON."""
    first_plan_crosses_gaps: bool = True
    """Whether the first plan is whole, and follows gaps to their end, because a run may have one plan only. Other shards wait for it."""
    max_shard_skew_s: float | None = 10.0
    """How far the shards of a bounded batch are apart in time at most, while one is behind its tip. None: as far as their limits let them."""
    plan_budget_s: float | None = 2.0
    """In which time a plan of a bounded batch begins shards. The others are left for the next plan. None: it begins them all."""

    @property
    def look_period_s(self) -> float:
        """The time between two looks at the tip of a shard, in seconds: where nothing is new, or so little that the look has read it."""
        return self.min_fetch_period_s / self.quota_share
