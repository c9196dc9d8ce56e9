"""What a worker tells its user, all optional: what happens to its leases, and numbers for metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import Attribute, field, frozen

from kinesis_consumer.arguments import refused

LeaseCallback = Callable[[str, str], None]
"""Called with the stream, as in `Batch.stream`, and the id of the shard."""
MetricCallback = Callable[[str, float, Mapping[str, str]], None]
"""Called with the name of a metric, its value, and what it is of: stream and shard."""


RECORDS_COMMITTED = "records.committed"
"""How many records a committed batch has, as Kinesis counts them: an aggregate is one. Once for each batch."""
BYTES_COMMITTED = "bytes.committed"
"""The data of a committed batch. Once for each batch."""
LAG_MS = "lag_ms"
"""How many milliseconds reading is behind the tip of a shard. Once for each page that was read, and every 10 s while none is."""


def _nothing(*_: object) -> None:
    pass


def _check_callable(_: Any, attribute: Attribute[Any], value: object) -> None:
    if not callable(value):
        raise refused(attribute.name, "a function", value)


@frozen(kw_only=True)
class Callbacks:
    """
    Functions that the threads of this worker call. They must return soon, because renewals of leases may wait for them.

    If one of them raises an exception, this worker fails with it.
    """

    lease_gained: LeaseCallback = field(default=_nothing, validator=_check_callable)
    """This worker reads the shard from now on."""
    hand_over_requested: LeaseCallback = field(default=_nothing, validator=_check_callable)
    """Another worker waits for the shard. Commit the current batch soon: after `hand_over_timeout_s` the lease is released."""
    lease_lost: LeaseCallback = field(default=_nothing, validator=_check_callable)
    """
    This worker no longer reads the shard, for any reason: it released the lease, another worker has it, or it expired. The log
    separates these: `lease.released` and `lease.lost`. The current batch cannot be committed.
    """
    shard_ended: LeaseCallback = field(default=_nothing, validator=_check_callable)
    """All records of the closed shard are committed."""
    metric: MetricCallback = field(default=_nothing, validator=_check_callable)
    """A number: `records.committed`, `bytes.committed` or `lag_ms`, each of one shard."""
