"""Leases of this worker: what writes to them mean, and how long each one is valid."""

from kinesis_consumer.leases import life
from kinesis_consumer.leases.contents import (
    LeaseEmptiness,
    OpenBatch,
    describe_batch,
    describe_emptiness,
    open_batch,
    read_emptiness,
)
from kinesis_consumer.leases.held import HeldLease
from kinesis_consumer.leases.updates import (
    COUNTER,
    add_children,
    assign,
    begin_hand_over,
    describe_shard,
    new_item,
    release,
    renew,
)

__all__ = [
    "COUNTER",
    "HeldLease",
    "LeaseEmptiness",
    "OpenBatch",
    "add_children",
    "assign",
    "begin_hand_over",
    "describe_batch",
    "describe_emptiness",
    "describe_shard",
    "life",
    "new_item",
    "open_batch",
    "read_emptiness",
    "release",
    "renew",
]
