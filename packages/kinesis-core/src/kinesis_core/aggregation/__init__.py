"""Many user records in one Kinesis record, in the format of the Kinesis Producer Library (KPL)."""

from kinesis_core.aggregation.decode import MAGIC, UserRecords, unpack

__all__ = ["MAGIC", "UserRecords", "unpack"]
