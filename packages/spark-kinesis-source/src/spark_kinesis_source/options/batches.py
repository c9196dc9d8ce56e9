"""The options that bound a micro-batch, plan it, divide it into tasks, and fetch and unpack its records."""

from __future__ import annotations

from kinesis_core.model import SHARD_RATE_BYTES
from kinesis_core.options import (
    Alternatives,
    Group,
    Parser,
    boolean,
    byte_size,
    duration,
    integer,
    number,
    or_none,
)
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.reading import ReadSettings


def rate() -> Parser[float]:
    """Return a parser of rates in MiB/s, as bytes a second."""
    return number(0.01, 1000, "MiB/s", factor=1024 * 1024)


def show_rate(bytes_per_s: float) -> str:
    """Return a rate as the option `maxFetchRate` shows it, such as `2 MiB/s`."""
    return rate().show(bytes_per_s)


HOW_MUCH = Group("How much, how fast")
_DAY_S = 86400
_LIMITS = Limits()
_PLAN = PlanSettings()
_READ = ReadSettings()
_DIVIDED = (
    "Each plan divides the limit among the shards. An idle shard gives its part to the others. Shards that are behind get equal "
    "parts. If an idle shard suddenly receives many records, some of them may wait for the next micro-batch."
)

MAX_RECORDS_PER_SHARD = HOW_MUCH.option(
    name="maxRecordsPerShard",
    meaning=(
        "The approximate maximum number of records of each shard in a micro-batch. An aggregate counts as one record. A limit of "
        "more records than a plan reads (1,000, or 256 KiB) counts as the time in which a shard can receive them, at 1,000 "
        "records a second: a burst of records in a shorter time is not divided. On Spark 4.0 "
        "and 4.1 the default has no effect: a micro-batch contains all records in the stream. Set this option, "
        "`maxBytesPerShard`, `maxRecordsPerTrigger` or `maxBytesPerBatch` there to limit it. If you set one of them "
        "there, `Trigger.AvailableNow` ends after one micro-batch of that size."
    ),
    parser=integer(1, None, "records"),
    default=100_000,
)
MAX_BYTES_PER_SHARD = HOW_MUCH.option(
    name="maxBytesPerShard",
    meaning=(
        "The approximate maximum number of bytes of each shard in a micro-batch. The names of other connectors take a time. The "
        f"limit is then the data that a shard delivers in that time at {show_rate(SHARD_RATE_BYTES)}."
    ),
    parser=byte_size(),
    default=_LIMITS.max_bytes,
    default_text="no limit",
)
MAX_RECORDS_PER_TRIGGER = HOW_MUCH.option(
    name="maxRecordsPerTrigger",
    meaning=(
        "The approximate maximum number of records in a micro-batch, in all shards and streams together. An aggregate counts as one "
        f"record. {_DIVIDED} `maxRecordsPerShard` still limits each shard."
    ),
    parser=integer(1, None, "records"),
    default=_PLAN.batch_limits.max_records,
    default_text="no limit",
)
MAX_BYTES_PER_BATCH = HOW_MUCH.option(
    name="maxBytesPerBatch",
    meaning=(
        "The approximate maximum number of bytes in a micro-batch, in all shards and streams together. A micro-batch can exceed "
        f"it by one record of each shard. {_DIVIDED}"
    ),
    parser=byte_size(),
    default=_PLAN.batch_limits.max_bytes,
    default_text="no limit",
)
MIN_RECORDS_PER_TRIGGER = HOW_MUCH.option(
    name="minRecordsPerTrigger",
    meaning=(
        "The approximate number of new records that a micro-batch waits for, in all shards and streams together. It waits no "
        "longer than `maxTriggerDelay`. An aggregate counts as one record. With 1, micro-batches do not wait. The first "
        "micro-batch of a "
        "run, `Trigger.AvailableNow` and `Trigger.Once` never wait."
    ),
    parser=integer(1, None, "records"),
    default=1,
)
MAX_TRIGGER_DELAY = HOW_MUCH.option(
    name="maxTriggerDelay",
    meaning=(
        "The maximum time that a record waits for `minRecordsPerTrigger`. Spark requests new records once per trigger interval, "
        "so use the default trigger or a short interval."
    ),
    parser=duration(0, 3600, "ms"),
    default=900.0,
    needs=MIN_RECORDS_PER_TRIGGER,
)
MAX_SHARD_SKEW = HOW_MUCH.option(
    name="maxShardSkew",
    meaning=(
        "The maximum difference between the shards of a micro-batch, in the arrival times of their records. It applies while a "
        "limit ends one shard before its tip. The other shards, of all streams, wait for the slowest shard. So a "
        "watermark with a longer delay "
        "than this drops no rows of a shard that is behind. A shard whose calls are refused, or that returns no records, delays "
        "the others for at most a minute. At the tip no shard waits, unless this option is less than 5 s. With `none`, each "
        "shard goes as far as its limits allow."
    ),
    parser=or_none(duration(0, _DAY_S, "ms")),
    default=_PLAN.max_shard_skew_s,
)
SHARDS_PER_TASK = HOW_MUCH.option(
    name="shardsPerTask",
    meaning=(
        f"The maximum number of shards that one Spark task reads. A task reads {_READ.threads} of them at the same time. Do not "
        "combine "
        "it with `maxPartitions`."
    ),
    parser=integer(1, 10_000, "shards"),
    default=_READ.threads,
)
MAX_PARTITIONS = HOW_MUCH.option(
    name="maxPartitions",
    meaning=(
        "The maximum number of Spark tasks of a micro-batch. The shards are divided among them. Do not combine it with "
        "`shardsPerTask`."
    ),
    parser=integer(1, 100_000, "partitions"),
    default_text="as many as `shardsPerTask` requires",
)
SHARD_DISCOVERY_INTERVAL = HOW_MUCH.option(
    name="shardDiscoveryInterval",
    meaning=(
        "The time between two lists of a stream's shards. When a shard ends, the source lists the shards at once."
    ),
    parser=duration(0, _DAY_S, "ms"),
    default=_PLAN.shard_discovery_interval_s,
)
PLANNING_THREADS = HOW_MUCH.option(
    name="planningThreads",
    meaning="How many shards the driver plans at the same time for a micro-batch.",
    parser=integer(1, 256, "threads"),
    default=8,
)
PLAN_BUDGET = HOW_MUCH.option(
    name="planBudget",
    meaning=(
        "The maximum time that a micro-batch waits for its plan. Shards that the driver has not started to plan by then are "
        "left for the next micro-batch, and come first there. A plan that was made while Spark processed the previous "
        "micro-batch is not cut. "
        "Plans of micro-batches without a limit, or of micro-batches that wait for `minRecordsPerTrigger`, are not cut either. "
        "With `none`, every plan has all shards. A plan also has all shards if it would otherwise leave out a shard that is "
        "behind by more than `maxShardSkew`."
    ),
    parser=or_none(duration(0.1, 600, "ms")),
    default=_PLAN.plan_budget_s,
)

TASK_ALTERNATIVES: Alternatives = ((SHARDS_PER_TASK,), (MAX_PARTITIONS,))

_LONGEST_PERIOD_S = 60

MAX_RECORDS_PER_FETCH = HOW_MUCH.option(
    name="maxRecordsPerFetch",
    meaning="The maximum number of records that one GetRecords call returns.",
    parser=integer(1, 10_000, "records"),
    default=_READ.max_records_per_fetch,
)
MIN_FETCH_PERIOD = HOW_MUCH.option(
    name="minFetchPeriod",
    meaning=(
        "The minimum time between two GetRecords calls on a shard. Kinesis allows 5 calls a second on a shard, for all its "
        "consumers together."
    ),
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=_READ.min_fetch_period_s,
)
QUOTA_SHARE = HOW_MUCH.option(
    name="quotaShare",
    meaning=(
        "Which part of the calls that `minFetchPeriod` allows the query makes at the tip of a shard, where the driver looks for new "
        "records and reads them (`inlineRecords`). With the defaults these are 2.5 of the 5 calls a second, so a new record waits for "
        "0.2 s on average until the driver sees it. The rest stays for other consumers. With `1` it waits for 0.1 s, and other "
        "consumers that poll the stream are throttled. A shard that has more new records than the driver passes on is read as fast as "
        "`minFetchPeriod` allows."
    ),
    parser=number(0.1, 1, "of the calls"),
    default=_PLAN.quota_share,
)
INLINE_RECORDS = HOW_MUCH.option(
    name="inlineRecords",
    meaning=(
        "Whether the driver passes the records of a small micro-batch to its tasks: at the tip of a stream it has read them to plan "
        "the micro-batch. The tasks then make no calls. This takes up to 512 KiB per stream, divided by its shards; a shard "
        "with more is read by a task. With `false`, tasks read all records. A batch read does this always."
    ),
    parser=boolean(),
    default=_PLAN.inline_records,
)
ADD_IDLE_TIME = HOW_MUCH.option(
    name="addIdleTimeBetweenReads",
    meaning=(
        "Whether `idleTimeBetweenReadsInMs` replaces `minFetchPeriod`. It exists for configurations of qubole's connector; "
        "otherwise set `minFetchPeriod`."
    ),
    parser=boolean(),
    default=False,
)
IDLE_TIME = HOW_MUCH.option(
    name="idleTimeBetweenReadsInMs",
    meaning="The minimum time between two GetRecords calls on a shard if `addIdleTimeBetweenReads` is `true`.",
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=1.0,
)
MAX_FETCH_RATE = HOW_MUCH.option(
    name="maxFetchRate",
    meaning=(
        "The maximum rate at which a task reads from a shard, in MiB a second. A shard delivers "
        f"{show_rate(SHARD_RATE_BYTES)} to all its polling consumers together."
    ),
    parser=rate(),
    default=_READ.max_fetch_rate_bytes,
)
MAX_BUFFERED_BYTES = HOW_MUCH.option(
    name="maxBufferedBytes",
    meaning=(
        "The maximum number of bytes of records that a task has in memory: responses that it receives, pages that wait, and the page "
        "that Spark processes. A response counts twice until it is decoded. Calls wait until there is room for their responses. One "
        "response is always read, however large it is (at most 16 MiB). The memory of the whole worker is on the page "
        "[Size and tune](../howto/size-and-tune.md#memory)."
    ),
    parser=byte_size(),
    default=_READ.max_buffered_bytes,
)
DEAGGREGATE = HOW_MUCH.option(
    name="deaggregate",
    meaning=(
        "Whether an aggregate of the Kinesis Producer Library (KPL) becomes one row per user record. With `false` it becomes "
        "one row."
    ),
    parser=boolean(),
    default=True,
)

PERIOD_ALTERNATIVES: Alternatives = ((MIN_FETCH_PERIOD,), (ADD_IDLE_TIME, IDLE_TIME))
