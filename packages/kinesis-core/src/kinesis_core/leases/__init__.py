"""
The KCL's lease table in DynamoDB: leases as values and items, a client of the table, and the publisher of a query's progress.
"""

from kinesis_core.leases.application import OpenTable, application_tables, lease_cut, resume_from_applications
from kinesis_core.leases.attributes import (
    Item,
    Value,
    from_dynamodb,
    item_from_dynamodb,
    item_to_dynamodb,
    to_dynamodb,
)
from kinesis_core.leases.expressions import condition_request, update_request
from kinesis_core.leases.items import (
    EMPTY_UNTIL,
    ENTITY_TYPE,
    LEASE,
    PENDING,
    PENDING_BATCH,
    STARTING_TIME,
    STREAM_IDENTIFIER,
    LeaseItemError,
    checkpoint_attributes,
    is_lease,
    pending_attributes,
    read_lease,
    shard_attributes,
)
from kinesis_core.leases.lease import (
    ALL_USER_RECORDS,
    AT_TIMESTAMP,
    FINISHED,
    LATEST,
    LEASE_KEY,
    LEASE_OWNER,
    NO_USER_RECORD,
    OLDEST,
    SHARD_END,
    TRIM_HORIZON,
    Lease,
    LeaseCheckpoint,
    earlier_streams,
    identify_stream,
    leases_of_stream,
)
from kinesis_core.leases.publisher import LeasePublisher
from kinesis_core.leases.table import LeaseTable, open_client, open_table
from kinesis_core.leases.table_client import TableClient
from kinesis_core.leases.table_facts import OWNER_INDEX, OwnerIndex
from kinesis_core.leases.unread import check_number, last_before

__all__ = [
    "ALL_USER_RECORDS",
    "AT_TIMESTAMP",
    "EMPTY_UNTIL",
    "ENTITY_TYPE",
    "FINISHED",
    "Item",
    "LATEST",
    "LEASE",
    "LEASE_KEY",
    "LEASE_OWNER",
    "Lease",
    "LeaseCheckpoint",
    "LeaseItemError",
    "LeasePublisher",
    "LeaseTable",
    "NO_USER_RECORD",
    "OLDEST",
    "OWNER_INDEX",
    "OpenTable",
    "OwnerIndex",
    "PENDING",
    "PENDING_BATCH",
    "SHARD_END",
    "STARTING_TIME",
    "STREAM_IDENTIFIER",
    "TRIM_HORIZON",
    "TableClient",
    "Value",
    "application_tables",
    "check_number",
    "checkpoint_attributes",
    "condition_request",
    "earlier_streams",
    "from_dynamodb",
    "identify_stream",
    "is_lease",
    "item_from_dynamodb",
    "item_to_dynamodb",
    "last_before",
    "lease_cut",
    "leases_of_stream",
    "open_client",
    "open_table",
    "pending_attributes",
    "read_lease",
    "resume_from_applications",
    "shard_attributes",
    "to_dynamodb",
    "update_request",
]
