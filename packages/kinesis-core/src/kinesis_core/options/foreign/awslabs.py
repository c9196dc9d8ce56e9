"""The awslabs connector, `aws-kinesis`: https://github.com/awslabs/spark-sql-kinesis-connector."""

from __future__ import annotations

from kinesis_core.options.foreign.connectors import (
    ALL_IN_CHECKPOINT,
    NO_EMPTY_BATCHES,
    NO_SUCH_SETTING,
    NO_WAIT,
    Connector,
    Origin,
    same,
)
from kinesis_core.options.foreign.forms import clamped, clamped_integer, read_in

AWSLABS = Connector(
    Origin.AWSLABS,
    {
        **same(
            "streamName region endpointUrl awsAccessKeyId awsSecretKey sessionToken "
            "credentialProviderClass credentialProviderParam stsRoleArn stsSessionName "
            "stsEndpointUrl startingPosition failOnDataLoss consumerType consumerName "
            "metadataCommitterType",
            prefix="kinesis.",
        ),
        "streamRegion": "kinesis.kinesisRegion",
        "proxyAddress": "kinesis.sink.proxyAddress",
        "proxyPort": "kinesis.sink.proxyPort",
        "proxyUsername": "kinesis.sink.proxyUsername",
        "proxyPassword": "kinesis.sink.proxyPassword",
        "maxRetries": ("kinesis.clientNumRetries", clamped_integer),
        "retryInterval": ("kinesis.clientRetryIntervalsMs", clamped("ms")),
        "maxRetryInterval": ("kinesis.clientMaxRetryIntervalMs", clamped("ms")),
        "maxRecordsPerShard": "kinesis.maxFetchRecordsPerShard",
        "maxBytesPerShard": ("kinesis.maxFetchTimePerShardSec", read_in("s")),
        "shardDiscoveryInterval": "kinesis.describeShardInterval",
        "planningThreads": "kinesis.checkNewRecordThreads",
        "maxRecordsPerFetch": "kinesis.getRecords.numberOfRecordsPerFetch",
        "minFetchPeriod": ("kinesis.getRecords.fetchIntervalMs", clamped("ms")),
        "subscribeTimeout": ("kinesis.subscribeToShard.timeoutSec", clamped("s", least_s=0)),
        "subscribeRetries": ("kinesis.subscribeToShard.maxRetries", clamped_integer),
        "dynamodbTableName": "kinesis.dynamodb.tableName",
        "aggregationEnabled": "kinesis.sink.aggregationEnabled",
        "recordMaxBufferedTimeMs": ("kinesis.sink.recordMaxBufferedTimeMs", clamped("ms")),
        "maxConnections": "kinesis.sink.maxConnections",
        "recordTtlMs": ("kinesis.sink.recordTtl", clamped("ms")),
    },
    ignored_by_source={
        ALL_IN_CHECKPOINT: (
            "metadataPath metadataNumRetries metadataRetryIntervalsMs metadataMaxRetryIntervalMs "
            "minBatchesToRetain"
        ),
        NO_EMPTY_BATCHES: "avoidEmptyBatches kinesis.internal.avoidEmptyBatches",
        NO_SUCH_SETTING: "kinesis.internal.* kinesis.subscribeToShard.*",
    },
    ignored_by_sink={
        NO_WAIT: "flushWaitTimeMs kinesis.sink.flushWaitTimeMs",
    },
)
