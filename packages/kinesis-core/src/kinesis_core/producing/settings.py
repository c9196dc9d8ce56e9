"""How a producer works: what it gathers, how much it holds, and how long it tries."""

from __future__ import annotations

from attrs import field, frozen, validators

_MIB = 1024 * 1024


@frozen
class ProducerSettings:
    """The defaults suit most streams; `aggregation_enabled` is the one to think about."""

    aggregation_enabled: bool = True
    """
    Many user records in one record, in the format of the Kinesis Producer Library. The KCL, Firehose and this library
    unpack it, Lambda and Flink with help; consumers of the plain API do not.
    """
    aggregation_max_size: int = field(default=51_200, validator=validators.ge(64))
    """Bytes of an aggregate, all of it. A user record that would not fit goes plain."""
    record_max_buffered_time_s: float = field(default=1.0, validator=validators.ge(0))
    """
    How long a user record waits for others to share an aggregate, or a request, with; at most a quarter of
    `record_ttl_s`.
    """
    max_connections: int = field(default=8, validator=[validators.ge(1), validators.le(32)])
    """Requests in flight at once, each with a thread."""
    record_ttl_s: float = field(default=30.0, validator=validators.gt(0))
    """A record that is not written by then makes the producer fail."""
    buffer_bytes: int = field(default=16 * _MIB, validator=validators.ge(1))
    """
    Data and keys of records that are put and not yet written. When it is full, putting waits; an eighth more, or one
    record, may be over it. Requests on the way need about two and a half times their records' size beside it.
    """
