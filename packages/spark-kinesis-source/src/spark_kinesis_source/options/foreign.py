"""Names of other connectors' options, and of the sink's, that have no effect on a source."""

from __future__ import annotations

from kinesis_core.options import IgnoredOption
from spark_kinesis_source.options.sink_names import SINK_NAMES

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
        reason="a stream without new records runs no batches",
    ),
    IgnoredOption(
        names=("kinesis.internal.*", "maxShardsPerDescribe", "coalesceThresholdBlockSize", "coalesceBinSize"),
        reason="this connector has no such setting",
    ),
    IgnoredOption(
        names=("deregisterConsumerTimeoutInterval", "consumerRefreshInterval", "kinesis.subscribeToShard.*"),
        reason="this connector has no such setting",
    ),
    IgnoredOption(names=("kinesis.sink.*", *SINK_NAMES), reason="it is an option of the sink"),
)
