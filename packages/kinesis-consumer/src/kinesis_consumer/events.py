"""The events that this package logs. Those of reading, and of tables in DynamoDB, are in `kinesis_core.events`."""

from __future__ import annotations

from kinesis_credentials.events import Event

LOGGER = "kinesis_consumer"
_LEASE = {"lease": "the lease's key: the shard, and before it the stream if the group has several"}
_BATCH = {"batch": "the batch's id: stream, shard, first and last record"}
_HANDLED = {**_BATCH, "stream": "", "shard": ""}
_RECORD = {
    "sequence": 'the record\'s sequence number, with `each="record"`',
    "sub_sequence": "the record's index in its aggregate",
}
_WORKER = {"worker": "the worker's name"}
_FAILURE = {"code": "AWS's error code, or the name of the failure", "reason": ""}
_FAILURES = {"failures": "how many attempts failed since the last line, including this one"}
_CHECKPOINT = {"checkpoint": "how far the shard was read: a sequence number, or a word of the KCL"}
_BATCHES = (
    Event(
        "batch.committed",
        "INFO",
        "worker",
        "A batch was committed.",
        {
            **_BATCH,
            "records": "how many records it has; an aggregate is one",
            "bytes": "the data of its records",
        },
        example="batch.committed batch=orders:shardId-000000000000:4966...:4967... records=250 bytes=72400",
    ),
    Event(
        "batch.unconfirmed",
        "WARNING",
        "worker",
        "A commit got no response until the lease was lost, and reading the lease afterwards did not show whether it was "
        "written. The batch may be "
        "committed. If it is not, it is delivered again.",
        {**_BATCH, "reason": "why the lease is lost"},
        example="batch.unconfirmed batch=orders:shardId-000000000000:4966...:4967... reason=it could not be renewed for 10 s",
    ),
    Event(
        "batch.uncommitted",
        "WARNING",
        "worker",
        "The program has not committed a batch for a minute, and waits for another one. The shard of the batch waits for the commit.",
        {**_BATCH, "out_s": "for how long it is out, at least"},
        example="batch.uncommitted batch=orders:shardId-000000000000:4966...:4967... out_s=60",
    ),
    Event(
        "handler.failed",
        "WARNING",
        "worker",
        "A handler raised an exception. It is called again after a pause, unless that was the last attempt.",
        {
            **_HANDLED,
            "attempt": "how often it failed for this batch or record",
            "error": "the exception's class",
        },
        _RECORD,
        example="handler.failed batch=orders:shardId-000000000000:4966...:4967... stream=orders shard=shardId-000000000000 "
        "sequence=4966... sub_sequence=0 attempt=1 error=KeyError",
    ),
    Event(
        "records.diverted",
        "WARNING",
        "worker",
        "A handler failed in all attempts, and `on_failure` took the records. They count as processed.",
        {**_HANDLED, "error": "the exception's class"},
        _RECORD,
        example="records.diverted batch=orders:shardId-000000000000:4966...:4967... stream=orders shard=shardId-000000000000 "
        "sequence=4966... sub_sequence=0 error=KeyError",
    ),
)
_LEASES = (
    Event(
        "handover.requested",
        "INFO",
        "worker",
        "Another worker waits for the shard. This worker releases the lease once the current batch is committed, or after "
        "`hand_over_timeout_s`.",
        {**_LEASE, **_WORKER, "next": "the worker that has it next; `nobody` if any may take it"},
        example="handover.requested lease=shardId-000000000000 worker=host:6f1c... next=host:77ab...",
    ),
    Event(
        "lease.created",
        "INFO",
        "worker",
        "The leader created the lease of a shard.",
        {**_LEASE, **_CHECKPOINT},
        example="lease.created lease=shardId-000000000000 checkpoint=LATEST",
    ),
    Event(
        "lease.deleted",
        "INFO",
        "worker",
        "The lease of a finished shard was deleted, because its children are being read.",
        _LEASE,
        example="lease.deleted lease=shardId-000000000000",
    ),
    Event(
        "lease.gained",
        "INFO",
        "worker",
        "This worker reads the shard from now on.",
        {**_LEASE, **_WORKER, **_CHECKPOINT},
        example="lease.gained lease=shardId-000000000000 worker=host:6f1c... checkpoint=4966...",
    ),
    Event(
        "lease.lost",
        "INFO",
        "worker",
        "Another worker has the shard, or the lease could not be renewed in time.",
        {**_LEASE, **_WORKER, "reason": ""},
        example="lease.lost lease=shardId-000000000000 worker=host:6f1c... reason=worker host:77ab... has it",
    ),
    Event(
        "lease.malformed",
        "WARNING",
        "worker",
        "An item of the store should be a lease and cannot be read, so no worker reads the shard. Correct or delete it.",
        _LEASE,
        example="lease.malformed lease=shardId-000000000000",
    ),
    Event(
        "lease.released",
        "INFO",
        "worker",
        "This worker released the lease: it closes, or another worker waited for the shard.",
        {**_LEASE, **_WORKER, "next": "the worker that has it next; `nobody` if any may take it"},
        example="lease.released lease=shardId-000000000000 worker=host:6f1c... next=host:77ab...",
    ),
    Event(
        "release.failed",
        "WARNING",
        "worker",
        "The store failed when a lease was released. If it was not released, other workers have it once it expires.",
        {**_LEASE, **_FAILURE},
        example="release.failed lease=shardId-000000000000 code=ThrottlingException reason=DynamoDB UpdateItem failed: ...",
    ),
    Event(
        "renewal.failed",
        "WARNING",
        "worker",
        "Leases could not be written. Each is tried again while it is valid. The first failure is logged at once, further "
        "failures once a minute. `coordination.recovered` follows.",
        {
            "leases": "how many leases failed since the last line, including this one",
            "lease": "one of them: the key",
            **_FAILURE,
            **_FAILURES,
        },
        example="renewal.failed leases=12 lease=shardId-000000000000 code=ThrottlingException "
        "reason=DynamoDB UpdateItem failed: ... failures=480",
    ),
    Event(
        "shard.ended",
        "INFO",
        "worker",
        "All records of a closed shard are committed. Its children can be read.",
        {**_LEASE, **_WORKER},
        example="shard.ended lease=shardId-000000000000 worker=host:6f1c...",
    ),
    Event(
        "shard.failed",
        "WARNING",
        "worker",
        "A shard could not be read for the moment. It is tried again. Logged for the first failure in a row, and again each "
        "time their number has doubled.",
        {**_LEASE, **_FAILURE, "failures": "how many attempts failed in a row"},
        example="shard.failed lease=shardId-000000000000 code=InternalFailure reason=GetRecords failed: ... failures=1",
    ),
    Event(
        "shard.unread",
        "WARNING",
        "worker",
        "A shard expired before it was read to its end, so records may be lost. Its lease stays.",
        {**_LEASE, **_CHECKPOINT},
        example="shard.unread lease=shardId-000000000000 checkpoint=4966...",
    ),
    Event(
        "shard.waiting",
        "INFO",
        "worker",
        "A shard waits: for its first read, for its parents, or, at its end, for the leases of its children. Logged after 10 "
        "seconds, and then "
        "each minute.",
        {**_LEASE, "reason": "what it waits for", "waited_s": "for how long it waits"},
        example="shard.waiting lease=shardId-000000000002 reason=its parents are not read to their end: shardId-000000000000 waited_s=10",
    ),
    Event(
        "shards.unassigned",
        "WARNING",
        "worker",
        "No worker reads these shards: all workers have as many as `max_leases` allows. Start another worker, or raise the "
        "setting in all workers. The leader logs it once the number has not changed for a lease duration.",
        {"shards": "how many", "max_leases": "the setting of this worker"},
        example="shards.unassigned shards=3 max_leases=1",
    ),
    Event(
        "stream.ignored",
        "WARNING",
        "worker",
        "The store has leases of a stream that this worker was not opened with. Only workers that name the stream read it. Name the "
        "same streams in all workers of the group, or delete the leases of a stream that the group should "
        "not read. Logged once for each stream.",
        {"stream": "the stream's id in leases: account, name and creation time", **_WORKER},
        example="stream.ignored stream=123456789012:orders:1780000000 worker=host:6f1c...",
    ),
    Event(
        "subscription.failed",
        "WARNING",
        "worker",
        "A subscription of enhanced fan-out failed. The shard is polled until the next subscription, which is made after a "
        "pause. There is one line for failures in a row with the same code.",
        {"shard": "", "consumer": "the registered consumer's ARN", **_FAILURE},
        example="subscription.failed shard=shardId-000000000000 consumer=arn:aws:kinesis:... code=ResourceInUseException reason=...",
    ),
)
_COORDINATION = (
    Event(
        "coordination.failed",
        "WARNING",
        "worker",
        "A part of the coordination failed. It is tried again. The first failure is logged at once, further failures once a minute.",
        {"task": "the part", **_FAILURE, **_FAILURES},
        example="coordination.failed task=assignment code=ThrottlingException reason=DynamoDB Scan failed: ... failures=6",
    ),
    Event(
        "coordination.recovered",
        "INFO",
        "worker",
        "A part of the coordination works again, or the renewal of leases.",
        {
            "task": "the part; `renewal` for leases",
            "failures": "how many attempts failed",
            "failed_s": "for how many seconds",
        },
        example="coordination.recovered task=assignment failures=9 failed_s=95",
    ),
    Event(
        "file.created",
        "INFO",
        "worker",
        "The store in the SQLite file was missing, and was created.",
        {"file": "the path of the file"},
        example="file.created file=/var/lib/billing/leases.db",
    ),
    Event(
        "leader.elected",
        "INFO",
        "worker",
        "This worker leads the group: it assigns leases to all workers.",
        _WORKER,
        example="leader.elected worker=host:6f1c...",
    ),
)
EVENTS = tuple(sorted((*_BATCHES, *_LEASES, *_COORDINATION), key=lambda event: event.name))
