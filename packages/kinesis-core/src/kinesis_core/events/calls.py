"""Events of calls to AWS."""

from __future__ import annotations

from kinesis_credentials.events import Event

CALLS = (
    Event(
        "call.retried",
        "INFO",
        "driver, task",
        "A call to AWS failed and is made again. Each retry has one line.",
        {
            "call": "the operation",
            "reason": "AWS's error code, or the name of what was wrong where there was no response",
            "attempt": "counts the retries of one call, or the throttles of a shard in a row, from 1",
            "wait_s": "how long it waits first",
        },
        {
            "stream": "",
            "shard": "",
            "shards": "how many shards the records are for, where there are several",
            "records": "how many records are sent again",
            "consumer": "",
            "table": "",
        },
        example="call.retried call=GetRecords reason=InternalFailure attempt=1 wait_s=0.413 stream=orders "
        "shard=shardId-000000000003",
    ),
    Event(
        "fan_out.responded",
        "DEBUG",
        "driver, task",
        "SubscribeToShard responded (`fanOutTransport=HTTP/2`).",
        {"over": "the HTTP version", "status": "the HTTP status"},
        example="fan_out.responded over=HTTP/2 status=200",
    ),
    Event(
        "iterator.renewed",
        "DEBUG",
        "driver, task",
        "A shard iterator had expired, and a new one was requested. Its `call.retried` comes before it.",
        {"stream": "", "shard": "", "cut": "where reading continues"},
        example="iterator.renewed stream=orders shard=shardId-000000000003 cut=AFTER 4966",
    ),
    Event(
        "native.chosen",
        "DEBUG",
        "driver, task",
        "The first page of this process is decoded, or its first rows are encoded.",
        {
            "native": "whether the package `kinesis-native` does it, and not Python",
            "reason": "why it does not; empty if it does",
        },
        example="native.chosen native=False reason='kinesis-native is not installed'",
    ),
    Event(
        "native.ignored",
        "WARNING",
        "driver, task",
        "The package `kinesis-native` is installed and cannot be used. Python does its work.",
        {"reason": ""},
        example="native.ignored reason='kinesis-native cannot be used: it has version 0.2.0, and kinesis-core has 0.1.0'",
    ),
    Event(
        "permissions.unchecked",
        "DEBUG",
        "driver",
        "The check of permissions before a query starts ended early. The reason is not a missing permission.",
        {"reason": "AWS's error code"},
        example="permissions.unchecked reason=InternalFailure",
    ),
    Event(
        "stream.awaited",
        "WARNING",
        "driver, task",
        "The stream is being created or changed, or some servers of Kinesis do not yet know that it is ACTIVE. The call is repeated.",
        {
            "call": "the operation",
            "reason": "what shows that the stream is not ready",
            "timeout_s": "for how long the call is repeated",
        },
        {"stream": "", "shard": "", "consumer": ""},
        example="stream.awaited call=DescribeStreamSummary reason='... the stream is CREATING ...' timeout_s=120.0 stream=orders",
    ),
    Event(
        "threads.limited",
        "WARNING",
        "driver, task",
        "A limit of the process allows fewer threads than wanted, so fewer calls are made at the same time.",
        {
            "threads": "what they do",
            "started": "how many there are",
            "wanted": "how many there should be",
        },
        example="threads.limited threads=kinesis-read started=2 wanted=16",
    ),
    Event(
        "transport.chosen",
        "DEBUG",
        "driver, task",
        "A client for the calls on a stream was created.",
        {
            "transport": "`direct` for this package's own HTTP on botocore's connections, else `botocore`",
            "endpoint": "the URL of the service",
        },
        example="transport.chosen transport=direct endpoint=https://kinesis.eu-west-1.amazonaws.com",
    ),
    Event(
        "shard.throttled",
        "WARNING",
        "driver, task",
        "Kinesis has refused three or more calls on the shard, and none was accepted for a minute or longer. If a query plans "
        "or reads, its lag grows, and it may look idle. Let the other consumers poll less often, or use enhanced fan-out. If "
        "rows are written, other producers use up the shard's quota: add shards, or run fewer producers at once.",
        {
            "stream": "",
            "shard": "",
            "for_s": "how many seconds ago the first of these calls was refused",
            "throttles": "how many calls were refused since",
        },
        example="shard.throttled stream=orders shard=shardId-000000000003 for_s=60 throttles=14",
    ),
)
