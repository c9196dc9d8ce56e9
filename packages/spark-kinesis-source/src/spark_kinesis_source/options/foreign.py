"""Names of other connectors that need no more than a word."""

from __future__ import annotations

from kinesis_core.options import IgnoredOption

IGNORED_BY_SOURCE = (
    IgnoredOption(
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
    IgnoredOption(
        names=("avoidEmptyBatches", "kinesis.client.avoidEmptyBatches", "kinesis.internal.avoidEmptyBatches"),
        reason="a stream without new records makes no batches",
    ),
    IgnoredOption(
        names=("kinesis.internal.*", "maxShardsPerDescribe", "coalesceThresholdBlockSize", "coalesceBinSize"),
        reason="there is nothing to tune in that place",
    ),
    IgnoredOption(
        names=("deregisterConsumerTimeoutInterval", "consumerRefreshInterval", "kinesis.subscribeToShard.*"),
        reason="there is nothing to tune in that place",
    ),
    IgnoredOption(
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
