"""The events that this package logs. Those of writing are in `kinesis_core.events`."""

from __future__ import annotations

from kinesis_credentials.events import Event

LOGGER = "spark_kinesis_sink"
_TOTALS = {
    "tasks": "how many tasks the batch had",
    "unfinished": "how many of them did not end",
    "user_records": "how many rows are in the stream",
    "records": "how many records they are; an aggregate is one",
    "bytes": "data and partition keys of these records",
    "requests": "calls of PutRecords, failed ones included",
    "throttled": "records that a shard refused because of its rate, once for each refusal",
    "failed": "records that Kinesis refused for another reason, once for each refusal",
    "resent": "rows sent again after a lost or failed response; they may be in the stream twice",
    "misplaced": "rows sent again because their aggregate came to a shard that does not own all of them",
}
_BATCH = {"batch": "Spark's number of the micro-batch; streaming queries only"}
EVENTS = (
    Event(
        "batch.aborted",
        "WARNING",
        "driver",
        "A batch failed. The counts are for the tasks that ended. Their rows stay in the stream.",
        _TOTALS,
        _BATCH,
        example="batch.aborted batch=7 tasks=2 unfinished=1 user_records=500 records=20 bytes=51200 requests=1 throttled=0 "
        "failed=0 resent=0 misplaced=0",
    ),
    Event(
        "batch.put",
        "INFO",
        "driver",
        "A batch was written.",
        _TOTALS,
        _BATCH,
        example="batch.put batch=7 tasks=2 unfinished=0 user_records=1000 records=40 bytes=102400 requests=2 throttled=0 "
        "failed=0 resent=0 misplaced=0",
    ),
    Event(
        "option.ignored",
        "INFO",
        "driver",
        "An option has no effect, or its value counts as another.",
        {"reason": "the option, and why it has no effect"},
        example="option.ignored reason=Option 'flushWaitTimeMs' has no effect here: a task waits until its rows are written, "
        "unless a shard accepts nothing for recordTtlMs.",
    ),
)
