"""GroupSettings: the choices of a group's user, and the timing of its workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import Attribute, field, frozen

from kinesis_consumer.arguments import refused
from kinesis_core.model import SHARD_RATE_BYTES

_MIB = 1024 * 1024


def _within(
    low: float, high: float, kind: type[float] = float
) -> Callable[[Any, Attribute[Any], object], None]:
    """Return a validator of numbers, or of whole numbers if *kind* is int."""
    what = "a whole number" if kind is int else "a number"

    def check(_: Any, attribute: Attribute[Any], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, kind)):
            raise refused(attribute.name, what, value)
        if not low <= value <= high:  # NaN is nowhere
            domain = f"{low:,} to {high:,}" if high < float("inf") else f"{low:,} or more"
            raise refused(attribute.name, domain, value)

    return check


def _check_bool(_: Any, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise refused(attribute.name, "True or False", value)


@frozen(kw_only=True)
class GroupSettings:
    """Settings of one worker of a consumer group, for `ConsumerGroup.open(..., settings=GroupSettings(...))`. Times are in seconds."""

    lease_duration_s: float = field(default=10.0, validator=_within(1, 3600))
    """
    The time for which a lease is valid without a renewal. A worker renews its leases three times in this time. All workers of a
    group must have the same value. The KCL calls it `failoverTimeMillis`.
    """
    fetch_interval_s: float = field(default=1.0, validator=_within(0.2, 3600))
    """Time between two reads of a shard at its tip. A shard with more records is read at once."""
    max_fetch_rate_bytes: float = field(default=float(SHARD_RATE_BYTES), validator=_within(1, float("inf")))
    """Maximum bytes a second read from one shard. The default is the quota that all polling readers of a shard share."""
    max_batch_records: int = field(default=10_000, validator=_within(1, 1_000_000, int))
    """Maximum number of records in a batch. An aggregate counts as one."""
    max_batch_bytes: int = field(default=10 * _MIB, validator=_within(1, 1024 * _MIB, int))
    """Size of a full batch in bytes: a batch that has this size gets no further page of records. So it can exceed it by one page."""
    max_buffered_bytes: int = field(default=256 * _MIB, validator=_within(1, 1024 * 1024 * _MIB, int))
    """
    What the batches and pages of this worker and the responses that it receives may have together, in bytes. A response counts twice
    until its records are there. No page is read that does not fit, unless nothing else is in memory. A batch that was delivered before is
    read whole. Pages by enhanced fan-out count once they are taken: up to 3 events of each shard, of 10 MiB at most, come in addition.
    """
    fetch_threads: int = field(default=8, validator=_within(1, 1000, int))
    """Maximum number of shards that are read at the same time."""
    max_leases: int = field(default=2**31 - 1, validator=_within(1, 2**31 - 1, int))
    """
    Maximum number of shards of one worker. All workers of a group must have the same value, because the leader applies its own.
    If all workers have their maximum, the other shards are not read: the event `shards.unassigned` gives their number.
    """
    hand_over_timeout_s: float = field(default=30.0, validator=_within(0, 3600))
    """
    How long this worker keeps a shard for which another worker waits, if its current batch is not committed. Then it releases the
    lease, and the other worker gets the batch again. All workers of a group should have the same value.
    """
    fail_on_data_loss: bool = field(default=True, validator=_check_bool)
    """
    Whether the worker fails with a `DataLossError` if records expired before they were read. If false, it logs the loss, and continues
    with the oldest record that is left.
    """
