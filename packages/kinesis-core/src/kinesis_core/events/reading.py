"""Events of reading, by polling and by enhanced fan-out."""

from __future__ import annotations

from kinesis_credentials.events import Event

READING = (
    Event(
        "aggregate.undecoded",
        "WARNING",
        "task",
        "An aggregate with the right checksum cannot be decoded as a whole. If a user record refers to a missing key, its key "
        "is null. A part that is not in the format becomes one row as it is: a user record, or the whole aggregate. Nothing is "
        "dropped. One line a minute for each "
        "shard.",
        {
            "stream": "",
            "shard": "",
            "sequence": "the record's sequence number",
            "rows": "how many rows the record is",
            "undecoded": "how many of them are not decoded, or lack a key",
        },
        example="aggregate.undecoded stream=orders shard=shardId-000000000003 sequence=4966... rows=500 undecoded=1",
    ),
    Event(
        "consumer.allowed",
        "DEBUG",
        "driver",
        "The credentials allow SubscribeToShard. The check asks for a shard that does not exist, and so it ends with an error.",
        {"consumer": "", "reason": "AWS's error code"},
        example="consumer.allowed consumer=arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/etl:1790000000 "
        "reason=ResourceNotFoundException",
    ),
    Event(
        "consumer.gone",
        "INFO",
        "driver",
        "The query wanted to deregister its consumer, but Kinesis no longer knew it.",
        {"consumer": ""},
        example="consumer.gone consumer=etl",
    ),
    Event(
        "consumer.left",
        "WARNING",
        "driver",
        "The consumer could not be deregistered. It stays, and costs money: deregister it.",
        {"consumer": "", "reason": ""},
        example="consumer.left consumer=etl reason=Kinesis DeregisterStreamConsumer failed: ...",
    ),
    Event(
        "consumer.registered",
        "INFO",
        "driver",
        "The consumer was missing, and was registered.",
        {"consumer": ""},
        example="consumer.registered consumer=etl",
    ),
    Event(
        "consumer.removed",
        "INFO",
        "driver",
        "The consumer was deregistered when its query stopped.",
        {"consumer": ""},
        example="consumer.removed consumer=etl",
    ),
    Event(
        "data.lost",
        "WARNING",
        "driver, task",
        "Records expired, or may have expired, before they were read. With `failOnDataLoss=false` the query "
        "continues with "
        "the oldest record that is left. Otherwise there is an error and no event.",
        {"reason": "", "stream": "", "shard": ""},
        {"cut": "where reading should have continued; the driver's lines only"},
        example="data.lost reason=records after AFTER 4965 (age 25 h, retention 24 h) may have expired before they were read, and the "
        "oldest record left is 4967 stream=orders shard=shardId-000000000003 cut=AFTER 4965",
    ),
    Event(
        "fan_out.polled",
        "INFO",
        "task",
        "Ranges of a task were read by polling, whole or in part, because there was no subscription. One line for each task.",
        {"ranges": "how many ranges", "reasons": "how many for each of AWS's error codes"},
        example="fan_out.polled ranges=2 reasons={'ResourceInUseException': 2}",
    ),
    Event(
        "shard.read",
        "DEBUG",
        "task",
        "One range of one shard was read to its end. A batch has one line for each shard with records: too many for INFO.",
        {
            "stream": "",
            "shard": "",
            "records": "how many records, an aggregate as one",
            "bytes": "their data; 0 where no column needs it",
            "pages": "how many responses or events had records of the range",
            "duration_s": "from the first call to the end, with waits for the consumer of the records",
            "calls": "calls of GetShardIterator, GetRecords and SubscribeToShard",
            "throttles": "how many of these calls were throttled",
        },
        example="shard.read stream=orders shard=shardId-000000000003 records=1200 bytes=614400 pages=1 duration_s=0.046 "
        "calls=2 throttles=0",
    ),
    Event(
        "shard.stalled",
        "WARNING",
        "driver, task",
        "Kinesis returned only empty pages of the shard, and the tip came no closer. No record is known to be lost, and reading "
        "continues there. There is one line at first, and one for each further minute. After ten minutes it is an error.",
        {
            "stream": "",
            "shard": "",
            "for_s": "for how long the shard has been read without records or progress",
            "pages": "how many pages or events in a row were empty",
        },
        example="shard.stalled stream=orders shard=shardId-000000000003 for_s=10 pages=50",
    ),
)
