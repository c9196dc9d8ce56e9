"""Names of other connectors that need no more than a word."""

from __future__ import annotations

from kinesis_core.options import Unneeded

READING_UNNEEDED = (
    Unneeded(
        names=(
            "metadataPath",
            "metadataNumRetries",
            "metadataRetryIntervalsMs",
            "metadataMaxRetryIntervalMs",
            "minBatchesToRetain",
            "kinesis.executor.metadata.*",
        ),
        reason="Spark's checkpoint holds all progress",
    ),
    Unneeded(
        names=("avoidEmptyBatches", "kinesis.client.avoidEmptyBatches", "kinesis.internal.avoidEmptyBatches"),
        reason="a stream without new records makes no batches",
    ),
    Unneeded(
        names=("kinesis.internal.*", "maxShardsPerDescribe", "coalesceThresholdBlockSize", "coalesceBinSize"),
        reason="there is nothing to tune in that place",
    ),
    Unneeded(
        names=("deregisterConsumerTimeoutInterval", "consumerRefreshInterval", "kinesis.subscribeToShard.*"),
        reason="there is nothing to tune in that place",
    ),
    Unneeded(
        names=(
            "kinesis.sink.*",
            "aggregationEnabled",
            "aggregationMaxSize",
            "recordMaxBufferedTimeMs",
            "maxConnections",
            "flushWaitTimeMs",
            "recordTtlMs",
            "kinesis.executor.aggregationEnabled",
            "kinesis.executor.recordMaxBufferedTime",
            "kinesis.executor.maxConnections",
            "kniesis.executor.flushwaittimemillis",
        ),
        reason="it is an option of the sink",
    ),
)
