"""The connectors of qubole and roncemer: https://github.com/qubole/kinesis-sql."""

from __future__ import annotations

from kinesis_core.options.foreign.connectors import (
    ALL_IN_CHECKPOINT,
    NO_EMPTY_BATCHES,
    NO_WAIT,
    Connector,
    Origin,
)
from kinesis_core.options.foreign.forms import in_unit, read_in

QUBOLE = Connector(
    Origin.QUBOLE,
    {
        "streamName": "streamName",
        "region": "regionName",
        "endpointUrl": "endpointUrl",
        "awsAccessKeyId": "awsAccessKeyId",
        "awsSecretKey": "awsSecretKey",
        "sessionToken": "sessionToken",
        "awsUseInstanceProfile": "awsUseInstanceProfile",
        "stsRoleArn": "awsSTSRoleARN",
        "stsSessionName": "awsSTSSessionName",
        "maxRetries": "kinesis.client.numRetries",
        "retryInterval": ("kinesis.client.retryIntervalMs", in_unit("ms")),
        "maxRetryInterval": ("kinesis.client.maxRetryIntervalMs", in_unit("ms")),
        "startingPosition": "startingPosition",
        "failOnDataLoss": "failOnDataLoss",
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
        "kinesis.executor.metadata.*": ALL_IN_CHECKPOINT,
        "kinesis.client.avoidEmptyBatches": NO_EMPTY_BATCHES,
    },
    ignored_by_sink={
        "kniesis.executor.flushwaittimemillis": NO_WAIT,  # spelled as in its code
        "kinesis.executor.flushWaitTimeMillis": NO_WAIT,
    },
)
