"""
Names of the options of Spark's Kafka source and sink, each with what does the same here.

https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html lists them.
"""

from __future__ import annotations

from kinesis_core.options.option import Hint

_CHECKPOINT = "Leave it out: Spark's checkpoint holds the progress of a query."
_OF_READING = "Leave it out: it is an option of reading."
_OF_WRITING = "Leave it out: it is an option of writing."

_READING = (
    Hint(
        ("maxOffsetsPerTrigger",),
        "Use `maxRecordsPerTrigger`, which counts the records of all shards, too.",
    ),
    Hint(
        ("minOffsetsPerTrigger",), "Use `minRecordsPerTrigger`, which counts the records of all shards, too."
    ),
    Hint(
        ("minPartitions",),
        "Use `shardsPerTask`. With 1, each shard has its own task. A task never reads a part of a shard.",
    ),
    Hint(("subscribe",), "Use `streamName` or `streamARN`. Both take several, separated by commas."),
    Hint(
        ("subscribePattern",),
        "Use `streamName` or `streamARN` with all names, separated by commas. There are no patterns.",
    ),
    Hint(("assign",), "Use `streamName` or `streamARN`. A query reads all shards of its streams."),
    Hint(
        ("startingOffsets",),
        "Use `startingPosition`: `TRIM_HORIZON` is Kafka's `earliest`, and `LATEST` is its `latest`.",
    ),
    Hint(("endingOffsets",), "Use `endingPosition`, for batch reads."),
    Hint(
        ("startingTimestamp", "startingOffsetsByTimestamp"),
        "Use `startingPosition` with a time, such as `AT_TIMESTAMP 2026-01-31T12:00:00Z`.",
    ),
    Hint(
        ("endingTimestamp", "endingOffsetsByTimestamp"),
        "Use `endingPosition` with a time, such as `AT_TIMESTAMP 2026-01-31T12:00:00Z`, for batch reads.",
    ),
    Hint(("groupIdPrefix", "kafka.group.id", "group.id"), _CHECKPOINT),
    Hint(("fetchOffset.numRetries",), "Use `maxRetries`."),
    Hint(("fetchOffset.retryIntervalMs",), "Use `retryInterval`."),
)
_WRITING = (
    Hint(
        ("topic",),
        "Use `streamName` or `streamARN`, or name the stream of each row in a column `streamName`.",
    ),
    Hint(
        ("key.serializer", "value.serializer", "kafka.key.serializer", "kafka.value.serializer"),
        "Leave it out: convert the values in the query, for example with `to_json`, into the columns `data` and `partitionKey`.",
    ),
)
_BOTH = (
    Hint(
        ("kafka.bootstrap.servers", "bootstrap.servers"),
        "Use `region`, or `endpointUrl` for a VPC endpoint or a local server.",
    ),
    Hint(("includeHeaders",), "Leave it out: records of Kinesis have no headers."),
    Hint(("kafka.*",), "Leave it out: it is a setting of Kafka's client."),
)


def _names(hints: tuple[Hint, ...]) -> tuple[str, ...]:
    return tuple(name for hint in hints for name in hint.names)


KAFKA_SOURCE_HINTS = (
    *_READING,
    Hint(("topic",), "Use `streamName` or `streamARN`."),
    Hint(_names(_WRITING[1:]), _OF_WRITING),
    *_BOTH,
)
"""The first one that fits counts."""
KAFKA_SINK_HINTS = (*_WRITING, Hint(_names(_READING), _OF_READING), *_BOTH)
