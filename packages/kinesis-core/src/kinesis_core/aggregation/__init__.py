"""Many user records in one Kinesis record, in the format of the Kinesis Producer Library (KPL)."""

from kinesis_core.aggregation.decode import (
    MAGIC,
    UserRecords,
    count_user_records,
    is_aggregate,
    is_hash_key,
    unpack,
)
from kinesis_core.aggregation.encode import AggregateBuilder

__all__ = [
    "AggregateBuilder",
    "MAGIC",
    "UserRecords",
    "count_user_records",
    "is_aggregate",
    "is_hash_key",
    "unpack",
]
