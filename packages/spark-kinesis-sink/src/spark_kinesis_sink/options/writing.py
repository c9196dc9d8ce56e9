"""Every option of the sink, each declared once, and the names of other connectors that need no more than a word."""

from __future__ import annotations

from kinesis_core.options import (
    IgnoredOption,
    Option,
    Scope,
    awslabs,
    boolean,
    clamped_duration,
    duration,
    integer,
    qubole,
)
from kinesis_core.producing import ProducerSettings

WRITING = "Writing"
_DAY_S = 86400
_LONGEST_BUFFERED_S = 300
_DEFAULTS = ProducerSettings()

AGGREGATION_ENABLED = Option[bool](
    name="aggregationEnabled",
    meaning=(
        "Whether rows are packed into aggregates, as the KPL does. Consumers must unpack them, as this source, the KCL "
        "and others do; `false` writes one record a row."
    ),
    parser=boolean(),
    default=_DEFAULTS.aggregation_enabled,
    default_text=f"`{str(_DEFAULTS.aggregation_enabled).lower()}`",
    group=WRITING,
    scope=Scope.SINK,
    aliases=(awslabs("kinesis.sink.aggregationEnabled"), qubole("kinesis.executor.aggregationEnabled")),
)
AGGREGATION_MAX_SIZE = Option[int](
    name="aggregationMaxSize",
    meaning="How large an aggregate gets at most; never larger than a record of the stream may be.",
    parser=integer(64, 10 * 1024 * 1024, "bytes"),
    default=_DEFAULTS.aggregation_max_size,
    default_text=f"{_DEFAULTS.aggregation_max_size}",
    group=WRITING,
    scope=Scope.SINK,
)
RECORD_MAX_BUFFERED_TIME = Option[float](
    name="recordMaxBufferedTimeMs",
    meaning="How long a row waits for others to share an aggregate and a request with: no longer than a quarter of `recordTtlMs`. "
    "The end of a task waits for none.",
    parser=duration(0, _LONGEST_BUFFERED_S, "ms"),
    default=_DEFAULTS.record_max_buffered_time_s,
    default_text=f"{_DEFAULTS.record_max_buffered_time_s * 1000:g} ms",
    group=WRITING,
    scope=Scope.SINK,
    aliases=(
        awslabs("kinesis.sink.recordMaxBufferedTimeMs", clamped_duration(0, _LONGEST_BUFFERED_S, "ms")),
        qubole("kinesis.executor.recordMaxBufferedTime"),
    ),
)
MAX_CONNECTIONS = Option[int](
    name="maxConnections",
    meaning="How many requests a task has in flight at most; more than 32 count as 32.",
    parser=integer(1, 256, "requests"),
    default=8,
    default_text="8",
    group=WRITING,
    scope=Scope.SINK,
    aliases=(awslabs("kinesis.sink.maxConnections"), qubole("kinesis.executor.maxConnections")),
)
RECORD_TTL = Option[float](
    name="recordTtlMs",
    meaning="How long a row may take to get into the stream, retries included; then its task fails.",
    parser=duration(0.1, _DAY_S, "ms"),
    default=_DEFAULTS.record_ttl_s,
    default_text=f"{_DEFAULTS.record_ttl_s * 1000:g} ms",
    group=WRITING,
    scope=Scope.SINK,
    aliases=(awslabs("kinesis.sink.recordTtl", clamped_duration(0.1, _DAY_S, "ms")),),
)

WRITING_OPTIONS = (
    AGGREGATION_ENABLED,
    AGGREGATION_MAX_SIZE,
    RECORD_MAX_BUFFERED_TIME,
    MAX_CONNECTIONS,
    RECORD_TTL,
)

IGNORED_BY_SINK = (
    IgnoredOption(
        names=(
            "flushWaitTimeMs",
            "kinesis.sink.flushWaitTimeMs",
            "kniesis.executor.flushwaittimemillis",
            "kinesis.executor.flushWaitTimeMillis",
        ),
        reason="a task waits until its rows are in the stream, and recordTtlMs bounds that",
    ),
    IgnoredOption(
        names=(
            "startingPosition",
            "initialPosition",
            "endingPosition",
            "failOnDataLoss",
            "maxRecordsPerShard",
            "maxFetchRecordsPerShard",
            "maxBytesPerShard",
            "maxFetchTimePerShardSec",
            "maxFetchDuration",
            "maxBytesPerBatch",
            "fetchBufferSize",
            "minRecordsPerTrigger",
            "maxTriggerDelay",
            "maxRecordsPerFetch",
            "kinesis.getRecords.*",
            "kinesis.executor.maxFetchRecordsPerShard",
            "kinesis.executor.maxFetchTimeInMs",
            "kinesis.executor.maxRecordPerRead",
            "kinesis.executor.addIdleTimeBetweenReads",
            "kinesis.executor.idleTimeBetweenReadsInMs",
            "minFetchPeriod",
            "addIdleTimeBetweenReads",
            "idleTimeBetweenReadsInMs",
            "maxFetchRate",
            "shardsPerTask",
            "maxPartitions",
            "shardDiscoveryInterval",
            "trimHorizonMargin",
            "describeShardInterval",
            "kinesis.client.describeShardInterval",
            "shardFetchInterval",
            "planningThreads",
            "checkNewRecordThreads",
            "kinesis.client.maxParallelThreads",
            "deaggregate",
            "consumerType",
            "consumerMode",
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
            "fanOutFallback",
            "fanOutTransport",
            "kinesis.subscribeToShard.*",
            "metadataCommitterType",
            "metadataPath",
            "metadataNumRetries",
            "metadataRetryIntervalsMs",
            "metadataMaxRetryIntervalMs",
            "minBatchesToRetain",
            "dynamodb.tableName",
            "dynamodbTableName",
            "dynamodbEndpointUrl",
            "kinesis.executor.metadata.*",
            "avoidEmptyBatches",
            "kinesis.client.avoidEmptyBatches",
            "kinesis.internal.*",
            "maxShardsPerDescribe",
            "coalesceThresholdBlockSize",
            "coalesceBinSize",
        ),
        reason="it is an option of the source",
    ),
)
