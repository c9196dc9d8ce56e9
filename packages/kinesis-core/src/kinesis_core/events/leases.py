"""Events of published progress."""

from __future__ import annotations

from kinesis_credentials.events import Event

LEASES = (
    Event(
        "lease.publish_failed",
        "WARNING",
        "driver",
        "Progress could not be published to the lease table. The query continues, and publishes again after a pause.",
        {"table": "", "code": "AWS's error code", "reason": "", "pause_s": "how long the pause is"},
        example="lease.publish_failed table=etl code=ThrottlingException reason=DynamoDB UpdateItem failed: ... pause_s=60.0",
    ),
    Event(
        "lease.publish_skipped",
        "WARNING",
        "driver",
        "The lease table has the layout of another connector. Nothing is published in this run.",
        {"table": "", "reason": ""},
        example="lease.publish_skipped table=etl reason=Option 'dynamodbTableName' names a table whose key is ...",
    ),
    Event(
        "lease.taken",
        "WARNING",
        "driver",
        "Another consumer took a lease over. One line for each lease.",
        {"table": "", "lease": "the lease's key", "reason": ""},
        example="lease.taken table=etl lease=shardId-000000000003 reason=another consumer owns it now",
    ),
    Event(
        "table.created",
        "INFO",
        "driver",
        "The lease table was missing, and was created.",
        {"table": ""},
        example="table.created table=etl",
    ),
)
