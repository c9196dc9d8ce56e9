"""Events of published progress."""

from __future__ import annotations

from kinesis_credentials.events import Event

LEASES = (
    Event(
        "index.created",
        "INFO",
        "worker",
        "The lease table had no index by owner. The process requested the index. This takes minutes. `table.awaited` follows.",
        {"table": "", "index": "the name of the index"},
        example="index.created table=billing index=LeaseOwnerToLeaseKeyIndex",
    ),
    Event(
        "lease.delayed",
        "WARNING",
        "driver",
        "A shard that was not read yet has no lease, because the search for the record before the start failed. The search is "
        "repeated at the next publication.",
        {"lease": "the lease's key", "code": "AWS's error code", "reason": ""},
        example="lease.delayed lease=shardId-000000000003 code=ThrottlingException reason=Kinesis GetRecords failed: ...",
    ),
    Event(
        "lease.owned",
        "WARNING",
        "driver",
        "The query starts where a KCL application stopped, and workers of the application may still run. Stop them. Otherwise "
        "they process the same records as the query.",
        {"table": "", "workers": "the names of the workers", "reason": "what the table shows of them"},
        example="lease.owned table=billing workers=host-1:8f2c reason=they own leases, and the table does not tell whether ...",
    ),
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
        example="lease.publish_skipped table=etl reason=The key of the table is ...",
    ),
    Event(
        "lease.taken",
        "WARNING",
        "driver",
        "A lease belongs to another consumer: it owns the lease, or has finished the shard and deleted it. The query no longer "
        "writes it in this run. One line for each lease.",
        {"table": "", "lease": "the lease's key", "reason": ""},
        example="lease.taken table=etl lease=shardId-000000000003 reason=another consumer owns it, ...",
    ),
    Event(
        "table.awaited",
        "INFO",
        "driver, worker",
        "The lease table or its index is being created, and this process waits for it. A line at the start, and every 30 s.",
        {"table": "", "reason": "", "waited_s": "for how long it has waited"},
        example="table.awaited table=billing reason=creating table billing waited_s=0",
    ),
    Event(
        "table.created",
        "INFO",
        "driver, worker",
        "The lease table was missing, and was created.",
        {"table": ""},
        example="table.created table=etl",
    ),
    Event(
        "table.read",
        "INFO",
        "driver",
        "A query starts where a KCL application stopped: its lease table was read, once.",
        {
            "table": "",
            "stream": "the stream as the user named it",
            "leases": "number of leases of the stream",
        },
        example="table.read table=billing stream=orders leases=4",
    ),
)
