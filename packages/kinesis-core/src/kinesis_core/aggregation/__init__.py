"""Many user records in one Kinesis record, in the format of the Kinesis Producer Library (KPL)."""

from kinesis_core.aggregation.decode import MAGIC, UserRecords, is_aggregate, unpack
from kinesis_core.aggregation.encode import AggregateBuilder

__all__ = [
    "AggregateBuilder",
    "MAGIC",
    "UserRecords",
    "is_aggregate",
    "unpack",
]
