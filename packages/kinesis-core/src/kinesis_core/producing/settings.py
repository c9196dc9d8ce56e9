"""Settings of a producer: aggregation, buffer, connections, and time limits."""

from __future__ import annotations

from attrs import field, frozen, validators

_MIB = 1024 * 1024

MOST_CONNECTIONS = 32
"""The largest `max_connections`. No stream needs more requests in flight from one producer."""


@frozen
class ProducerSettings:
    """The defaults suit most streams. Decide about `aggregation_enabled`: consumers must be able to unpack aggregates."""

    aggregation_enabled: bool = True
    """
    Whether many user records share one record, in the format of the Kinesis Producer Library (KPL). The KCL, Firehose
    and this library unpack such records. Lambda functions need AWS's modules for it, and not every source of Flink does
    it. Consumers of the plain API do not.
    """
    aggregation_max_size: int = field(default=51_200, validator=validators.ge(64))
    """Maximum bytes of an aggregate, framing included. A larger user record becomes a record of its own."""
    record_max_buffered_time_s: float = field(default=1.0, validator=validators.ge(0))
    """Maximum time a user record is buffered to share an aggregate or a request with others."""
    max_connections: int = field(default=8, validator=[validators.ge(1), validators.le(MOST_CONNECTIONS)])
    """Maximum number of requests in flight. Each has a thread."""
    record_ttl_s: float = field(default=30.0, validator=validators.gt(0))
    """
    For how long the requests for a shard may fail. The producer fails if the shard accepts nothing for that long. A shard
    that throttles is waited for, 20 times as long if it accepts nothing at all. A record has no time limit of its own.
    """
    buffer_bytes: int = field(default=16 * _MIB, validator=validators.ge(1))
    """
    Data and keys of user records that are put and not yet written. Putting waits while the buffer is full. An eighth
    of the size, or one record, may exceed it. Requests in flight need about two and a half times the size of their
    records in addition.
    """
