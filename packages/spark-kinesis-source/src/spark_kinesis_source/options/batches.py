"""How much a micro-batch holds, and how it is planned and dealt out."""

from __future__ import annotations

from kinesis_core.options import (
    Option,
    Scope,
    awslabs,
    byte_size,
    bytes_read_in,
    databricks,
    duration,
    integer,
    qubole,
)

HOW_MUCH = "How much, how fast"
_HOUR_S = 3600
_DAY_S = 86400

MAX_RECORDS_PER_SHARD = Option[int](
    name="maxRecordsPerShard",
    meaning=(
        "How many records of a shard a micro-batch takes, about. An aggregate counts as one. On Spark 4.0 and 4.1 the "
        "default does not count: a batch takes all there is, which may be the whole backlog, unless you set this "
        "option, `maxBytesPerShard` or `maxBytesPerBatch`. Then `Trigger.AvailableNow` ends after one batch of that size."
    ),
    parser=integer(1, None, "records"),
    default=100_000,
    default_text="100000",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.maxFetchRecordsPerShard"),
        qubole("kinesis.executor.maxFetchRecordsPerShard"),
    ),
)
MAX_BYTES_PER_SHARD = Option[int | None](
    name="maxBytesPerShard",
    meaning=(
        "How many bytes of a shard a micro-batch takes, about. The names that other connectors have for a time "
        "become what a shard delivers in that time, at 2 MiB/s."
    ),
    parser=byte_size(),
    default=None,
    default_text="no bound",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.maxFetchTimePerShardSec", bytes_read_in(0.001, _DAY_S, "s")),
        qubole("kinesis.executor.maxFetchTimeInMs", bytes_read_in(0.001, _DAY_S, "ms")),
        databricks("maxFetchDuration", bytes_read_in(0.001, _DAY_S, "ms")),
    ),
)
MAX_BYTES_PER_BATCH = Option[int | None](
    name="maxBytesPerBatch",
    meaning="How many bytes a micro-batch takes, about; each shard may fill an equal part.",
    parser=byte_size(),
    default=None,
    default_text="no bound",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(databricks("fetchBufferSize"),),
)
MIN_RECORDS_PER_TRIGGER = Option[int](
    name="minRecordsPerTrigger",
    meaning=(
        "About how many records, over all shards and streams, a micro-batch waits for. It waits no longer than "
        "`maxTriggerDelay`. An aggregate counts as one. The first batch of a run, `Trigger.AvailableNow` and `Trigger.Once` do not wait."
    ),
    parser=integer(1, None, "records"),
    default=1,
    default_text="1: a batch waits for nothing",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
MAX_TRIGGER_DELAY = Option[float](
    name="maxTriggerDelay",
    meaning=(
        "How long `minRecordsPerTrigger` keeps a record waiting at most. Spark asks once per trigger interval, so use it "
        "with the default trigger or a short one."
    ),
    parser=duration(0, _HOUR_S, "ms"),
    default=900.0,
    default_text="15 m",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    needs=MIN_RECORDS_PER_TRIGGER,
)
SHARDS_PER_TASK = Option[int | None](
    name="shardsPerTask",
    meaning="How many shards a Spark task reads. Not together with `maxPartitions`.",
    parser=integer(1, 10_000, "shards"),
    default=None,
    default_text="16",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(databricks("shardsPerTask"),),
)
MAX_PARTITIONS = Option[int | None](
    name="maxPartitions",
    meaning="How many Spark tasks a micro-batch has at most. Not together with `shardsPerTask`.",
    parser=integer(1, 100_000, "partitions"),
    default=None,
    default_text="as many as `shardsPerTask` makes",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(databricks("maxPartitions"),),
)
SHARD_DISCOVERY_INTERVAL = Option[float](
    name="shardDiscoveryInterval",
    meaning="How often shards are listed. A shard that ends is followed by its children at once.",
    parser=duration(0, _DAY_S, "ms"),
    default=10.0,
    default_text="10 s",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.describeShardInterval"),
        qubole("kinesis.client.describeShardInterval"),
        databricks("shardFetchInterval"),
    ),
)
PLANNING_THREADS = Option[int](
    name="planningThreads",
    meaning="How many shards the driver looks at together when it plans a micro-batch.",
    parser=integer(1, 256, "threads"),
    default=8,
    default_text="8",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.checkNewRecordThreads"), qubole("kinesis.client.maxParallelThreads")),
)

BATCH_OPTIONS = (
    MAX_RECORDS_PER_SHARD,
    MAX_BYTES_PER_SHARD,
    MAX_BYTES_PER_BATCH,
    MIN_RECORDS_PER_TRIGGER,
    MAX_TRIGGER_DELAY,
    SHARDS_PER_TASK,
    MAX_PARTITIONS,
    SHARD_DISCOVERY_INTERVAL,
    PLANNING_THREADS,
)
