"""The KCL's lease table in DynamoDB: leases, the table, and the publisher of a query's progress."""

from kinesis_core.leases.publisher import LeasePublisher
from kinesis_core.leases.table import open_table

__all__ = [
    "LeasePublisher",
    "open_table",
]
