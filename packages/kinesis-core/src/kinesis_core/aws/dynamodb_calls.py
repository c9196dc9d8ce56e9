"""The calls to DynamoDB: leases that queries publish, and those of consumer groups."""

from __future__ import annotations

from kinesis_core.aws.permission_types import DRIVER, TABLE, TABLE_INDEX, WORKER, Call, Purpose, Use

DYNAMODB_CALLS = (
    Call(
        "dynamodb",
        "DescribeTable",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "when a query starts"),
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "when a worker starts, and each second until table and index are active",
            ),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "CreateTable",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "when a query starts and the table does not exist"),
            Use(Purpose.GROUP_TABLE, WORKER, "when a worker starts and the table does not exist"),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "UpdateTable",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "when a worker starts with `add_index=True`, and the table lacks the index",
            ),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account, and one new index at a time, per table",
    ),
    Call(
        "dynamodb",
        "Scan",
        (TABLE,),
        (
            Use(Purpose.KCL_TABLE, DRIVER, "when a new query starts at a `kclApplication`, once"),
            Use(Purpose.GROUP_TABLE, WORKER, "when a worker starts; regularly, to see all leases"),
        ),
        "3,000 read units a second, per partition of the table; 4 KB take one",
    ),
    Call(
        "dynamodb",
        "GetItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for a lease that was assigned, for those of a shard's parents, and after a write without a response; regularly, for the "
                "leader's lock and for how the group coordinates",
            ),
        ),
        "3,000 read units a second, per partition of the table; an item takes one",
    ),
    Call(
        "dynamodb",
        "Query",
        (TABLE_INDEX,),
        (Use(Purpose.GROUP_TABLE, WORKER, "regularly, for the leases that are assigned to the worker"),),
        "3,000 read units a second, per partition of the index; 8 KB take one",
    ),
    Call(
        "dynamodb",
        "PutItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for each new shard, and for the items that coordinate the workers",
            ),
        ),
        "1,000 write units a second, per partition of the table; an item takes one, and one more in the index",
    ),
    Call(
        "dynamodb",
        "UpdateItem",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "after a micro-batch, for each shard whose offset changed"),
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "to assign, take, renew, commit and release leases, and for the items that coordinate the workers",
            ),
        ),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
    Call(
        "dynamodb",
        "DeleteItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for a shard that was read to its end, once its children are being read; when a worker ends, for its report and its lock",
            ),
        ),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
)
