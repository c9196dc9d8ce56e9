"""Leases of this worker: what writes to them mean, and how long each one is valid."""

from kinesis_consumer.leases import life
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
    "add_children",
    "assign",
    "begin_hand_over",
    "describe_shard",
    "life",
    "new_item",
    "release",
    "renew",
]
