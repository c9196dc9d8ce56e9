"""
The Kinesis connection of AWS Glue, whose options are those of qubole without their prefixes.

https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html
"""

from __future__ import annotations

from kinesis_core.options.foreign.connectors import NO_EMPTY_BATCHES, Connector, Origin, same
from kinesis_core.options.foreign.forms import clamped, clamped_integer, in_unit, or_host, read_in
from kinesis_core.options.option import Unsupported

GLUE_CONSUMER = "fanoutConsumerARN"
"""Glue has no option that chooses fan-out: naming a consumer chooses it."""
GLUE = Connector(
    Origin.GLUE,
    {
        **same(
            "streamName streamARN endpointUrl startingPosition failOnDataLoss addIdleTimeBetweenReads "
            "idleTimeBetweenReadsInMs aggregationEnabled aggregationMaxSize"
        ),
        "stsRoleArn": "awsSTSRoleARN",
        "stsSessionName": "awsSTSSessionName",
        "stsEndpointUrl": ("awsSTSEndpoint", or_host),
        "maxRetries": ("numRetries", clamped_integer),
        "retryInterval": ("retryIntervalMs", clamped("ms")),
        "maxRetryInterval": ("maxRetryIntervalMs", clamped("ms")),
        "maxRecordsPerShard": "maxFetchRecordsPerShard",
        "maxBytesPerShard": ("maxFetchTimeInMs", read_in("ms")),
        "shardDiscoveryInterval": "describeShardInterval",
        "maxRecordsPerFetch": "maxRecordPerRead",
        "consumerARN": GLUE_CONSUMER,
        "recordMaxBufferedTimeMs": ("recordMaxBufferedTime", in_unit("ms")),
    },
    ignored_by_source={
        NO_EMPTY_BATCHES: "avoidEmptyBatches",
        "the format says what kind of stream it is": "typeOfData",
        "records arrive as bytes in the column data, and the query decodes them, for example with from_json": (
            "classification delimiter inferSchema schema avroSchema"
        ),
        "the column approximateArrivalTimestamp has the time of Glue's __src_timestamp": "addRecordTimestamp",
        "the event batch.planned has the lag; on Spark 4.2 and later the progress and the metric kinesis_lag_seconds have it too": (
            "emitConsumerLagMetrics"
        ),
    },
    ignored_by_sink={
        "aggregationMaxSize alone limits an aggregate": "aggregationMaxCount",
        "a request is as large as Kinesis allows": "collectionMaxCount collectionMaxSize",
        "the sink sends less to a shard that throttles": "producerRateLimit",
    },
)
PARTITION_KEY = Unsupported(
    names=("partitionKey",),
    feature="one partition key for all rows",
    instead="Give each row its key in a column 'partitionKey', for example .withColumn('partitionKey', lit('part1')).",
)
