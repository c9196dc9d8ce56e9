"""Every option of the source, each declared once, and the names of other connectors that need no more than a word."""

from __future__ import annotations

import re

from kinesis_core.options import (
    BadValueError,
    EndingPosition,
    Latest,
    Option,
    Parser,
    Scope,
    StartingPosition,
    Unneeded,
    Unsupported,
)
from kinesis_core.options.catalog import WHERE
from kinesis_core.options.option import awslabs, databricks, qubole
from kinesis_core.options.parsers import (
    BYTES_PER_SHARD_AND_SECOND,
    boolean,
    byte_size,
    bytes_read_in,
    duration,
    integer,
    number,
    one_of,
    url,
)
from kinesis_core.options.positions import ending_position, starting_position

HOW_MUCH = "How much, how fast"
PUBLISHING = "Publishing progress"
_DAY_S = 86400
_MEBIBYTE = 1024 * 1024


def _table_name() -> Parser[str]:
    def parse(text: str) -> str:
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{3,255}", text):
            raise BadValueError()
        return text

    return Parser("the name of a DynamoDB table, 3 to 255 letters, digits, '_', '.' and '-'", parse)


STARTING_POSITION = Option[StartingPosition](
    name="startingPosition",
    meaning=(
        "Where a new query begins; one with a checkpoint goes on from there. A time has Z or an offset: "
        "`AT_TIMESTAMP 2026-01-31T09:00:00Z`. As JSON: a position for each shard, "
        '`{"shardId-000000000000": "TRIM_HORIZON", "shardId-000000000001": {"AFTER": "4966..."}}`, or '
        '`{"at_timestamp": "01/31/2026 09:00:00 PST", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}`.'
    ),
    parser=starting_position(),
    default=Latest(),
    default_text="`LATEST`; for a batch read `TRIM_HORIZON`",
    group=WHERE,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.startingPosition"),
        qubole("startingPosition"),
        databricks("initialPosition"),
    ),
)
ENDING_POSITION = Option[EndingPosition](
    name="endingPosition",
    meaning="Where a batch read ends, in the same forms. A streaming query does not use it.",
    parser=ending_position(),
    default=Latest(),
    default_text="`LATEST`: the newest record when the read is planned",
    group=WHERE,
    scope=Scope.SOURCE,
)
FAIL_ON_DATA_LOSS = Option[bool](
    name="failOnDataLoss",
    meaning="Whether a query stops when records left the stream unread; else it logs `data.lost` and goes on.",
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=WHERE,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.failOnDataLoss"), qubole("failOnDataLoss")),
)
MAX_RECORDS_PER_SHARD = Option[int](
    name="maxRecordsPerShard",
    meaning="How many records of a shard a micro-batch takes, about. An aggregate counts as one.",
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
MAX_RECORDS_PER_FETCH = Option[int](
    name="maxRecordsPerFetch",
    meaning="How many records one GetRecords call asks for.",
    parser=integer(1, 10_000, "records"),
    default=10_000,
    default_text="10000",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.getRecords.numberOfRecordsPerFetch"),
        qubole("kinesis.executor.maxRecordPerRead"),
        databricks("maxRecordsPerFetch"),
    ),
)
MIN_FETCH_PERIOD = Option[float](
    name="minFetchPeriod",
    meaning="The least time between two GetRecords calls on a shard, which allows 5 a second to all its consumers.",
    parser=duration(0, 60, "ms"),
    default=0.2,
    default_text="200 ms",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.getRecords.fetchIntervalMs"), databricks("minFetchPeriod")),
)
ADD_IDLE_TIME = Option[bool](
    name="addIdleTimeBetweenReads",
    meaning="Whether `idleTimeBetweenReadsInMs` counts; `minFetchPeriod` says the same in one.",
    parser=boolean(),
    default=False,
    default_text="`false`",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(qubole("kinesis.executor.addIdleTimeBetweenReads"),),
)
IDLE_TIME = Option[float](
    name="idleTimeBetweenReadsInMs",
    meaning="The `minFetchPeriod` when `addIdleTimeBetweenReads` is true.",
    parser=duration(0, 60, "ms"),
    default=1.0,
    default_text="1000 ms",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(qubole("kinesis.executor.idleTimeBetweenReadsInMs"),),
)
MAX_FETCH_RATE = Option[float](
    name="maxFetchRate",
    meaning="How many MiB a second are fetched from a shard, which delivers 2 to all its polling consumers together.",
    parser=number(0.01, 1000, "MiB/s", factor=_MEBIBYTE),
    default=float(BYTES_PER_SHARD_AND_SECOND),
    default_text="2.0",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(databricks("maxFetchRate"),),
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
DEAGGREGATE = Option[bool](
    name="deaggregate",
    meaning="Whether records that the KPL aggregated become the user records in them.",
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
FREEZE_WORKER_HEAP = Option[bool](
    name="freezeWorkerHeap",
    meaning=(
        "Whether a Python worker sets what it has loaded aside from garbage collection (`gc.freeze`), which spares "
        "each task about 45 ms. It holds for the whole worker process."
    ),
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
METADATA_COMMITTER_TYPE = Option[bool](
    name="metadataCommitterType",
    meaning=(
        "Spark's checkpoint holds all progress, in either case. `DYNAMODB` publishes it as well, after each micro-batch, "
        "to a table in the layout that the KCL keeps leases in: to look at, and for another consumer to go on from."
    ),
    parser=one_of({"HDFS": False, "DYNAMODB": True}),
    default=False,
    default_text="`HDFS`: nothing is published",
    group=PUBLISHING,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.metadataCommitterType"),),
)
DYNAMODB_TABLE_NAME = Option[str | None](
    name="dynamodbTableName",
    meaning="The table to publish to; it is made when it is not there. Give each query a table of its own.",
    parser=_table_name(),
    default=None,
    default_text="required with `DYNAMODB`",
    group=PUBLISHING,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.dynamodb.tableName"),),
)
DYNAMODB_ENDPOINT_URL = Option[str | None](
    name="dynamodbEndpointUrl",
    meaning="Where DynamoDB answers: a VPC endpoint, or a local server.",
    parser=url(),
    default=None,
    default_text="botocore's, for the region",
    group=PUBLISHING,
    scope=Scope.SOURCE,
)

READING_OPTIONS = (
    STARTING_POSITION,
    ENDING_POSITION,
    FAIL_ON_DATA_LOSS,
    MAX_RECORDS_PER_SHARD,
    MAX_BYTES_PER_SHARD,
    MAX_BYTES_PER_BATCH,
    MAX_RECORDS_PER_FETCH,
    MIN_FETCH_PERIOD,
    ADD_IDLE_TIME,
    IDLE_TIME,
    MAX_FETCH_RATE,
    SHARDS_PER_TASK,
    MAX_PARTITIONS,
    SHARD_DISCOVERY_INTERVAL,
    PLANNING_THREADS,
    DEAGGREGATE,
    FREEZE_WORKER_HEAP,
    METADATA_COMMITTER_TYPE,
    DYNAMODB_TABLE_NAME,
    DYNAMODB_ENDPOINT_URL,
)

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
