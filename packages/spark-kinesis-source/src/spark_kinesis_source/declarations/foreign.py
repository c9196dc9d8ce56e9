"""Names of other connectors that need no more than a word."""

from __future__ import annotations

from kinesis_core.options import Unneeded, Unsupported

READING_UNSUPPORTED = (
    Unsupported(
        names=("consumerType", "consumerMode"),
        feature="enhanced fan-out",
        instead="Set 'GetRecords', or leave it out.",
        accepted=("GetRecords", "polling"),
        refused=("SubscribeToShard", "efo"),
    ),
)

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
        names=(
            "consumerName",
            "consumerNamePrefix",
            "consumerARN",
            "registeredConsumerId",
            "registeredConsumerIdType",
            "keepConsumer",
            "requireConsumerDeregistration",
            "deregisterConsumerTimeoutInterval",
            "consumerRefreshInterval",
            "registerConsumerTimeoutInterval",
            "subscribeTimeout",
            "subscribeRetries",
            "kinesis.subscribeToShard.*",
        ),
        reason="it belongs to enhanced fan-out, and the stream is polled",
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
