"""Events of planning."""

from __future__ import annotations

from kinesis_credentials.events import Event

PLANNING = (
    Event(
        "backlog.planned",
        "WARNING",
        "driver",
        "A batch without a limit reaches back six hours or more. It fails if its first records expire "
        "before it is done.",
        {
            "stream": "",
            "shards": "how many shards the batch reads",
            "hours": "how long the oldest of its records has been in the stream",
            "retention_hours": "the stream's retention",
        },
        example="backlog.planned stream=orders shards=4 hours=17.3 retention_hours=24",
    ),
    Event(
        "batch.planned",
        "INFO",
        "driver",
        "The end of a batch was fixed. There is one line for each batch, and no line while nothing is new. A plan that is "
        "discarded has no line: `minRecordsPerTrigger` held it back, or a newer plan replaced it.",
        {
            "stream": "the streams with new records in this batch, with commas between them",
            "shards": "how many shards the batch reads; 0 for an empty batch that keeps the checkpoint fresh",
            "duration_s": "how long the plan took, even if it was made while the previous batch was processed",
            "lag_ms": "how far the planner was behind the tip of the shard that is furthest behind",
        },
        {
            "left": "how many shards were left for the next batch, because the plan took longer than `planBudget`"
        },
        example="batch.planned stream=orders shards=4 duration_s=0.031 lag_ms=0",
    ),
    Event(
        "bell.failed",
        "WARNING",
        "driver",
        "A subscription of `wakeConsumer` failed. Until it works again, new records of the shard are found by looking, as without it. "
        "If access is denied or the consumer was removed, that is until the query starts again. There is one line for failures in a "
        "row with the same code.",
        {
            "stream": "",
            "shard": "",
            "consumer": "the consumer's ARN",
            "code": "AWS's error code, or the name of the failure",
            "reason": "the error",
        },
        example="bell.failed stream=orders shard=shardId-000000000003 consumer=arn:aws:kinesis:... code=ResourceInUseException reason=...",
    ),
    Event(
        "listing.refused",
        "INFO",
        "driver",
        "A response of ListShards left out shards. Nothing new is planned from it, and the shards are listed again.",
        {"stream": "", "reason": "", "responses": "how many such responses there were in a row"},
        example="listing.refused stream=orders reason=shardId-000000000003 is not listed, and Kinesis knows it responses=1",
    ),
    Event(
        "plan.failed",
        "INFO",
        "driver",
        "While the last batch was processed, a call for the plan of the next batch failed. The batch is planned again when "
        "Spark requests it.",
        {"reason": "AWS's error code"},
        example="plan.failed reason=InternalFailure",
    ),
    Event(
        "start.ahead",
        "WARNING",
        "driver",
        "A read starts at a sequence number, and the shard has no record of this or a later number. New records with lower "
        "numbers are not read. This is correct if the number is the end of a subscription of enhanced fan-out. Otherwise check "
        "the number.",
        {"stream": "", "shard": "", "sequence": "the number"},
        example="start.ahead stream=orders shard=shardId-000000000003 sequence=49662345678901234567890123456789012345678901234567890123",
    ),
    Event(
        "start.expired",
        "WARNING",
        "driver",
        "A read starts at a time, and records that arrived since then have expired, or may have expired. With "
        "`failOnDataLoss=false` it reads the remaining records. Otherwise there is an error and no event. One line for each "
        "requested time.",
        {
            "stream": "",
            "asked": "where the read should start",
            "left": "records that arrived then or later have not expired",
            "retention_hours": "the stream's retention",
        },
        example="start.expired stream=orders asked=2026-01-31 08:00:00 UTC left=2026-01-31 08:31:00 UTC retention_hours=24",
    ),
    Event(
        "shards.discovered",
        "INFO",
        "driver, task",
        "ListShards returned shards that were not known before. A task logs it when it writes.",
        {
            "stream": "",
            "shards": "the ids of up to 20 new shards; where a task writes, how many shards are open",
        },
        {"count": "how many shards are new; the driver's lines only"},
        example="shards.discovered stream=orders shards=['shardId-000000000000', 'shardId-000000000001'] count=2",
    ),
)
