"""The connectors of qubole and roncemer: https://github.com/qubole/kinesis-sql."""

from __future__ import annotations

from kinesis_core.options.foreign.connectors import (
    ALL_IN_CHECKPOINT,
    NO_EMPTY_BATCHES,
    NO_WAIT,
    Connector,
    Origin,
    same,
)
from kinesis_core.options.foreign.forms import in_unit, read_in

QUBOLE = Connector(
    Origin.QUBOLE,
    {
        **same(
            "streamName endpointUrl awsAccessKeyId awsSecretKey sessionToken awsUseInstanceProfile "
            "startingPosition failOnDataLoss"
        ),
        "region": "regionName",
        "stsRoleArn": "awsSTSRoleARN",
        "stsSessionName": "awsSTSSessionName",
        "maxRetries": "kinesis.client.numRetries",
        "retryInterval": ("kinesis.client.retryIntervalMs", in_unit("ms")),
        "maxRetryInterval": ("kinesis.client.maxRetryIntervalMs", in_unit("ms")),
        "maxRecordsPerShard": "kinesis.executor.maxFetchRecordsPerShard",
        "maxBytesPerShard": ("kinesis.executor.maxFetchTimeInMs", read_in("ms")),
        "shardDiscoveryInterval": "kinesis.client.describeShardInterval",
        "planningThreads": "kinesis.client.maxParallelThreads",
        "maxRecordsPerFetch": "kinesis.executor.maxRecordPerRead",
        "addIdleTimeBetweenReads": "kinesis.executor.addIdleTimeBetweenReads",
        "idleTimeBetweenReadsInMs": "kinesis.executor.idleTimeBetweenReadsInMs",
        "aggregationEnabled": "kinesis.executor.aggregationEnabled",
        "recordMaxBufferedTimeMs": "kinesis.executor.recordMaxBufferedTime",
        "maxConnections": "kinesis.executor.maxConnections",
    },
    ignored_by_source={
        ALL_IN_CHECKPOINT: "kinesis.executor.metadata.*",
        NO_EMPTY_BATCHES: "kinesis.client.avoidEmptyBatches",
    },
    ignored_by_sink={
        # The first is spelled as in its code.
        NO_WAIT: "kniesis.executor.flushwaittimemillis kinesis.executor.flushWaitTimeMillis",
    },
)
